#!/usr/bin/env python3
"""Many clients at once against the running program with a third of the KV memory that they want.

    tests/load/run.py [--seconds 24] [--clients 24] [--seed N]

PACELINE_PROGRAM: the program; else build/release/paceline. Exits 1 where a bar is missed; README.md has the bars."""

import argparse
import multiprocessing
import pathlib
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))

import clients
import honest
import program
import wire

ROOMY_BYTES = 2 << 30
# However slow the machine is: times are no part of this.
honest.LONGEST_S = 1800
LONGEST_END_S = 2000
# Name, arguments, and the least that the largest request is taken on with.
FORMATS = [("bf16", [], 30 << 20), ("q8", ["--kv", "q8", "--kv-sliding", "q8"], 16 << 20)]
ZERO = ("vllm:num_requests_running", "vllm:num_requests_waiting", "paceline:kv_reserved_bytes", "paceline:queue_bytes")


class Load:
    """Clients in a process of their own for so long; the most KV memory that was held meanwhile."""

    def __init__(self, server, expected, count, seed, seconds):
        stop = multiprocessing.Event()
        ours, theirs = multiprocessing.Pipe(False)
        worker = multiprocessing.Process(target=clients.run_clients,
                                         args=(server.port, expected, count, seed, stop, theirs), daemon=True)
        worker.start()
        theirs.close()
        self.most_bytes, self.memory = 0.0, []
        end = time.monotonic() + seconds
        while time.monotonic() < end and server.is_running():
            time.sleep(0.2)
            self.most_bytes = max(self.most_bytes, server.figures(60)["paceline:kv_reserved_bytes"])
            self.memory.append(server.resident_bytes())
        stop.set()
        try:
            self.found = ours.recv() if ours.poll(LONGEST_END_S) else None
        except EOFError:
            self.found = None
        worker.join(5)
        if worker.is_alive():
            worker.kill()


def left_over(server):
    """What has not come back to zero once everybody has gone."""
    deadline = time.monotonic() + 60
    while True:
        figures = server.figures(60)
        left = {name: figures[name] for name in ZERO if figures[name] != 0}
        if not left or time.monotonic() > deadline:
            return left, figures
        time.sleep(0.5)


class Run:
    def __init__(self, name, arguments, least_bytes, options):
        self.name, self.least_bytes, self.options = name, least_bytes, options
        self.arguments = arguments + (["--threads", str(options.threads)] if options.threads else [])
        self.rows = []

    def check(self, what, bar, found, held):
        self.rows.append((what, bar, str(found), held))

    def with_server(self, kv_bytes, function):
        with tempfile.TemporaryDirectory() as folder:
            server = program.Program(folder, kv_bytes, program.free_port(), True, honest.LONGEST_S, self.arguments)
            try:
                if not server.wait_until_ready():
                    raise wire.Cut("not ready")
                return function(server)
            except (wire.Cut, OSError) as error:
                self.check("the server answers", "", f"no: {error}", False)
                return None
            finally:
                alive = server.is_running()
                code = server.end()
                self.check("the server", "runs, and ends with 0 when told to", f"{'ran' if alive else 'ended by itself'}, {code}",
                           alive and code == 0)
                if code != 0:
                    for line in server.last_words():
                        print(f"  stderr: {line}")

    def run(self, seconds):
        wanted = self.with_server(ROOMY_BYTES, lambda server: self.run_roomy(server, min(60, seconds / 4)))
        if wanted is None:
            return
        expected, most_bytes = wanted
        self.with_server(max(self.least_bytes, int(most_bytes / 3)), lambda server: self.run_short(server, expected, most_bytes, seconds))

    def run_roomy(self, server, seconds):
        expected = clients.record(server.port)
        load = Load(server, expected, self.options.clients, f"roomy {self.options.seed}", seconds)
        self.judge(load, "with all the memory")
        figures = server.figures(60)
        self.check("gave way with all the memory", "0", int(figures["vllm:num_preemptions_total"]),
                   figures["vllm:num_preemptions_total"] == 0)
        return expected, load.most_bytes

    def run_short(self, server, expected, wanted, seconds):
        load = Load(server, expected, self.options.clients, self.options.seed, seconds)
        self.judge(load, f"with {server.figures(60)['paceline:kv_bytes'] / 1e6:.1f} of {wanted / 1e6:.1f} MB")
        left, figures = left_over(server)
        self.check("running, waiting, reserved, held", "0 at the end", left or "0, 0, 0, 0", not left)
        gave_way = int(figures["vllm:num_preemptions_total"])
        self.check("gave way", "> 0", gave_way, gave_way > 0)
        self.check("tokens", "", f"{figures['vllm:prompt_tokens_total']:.0f} of prompts, "
                   f"{figures['vllm:prefix_cache_hits_total']:.0f} of them found, "
                   f"{figures['vllm:generation_tokens_total']:.0f} written", None)
        status = wire.get(server.port, "/health", 30)[0]
        self.check("/health", "200 at the end", status, status == 200)
        if load.memory:
            self.check("resident memory", "", f"{load.memory[len(load.memory) // 2] / 1e6:.0f} MB half way, "
                       f"{load.memory[-1] / 1e6:.0f} at the end, most {max(load.memory) / 1e6:.0f}", None)

    def judge(self, load, when):
        found = load.found
        if found is None:
            self.check(f"texts {when}", "the clients end", "they do not", False)
            return
        self.check(f"texts {when}", "all equal to their bytes alone",
                   f"{found['equal']} of {found['asked']}, {found['went_away']} went away",
                   found["equal"] > 0 and found["equal"] == found["asked"])
        for text in found["wrong"][:5]:
            print(f"  {text}")

    def print(self):
        print(f"\n{self.name}, {self.options.clients} clients")
        for what, bar, found, held in self.rows:
            print(f"  {what:<34} {bar:<36} {found:<60} {'' if held is None else 'ok' if held else 'MISS'}")
        sys.stdout.flush()

    def missed(self):
        return any(held is False for *_, held in self.rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=24, help="with a third of the memory, all formats together")
    parser.add_argument("--clients", type=int, default=24)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="for what is chosen at random")
    parser.add_argument("--only", choices=[name for name, *_ in FORMATS], help="one format of keys and values")
    parser.add_argument("--threads", type=int, help="of the server; else as it likes")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    runs = [Run(*which, options) for which in FORMATS if options.only in (None, which[0])]
    for run in runs:
        run.run(options.seconds / len(runs))
        run.print()
    missed = any(run.missed() for run in runs)
    print("\na bar is missed" if missed else "\nall bars are held")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
