#!/usr/bin/env python3
"""Streams on every wire at once, and a long row of requests after which memory is what it was.

    tests/load/all_wires.py [--streams 40] [--seconds 2] [--requests 120]

First so many streams at a time for so many seconds, on all wires, some of them not streamed, some left by their clients in
the middle. Then so many requests by few clients: resident memory behind the first fifth and at the end.
PACELINE_PROGRAM: the program; else build/release/paceline. Exits 1 where a bar is missed; README.md has the bars."""

import argparse
import asyncio
import json
import pathlib
import random
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))

import program
import wire
import wires
from run import left_over

KV_BYTES = 256 << 20
# However slow the machine is: times are no part of this.
LONGEST_S = 1800
SOAK_CLIENTS = 16
# Every so many is not streamed; is left by its client.
WHOLE, GOES_AWAY = 4, 7
MOST_GROWTH = 1.02
# With fewer requests than these, what is kept of earlier ones still grows.
FLAT_AFTER = 500


class Client:
    """Asks on any wire and compares with what the same question got alone."""

    def __init__(self, port, expected):
        self.port, self.expected = port, expected
        self.found = {name: [0, 0] for name in wires.WIRES}  # streams and whole answers that were equal
        self.begun, self.went_away, self.wrong = 0, 0, []

    def asked(self):
        return sum(map(sum, self.found.values())) + self.went_away + len(self.wrong)

    async def ask(self, draw):
        number, self.begun = self.begun, self.begun + 1
        name = wires.WIRES[number % len(wires.WIRES)]
        question, seed = draw.choice(wires.asked())
        is_stream = number // len(wires.WIRES) % WHOLE != 0
        leaves = number % GOES_AWAY == GOES_AWAY - 1
        expected = self.expected[name == "completions", question, seed]
        try:
            raw = await asyncio.wait_for(self.exchange(wires.request(name, question, seed, is_stream), leaves, draw), LONGEST_S)
            problem = self.judge_part(name, raw, is_stream, expected) if leaves else self.judge(name, raw, is_stream, expected)
        except (wire.Cut, OSError, ValueError, KeyError, asyncio.TimeoutError) as error:
            problem = f"{type(error).__name__} {error}"
        if problem:
            self.wrong.append(f"{name}, question {question}, seed {seed}, {'stream' if is_stream else 'whole'}: {problem}"[:400])
        elif leaves:
            self.went_away += 1
        else:
            self.found[name][0 if is_stream else 1] += 1

    async def exchange(self, request, leaves, draw):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(wire.request_bytes(self.port, *request))
            await writer.drain()
            if not leaves:
                return await reader.read()
            raw = b""
            try:
                async with asyncio.timeout(draw.random() * 3):
                    while piece := await reader.read(2048):
                        raw += piece
            except TimeoutError:
                pass
            wire.reset(writer.get_extra_info("socket").dup())
            return raw
        finally:
            writer.transport.abort()

    @staticmethod
    def judge(name, raw, is_stream, expected):
        status, body = wire.parse_answer(raw)
        if status != 200:
            return f"{status} {body[:200]}"
        text, ended = wires.streamed(name, body) if is_stream else (wires.whole(name, body), True)
        if not ended:
            return "the stream has no end"
        return "" if text == expected else f"expected {expected!r}, found {text!r}"

    @staticmethod
    def judge_part(name, raw, is_stream, expected):
        if not is_stream or not raw:
            return ""
        if not raw.startswith(b"HTTP/1.1 200 "):
            return raw[:200].decode(errors="replace")
        text = wires.streamed(name, raw.partition(b"\r\n\r\n")[2])[0]
        return "" if expected.startswith(text) else f"expected the beginning of {expected!r}, found {text!r}"


def record(port):
    """What each question gets, nobody else being there: by chat, and as a text that is continued."""
    expected = {}
    for question, seed in wires.asked():
        for name in ("chat", "completions"):
            status, body = wire.ask(port, *wires.request(name, question, seed, False), timeout_s=LONGEST_S)
            if status != 200:
                raise wire.Cut(f"{name}: {status} {body[:300]}")
            expected[name == "completions", question, seed] = wires.whole(name, body)
    return expected


async def run_streams(client, count, seconds, seed):
    end = time.monotonic() + seconds

    async def go_on(draw):
        while True:
            await client.ask(draw)
            if time.monotonic() > end:
                return

    await asyncio.gather(*(go_on(random.Random(f"{seed} {i}")) for i in range(count)))


async def run_requests(client, count, seed):
    left = iter(range(count))

    async def go_on(draw):
        for _ in left:
            await client.ask(draw)

    await asyncio.gather(*(go_on(random.Random(f"{seed} {i}")) for i in range(SOAK_CLIENTS)))


