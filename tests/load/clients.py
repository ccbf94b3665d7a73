"""Clients that ask at once, some of which go away in the middle. What each hears is compared with what is said to it
when nobody else is there."""

import json
import os
import random
import threading
import time

import honest
import wire
from mixture import mixture

# So often a client goes away before its text has ended; and so often all ask the same at once.
GOES_AWAY, ASKS_ALIKE = 0.15, 0.2
ALIKE_S = 4


def heard_so_far(raw):
    """Texts of the choices in a stream that was cut anywhere."""
    body = raw.partition(b"\r\n\r\n")[2]
    texts = {}
    # The borders of HTTP's chunks stand on lines of their own, between events.
    for line in body.split(b"\n"):
        if not line.startswith(b"data: {"):
            continue
        try:
            event = json.loads(line[6:])
        except ValueError:
            continue  # the last one, cut
        for choice in event.get("choices", []):
            delta = choice.get("delta", choice)
            texts[choice["index"]] = texts.get(choice["index"], "") + (delta.get("content") or delta.get("text") or "")
    return texts


def stream_some(port, request, seconds):
    """(status, texts so far) of a client that goes away without a word."""
    path, body = request
    raw, begin = b"", time.monotonic()
    sock = wire.connect(port, honest.LONGEST_S)
    try:
        sock.sendall(wire.request_bytes(port, path, {**body, "stream": True}))
        for _, piece in wire.read_pieces(sock, begin + seconds):
            raw += piece
    except wire.Cut:
        pass
    finally:
        wire.reset(sock)
    status = int(raw.split(b" ", 2)[1]) if raw.startswith(b"HTTP/1.1 ") else 200
    return status, heard_so_far(raw)


class Clients:
    def __init__(self, port, expected, count, seed, stop):
        self.port, self.expected, self.stop = port, expected, stop
        self.asked = mixture()
        self.lock = threading.Lock()
        self.found = {"asked": 0, "equal": 0, "went_away": 0, "tokens": 0, "wrong": [], "by_request": {}}
        self.begin = time.monotonic()
        self.seed = seed
        threads = [threading.Thread(target=self.run, args=(random.Random(f"{seed} {i}"),)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def choose(self, draw):
        if draw.random() < ASKS_ALIKE:
            now = int((time.monotonic() - self.begin) / ALIKE_S)
            return random.Random(f"{self.seed} alike {now}").randrange(len(self.asked))
        return draw.randrange(len(self.asked))

    def run(self, draw):
        while not self.stop.is_set():
            which = self.choose(draw)
            try:
                if draw.random() < GOES_AWAY:
                    self.go_away(which, draw.random() * 3)
                else:
                    self.note(which, *honest.stream(self.port, self.asked[which])[:2])
            except (wire.Cut, OSError, ValueError) as error:
                self.note(which, 0, str(error))

    def go_away(self, which, seconds):
        status, texts = stream_some(self.port, self.asked[which], seconds)
        whole = {i: choice["text"] for i, choice in enumerate(self.expected[which])}
        right = status == 200 and all(whole.get(i, "").startswith(text) for i, text in texts.items())
        with self.lock:
            self.found["went_away"] += 1
        if not right:
            self.note(which, status, texts)

    def note(self, which, status, content):
        with self.lock:
            found = self.found
            found["asked"] += 1
            if status == 200 and content == self.expected[which]:
                found["equal"] += 1
                return
            what = content if status != 200 else f"expected {self.expected[which]}, found {content}"
            found["wrong"].append(f"request {which}: {status} {what}"[:600] if len(found["wrong"]) < 20 else "")


def record(port):
    """The answer to each, one after the other."""
    answers = []
    for request in mixture():
        status, content, _, _ = honest.stream(port, request)
        if status != 200:
            raise wire.Cut(f"{str(request)[:200]}: {status} {content}")
        answers.append(content)
    return answers


def run_clients(port, expected, count, seed, stop, answer):
    os.nice(1)  # the server goes first
    answer.send(Clients(port, expected, count, seed, stop).found)
