#!/usr/bin/env python3
"""Strangers at their worst beside eight honest clients, against the running program.

    tests/hostile/run.py [--seconds 120] [--strict] [--seed N] [--calm]

PACELINE_PROGRAM: the program; else build/release/paceline. Exits 1 where a bar is missed. README.md says what is held to
be a miss, and when."""

import argparse
import json
import multiprocessing
import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True

import attacks
import honest
import program
import strangers
import wire

MEGABYTE = 1 << 20
# Name, bytes of KV, part of the time, how it begins (then only memory is attacked, and the log is read). Budgets that some
# prompts fill to the last block, and one that is roomy but full after a while.
SEGMENTS = [("ring exactly full", 7569408, 0.15, attacks.full_ring),
            ("equal prompts, full", 11059200, 0.15, attacks.full_twice),
            ("mixture, log not read", 128 * MEGABYTE, 0.7, None)]
LONGEST_END_S = 150


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def start(function, *arguments):
    """A process that works until its event is set; what it found comes through the pipe."""
    stop = multiprocessing.Event()
    ours, theirs = multiprocessing.Pipe(False)
    process = multiprocessing.Process(target=function, args=(*arguments, stop, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, stop, ours


def found_by(worker):
    process, stop, answer = worker
    stop.set()
    try:
        found = answer.recv() if answer.poll(LONGEST_END_S + honest.LONGEST_S) else None
    except EOFError:
        found = None
    process.join(5)
    if process.is_alive():
        process.kill()
    return found


def measured_step(port, attempts):
    """Seconds of a step whose rows are all used: a long prompt, read alone, in steps of 256 rows."""
    seconds = []
    for attempt in range(attempts):
        path, body = honest.ids(f"step {attempt}", 3840, max_tokens=1, cache_salt="step")
        begin = time.monotonic()
        if wire.ask(port, path, body, 600)[0] != 200:
            return 0.0
        seconds.append((time.monotonic() - begin) / (3840 / 256))
    return percentile(seconds, 0.5)


class Segment:
    def __init__(self, name, kv_bytes, seconds, opening, options):
        self.name, self.kv_bytes, self.seconds, self.opening, self.options = name, kv_bytes, seconds, opening, options
        self.rows = []  # (what, bar, found, held, fatal)
        self.memory = []
        self.attacks = None

    def check(self, what, bar, found, held, fatal=True):
        self.rows.append((what, bar, str(found), held, fatal or self.options.strict))

    def run(self):
        media_port = program.free_port()
        with tempfile.TemporaryDirectory() as folder:
            reads_log = self.opening is not None or self.options.read_log
            server = program.Program(folder, self.kv_bytes, media_port, reads_log)
            try:
                self.run_with(server, media_port)
            except (wire.Cut, OSError) as error:
                self.check("the server answers", "", f"no: {error}", False)
            finally:
                alive = server.is_running()
                code = server.end()
                words = [] if code == 0 else server.last_words()
                self.check("no abort", "runs to the end", "runs" if alive else f"ended by itself: {code}", alive)
                if alive:
                    self.check("SIGTERM ends it", "exit code 0", code, code == 0)
                for line in words:
                    print(f"  stderr: {line}")

    def run_with(self, server, media_port):
        if not server.wait_until_ready():
            raise wire.Cut("not ready")
        if self.opening:
            counts = strangers.open_with(self.opening, server.port, media_port, self.options.seed)
            answers = counts.get(self.opening.__name__, {})
            self.check(f"{self.opening.__name__}, alone", "200", answers, list(answers) == ["200"])
        expected = self.options.expected or honest.record(server.port)
        # The same clients with nobody beside them: what the gaps are measured against, where those count.
        calm = self.watch(server, [start(honest.run_clients, server.port, expected, f"calm {self.options.seed}")],
                          max(8.0, self.seconds / 8) if self.options.strict else 3.0, False)[0]
        step_s = measured_step(server.port, 3) if self.options.strict and not self.opening else 0.0
        before = server.figures()
        workers = [start(honest.run_clients, server.port, expected, self.options.seed)]
        if not self.options.calm:
            workers.append(start(strangers.run_strangers, server.port, media_port, self.opening is not None, self.options.seed))
        found, *others = self.watch(server, workers, self.seconds, True)
        self.attacks = others[0] if others else None
        self.judge_texts(calm, "alone")
        self.judge_texts(found, "beside strangers")
        if server.is_running():
            self.judge_end(server)
            # Where memory is short everybody waits for it, and a text is over when the next begins.
            if not self.opening:
                self.judge_gaps(calm, found, step_s, program.step_p99(before, server.figures()))
                self.judge_memory()
                self.judge_rest(server)

    def watch(self, server, workers, seconds, samples):
        end = time.monotonic() + seconds
        while time.monotonic() < end and server.is_running():
            time.sleep(0.5)
            if samples:
                self.memory.append(server.resident_bytes())
                if self.options.samples:
                    with open(self.options.samples, "a") as file:
                        print(f"{self.name}, {time.monotonic():.1f}, {self.memory[-1]}", file=file)
        for _, stop, _ in workers:
            stop.set()
        return [found_by(worker) for worker in workers]

    def judge_texts(self, found, when):
        if found is None:
            self.check(f"honest texts {when}", "the clients end", "they do not", False)
            return
        wrong = found["wrong"]
        self.check(f"honest texts {when}", "equal to their bytes alone",
                   f"{found['equal']} of {found['asked']} equal, {found['refused']} refused", found["equal"] > 0 and not wrong)
        for text in wrong[:5]:
            print(f"  {text[:400]}")

    def judge_end(self, server):
        deadline = time.monotonic() + LONGEST_END_S
        zero = {"vllm:num_requests_running": 0, "vllm:num_requests_waiting": 0, "paceline:kv_reserved_bytes": 0,
                "paceline:queue_bytes": 0}
        while True:
            figures = server.figures()
            left = {name: figures[name] for name in zero if figures[name] != 0}
            if not left or time.monotonic() > deadline:
                break
            time.sleep(0.5)
        self.check("running, waiting, reserved, held", "0 at the end", left or "0, 0, 0, 0", not left)
        status = wire.get(server.port, "/health")[0]
        self.check("/health", "200 at the end", status, status == 200)
        if self.attacks:
            failures = {name: counts["500"] for name, counts in self.attacks["counts"].items() if "500" in counts}
            self.check("answers 500", "none", failures or "none", not failures)

    def judge_gaps(self, calm, found, step_s, longest_step_s):
        if not calm or not found:
            return
        alone, beside = percentile(calm["gaps"], 0.99), percentile(found["gaps"], 0.99)
        strict, bar = self.options.strict, 1.1 * alone + step_s
        text = f"≤ {bar * 1000:.1f} ms (1.1 × {alone * 1000:.1f} + a step of {step_s * 1000:.1f})"
        self.check("honest gaps, p99", text if strict else f"({alone * 1000:.1f} ms alone)",
                   f"{beside * 1000:.1f} ms of {len(found['gaps'])}; longest {max(found['gaps'], default=0) * 1000:.0f}; "
                   f"steps ≤ {longest_step_s * 1000:.0f} (p99)", 0 < beside <= bar if strict else None, False)
        self.check("honest texts begin, median", "", f"{percentile(calm['firsts'], .5) * 1000:.0f} ms alone, "
                   f"{percentile(found['firsts'], .5) * 1000:.0f} beside; longest {max(found['firsts'], default=0):.1f} s", None)

    def judge_memory(self):
        quarter = len(self.memory) // 4
        if quarter == 0:
            return
        third, fourth = percentile(self.memory[2 * quarter:3 * quarter], .5), percentile(self.memory[3 * quarter:], .5)
        growth = fourth / third - 1
        self.check("memory over the last half", "flat within 2 %",
                   f"{third / 1e6:.1f} → {fourth / 1e6:.1f} MB ({growth * 100:+.1f} %), most {max(self.memory) / 1e6:.0f}",
                   growth <= 0.02, False)

    def judge_rest(self, server):
        """What strangers made it take is given back: keys and values stay, and a few hundred megabytes besides."""
        rest = server.resident_bytes()
        most = self.kv_bytes + 600e6
        self.check("memory once everybody has gone", f"≤ {most / 1e6:.0f} MB", f"{rest / 1e6:.1f} MB", 0 < rest <= most)

    def print(self):
        print(f"\n{self.name}: {self.kv_bytes} bytes of KV, {self.seconds:.0f} s")
        for what, bar, found, held, fatal in self.rows:
            verdict = "" if held is None else "ok" if held else "MISS" if fatal else "miss (not counted)"
            print(f"  {what:<34} {bar:<52} {found:<70} {verdict}")
        if self.attacks:
            for name, counts in sorted(self.attacks["counts"].items()):
                print(f"    {name:<32} {', '.join(f'{status}: {count}' for status, count in sorted(counts.items()))}")
            print(f"    last begun: {', '.join(self.attacks['last'])}")
        sys.stdout.flush()

    def missed(self):
        return any(held is False and fatal for _, _, _, held, fatal in self.rows)


def record(file):
    """The honest texts, of a server that has memory and nobody else; for runs on servers that have less."""
    with tempfile.TemporaryDirectory() as folder:
        server = program.Program(folder, 128 * MEGABYTE, program.free_port(), True)
        try:
            if not server.wait_until_ready():
                raise wire.Cut("not ready")
            file.write_text(json.dumps(honest.record(server.port)))
        finally:
            code = server.end()
    return 0 if code == 0 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=120, help="in all; starting and ending come on top")
    parser.add_argument("--strict", action="store_true", help="gaps and memory count, too")
    parser.add_argument("--calm", action="store_true", help="no strangers: what the clients see by themselves")
    parser.add_argument("--seed", type=int, default=time.time_ns(), help="for what is chosen at random")
    parser.add_argument("--only", type=int, help="one of the segments: 0, 1, 2")
    parser.add_argument("--read-log", action="store_true", help="the server's log is read throughout")
    parser.add_argument("--samples", help="a file that the resident bytes are written to, every half second")
    parser.add_argument("--record", type=pathlib.Path, help="only writes the honest texts to this file")
    parser.add_argument("--expected", type=pathlib.Path, help="a file that has them; else each server is asked first")
    options = parser.parse_args()
    if options.record:
        return record(options.record)
    options.expected = options.expected and json.loads(options.expected.read_text())
    print(f"seed {options.seed}")
    missed = False
    for index, (name, kv_bytes, part, opening) in enumerate(SEGMENTS):
        if options.only is not None and index != options.only:
            continue
        segment = Segment(name, kv_bytes, options.seconds * (part if options.only is None else 1), opening, options)
        segment.run()
        segment.print()
        missed = missed or segment.missed()
    print("\na bar is missed" if missed else "\nall bars are held")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