class Watcher:
    """Hears what happens, from its making until the server ends it."""

    def __init__(self, port):
        self.sock = wire.connect(port, LONGEST_S)
        self.sock.sendall(wire.request_bytes(port, "/v1/events", b"", method="GET"))
        self.raw, self.is_cut = b"", False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            for _, piece in wire.read_pieces(self.sock, time.monotonic() + 4 * LONGEST_S):
                self.raw += piece
        except wire.Cut:
            self.is_cut = True

    def heard(self):
        """Counts of events by name; requests by whether they began or ended, each once for every name."""
        self.thread.join(60)
        status, body = wire.parse_answer(self.raw)
        counts, begun, ended = {}, [], []
        for event in body.decode().split("\n\n"):
            name, _, text = event.partition("\ndata: ")
            if not name.startswith("event: "):
                continue
            counts[name[7:]] = counts.get(name[7:], 0) + 1
            told = json.loads(text)
            if name == "event: request":
                (ended if told["state"] == "ended" else begun).append(told["id"])
        is_whole = status == 200 and not self.is_cut and not self.thread.is_alive()
        return counts, is_whole and len(begun) == len(set(begun)) and set(ended) <= set(begun), len(begun), len(ended)


class Test:
    def __init__(self, server, options):
        self.server, self.options, self.rows, self.asked = server, options, [], 0
        self.expected = record(server.port)

    def check(self, what, bar, found, held):
        self.rows.append((what, bar, str(found), held))

    def judge(self, what, client):
        self.asked += client.asked()
        self.check(what, "as alone, on every wire", f"{client.asked() - len(client.wrong)} of {client.asked()}, "
                   f"{client.went_away} went away", not client.wrong)
        for text in client.wrong[:5]:
            print(f"  {text}")
        counts = ", ".join(f"{name} {streams} + {rest}" for name, (streams, rest) in client.found.items())
        self.check("  streams + whole", "some of each", counts, all(min(pair) > 0 for pair in client.found.values()))

    def come_to_rest(self, what):
        left, _ = left_over(self.server)
        self.check(f"left over {what}", "0", left or 0, not left)
        return self.server.resident_bytes()

    def check_routing(self):
        """What was decided about guesses names the request, on whichever wire it came."""
        lines = [json.loads(line) for line in wire.get(self.server.port, "/v1/routing", 30)[1].splitlines()]
        names = [line["id"] for line in lines if line["id"]]
        begins = [begin for begin in ("chatcmpl-", "cmpl-", "msg_", "resp_") if any(name.startswith(begin) for name in names)]
        self.check("/v1/routing", "names every request", f"{len(names)} of {len(lines)} lines, {', '.join(begins)}",
                   len(begins) == 4 and len(names) == len(lines))

    def run(self):
        options = self.options
        client = Client(self.server.port, self.expected)
        asyncio.run(run_streams(client, options.streams, options.seconds, f"streams {options.seed}"))
        self.judge(f"{options.streams} at once for {options.seconds:g} s", client)
        self.come_to_rest("behind the streams")

        client = Client(self.server.port, self.expected)
        first = options.requests // 5
        asyncio.run(run_requests(client, first, f"first {options.seed}"))
        before = self.come_to_rest(f"after {first} requests")
        asyncio.run(run_requests(client, options.requests - first, f"rest {options.seed}"))
        after = self.come_to_rest(f"after {options.requests}")
        self.judge(f"{options.requests} requests", client)
        is_flat = first >= FLAT_AFTER
        self.check("resident memory", f"<= {MOST_GROWTH} x" if is_flat else "",
                   f"{before / 1e6:.1f} MB after {first}, {after / 1e6:.1f} at the end",
                   after <= MOST_GROWTH * before if is_flat else None)
        self.check_routing()
        status = wire.get(self.server.port, "/health", 30)[0]
        self.check("/health", "200", status, status == 200)


def judge_events(watcher, asked):
    counts, is_sound, begun, ended = watcher.heard()
    text = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
    # Some clients have gone before their request began.
    enough = 0.9 * asked <= begun <= asked and ended == begun
    return ("/v1/events", "all that happens, to the end", f"{text}; {begun} began, {ended} ended of {asked}",
            is_sound and enough and {"model", "request", "routing", "sample"} <= counts.keys())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=40, help="at once")
    parser.add_argument("--seconds", type=float, default=2, help="for which they are asked for again and again")
    parser.add_argument("--requests", type=int, default=120, help="of the row behind them")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="for what is chosen at random")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    rows, watcher = [], None
    with tempfile.TemporaryDirectory() as folder:
        server = program.Program(folder, KV_BYTES, program.free_port(), True, LONGEST_S,
                                 ["--ollama", "true", "--response-store", "1000000"])
        try:
            if not server.wait_until_ready():
                raise wire.Cut("not ready")
            test = Test(server, options)
            rows = test.rows
            watcher = Watcher(server.port)
            test.run()
            time.sleep(3)  # whoever looks on hears of the last ones, too, on a slow machine as well
        except (wire.Cut, OSError) as error:
            rows.append(("the server answers", "", f"no: {error}", False))
        alive = server.is_running()
        code = server.end()
        rows.append(("the server", "runs, and ends with 0", f"{'ran' if alive else 'ended by itself'}, {code}", alive and code == 0))
        if watcher is not None:
            rows.append(judge_events(watcher, test.asked))
        if code != 0:
            print(*server.last_words(), sep="\n")
    for what, bar, found, held in rows:
        print(f"  {what:<34} {bar:<24} {found:<70} {'' if held is None else 'ok' if held else 'MISS'}")
    missed = any(held is False for *_, held in rows)
    print("a bar is missed" if missed else "all bars are held")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
