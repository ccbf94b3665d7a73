"""Those who do what attacks.py has: in a process of its own, several at once, until they are told to stop."""

import collections
import os
import random
import sys
import threading
import time

import attacks
import media

STRANGERS = 8


class Counts:
    def __init__(self):
        self.lock = threading.Lock()
        self.by_attack = {}
        self.last = collections.deque(maxlen=12)

    def add(self, what, status):
        with self.lock:
            known = self.by_attack.setdefault(what, {})
            known[str(status)] = known.get(str(status), 0) + 1

    def begun(self, what):
        with self.lock:
            self.last.append(what)


def open_with(function, port, media_port, seed):
    """One attack, alone, by somebody who waits for the answers; how they were."""
    counts = Counts()
    me = attacks.Stranger(port, media_port, random.Random(seed), [], counts)
    me.name, me.patience_s = function.__name__, 60
    function(me)
    return counts.by_attack


def run_stranger(me, chosen_among, counts, stop):
    draw = me.draw
    functions = [function for function, _ in chosen_among]
    weights = [weight for _, weight in chosen_among]
    while not stop.is_set():
        chosen = draw.choices(functions, weights)[0]
        me.name = chosen.__name__
        counts.begun(me.name)
        try:
            chosen(me)
        except OSError:
            counts.add(me.name, "cut")
            stop.wait(0.05)


def run_strangers(port, media_port, memory_only, seed, stop, answer):
    # Deep bodies are written by functions that call themselves.
    sys.setrecursionlimit(20000)
    threading.stack_size(64 << 20)
    os.nice(5)  # whoever attacks from elsewhere takes no time from the server's processor
    host = media.MediaHost(media_port)
    held, counts = collections.deque(), Counts()
    chosen_among = attacks.MEMORY if memory_only else attacks.ATTACKS
    threads = []
    for i in range(STRANGERS):
        me = attacks.Stranger(port, media_port, random.Random(f"{seed} {i}"), held, counts, stop.is_set)
        threads.append(threading.Thread(target=run_stranger, args=(me, chosen_among, counts, stop)))
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        for _ in range(len(held)):
            until, sock = held.popleft()
            if time.monotonic() > until or stop.is_set():
                sock.close()
            else:
                held.append((until, sock))
        time.sleep(0.1)
    while held:
        held.popleft()[1].close()
    host.listener.close()
    answer.send({"counts": counts.by_attack, "last": list(counts.last)})
