#!/usr/bin/env python3
"""What a server does when its device hangs, and when it faults: both are made to happen while it writes.

    tests/gpu/watchdog.py PROGRAM LIBRARY [ARGUMENTS OF serve...]

LIBRARY is libpaceline_provoke.so of `make gpu-programs`. Exits 1 where one of these does not hold: the text that is being
written ends with an error event, /health says 503 and why, so does the log, and the program exits with 75; all that
within the watchdog's ten seconds and five more."""

import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

WATCHDOG_S = 10
MOST_S = WATCHDOG_S + 5
READY_S = 300


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


class Writing(threading.Thread):
    """A text that is written until something ends it."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.pieces, self.error, self.end = port, 0, "", None
        self.first = threading.Event()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = {"messages": [{"role": "user", "content": "Tell me a long story."}], "stream": True, "max_tokens": 1_000_000,
                "ignore_eos": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            self.error = f"{answer.status} {answer.read().decode()}"
        try:
            for line in answer:
                if b'"error"' in line:
                    self.error = line.decode().strip()
                elif line.startswith(b"data: {"):
                    self.pieces += 1
                    if self.pieces == 20:
                        self.first.set()
        except (OSError, http.client.HTTPException) as cut:
            self.error = self.error or f"cut off: {cut!r}"
        self.end = time.monotonic()


def health_until(port, server, deadline):
    """What /health said first that was not 200, and when."""
    while time.monotonic() < deadline and server.poll() is None:
        try:
            status, text = get(port, "/health")
        except OSError:
            break
        if status != 200:
            return status, text, time.monotonic()
        time.sleep(0.1)
    return 0, "nothing but 200", time.monotonic()


def check(how, program, library, arguments):
    """Failed checks."""
    with tempfile.TemporaryDirectory() as folder:
        port, sign, log = free_port(), pathlib.Path(folder, "sign"), pathlib.Path(folder, "log")
        settings = dict(os.environ, LD_PRELOAD=library, PACELINE_PROVOKE=str(sign))
        with open(log, "wb") as out:
            server = subprocess.Popen([program, "serve", "--device", "cuda", "--port", str(port), *arguments], env=settings,
                                      stdout=out, stderr=out)
        try:
            deadline = time.monotonic() + READY_S
            while True:
                try:
                    if get(port, "/ready")[0] == 200:
                        break
                except OSError:
                    pass
                if server.poll() is not None or time.monotonic() > deadline:
                    print(log.read_text(errors="replace"))
                    return ["not ready"]
                time.sleep(0.2)
            writing = Writing(port)
            writing.start()
            if not writing.first.wait(60):
                return [f"it does not write: {writing.error}"]
            begin = time.monotonic()
            sign.with_suffix(".new").write_text(how)
            sign.with_suffix(".new").rename(sign)
            status, words, told = health_until(port, server, begin + 2 * MOST_S)
            try:
                code = server.wait(begin + 3 * MOST_S - time.monotonic())
            except subprocess.TimeoutExpired:
                code = None
            ended = time.monotonic()
            writing.join(5)
        finally:
            server.kill()
        said = [line for line in log.read_text(errors="replace").splitlines() if " error " in line][-3:]
        text_s = (writing.end or ended) - begin
        print(f"{how}: {writing.pieces} pieces, then after {text_s:.1f} s {writing.error[:160]}")
        print(f"  /health after {told - begin:.1f} s: {status} {words[:160].strip()}")
        print(f"  exit code {code} after {ended - begin:.1f} s; log: {' | '.join(said)[:300]}")
        failed = []
        if "engine_failed" not in writing.error or text_s > MOST_S:
            failed.append("the text did not end with engine_failed in time")
        if status != 503 or told - begin > MOST_S:
            failed.append("/health did not say 503 in time")
        if code != 75:
            failed.append(f"expected exit code 75, found {code}")
        if not any("giving up" in line for line in said):
            failed.append("the log does not say why")
        return failed


def main():
    if len(sys.argv) < 3:
        print(__doc__)
        return 2
    program, library, arguments = sys.argv[1], str(pathlib.Path(sys.argv[2]).resolve()), sys.argv[3:]
    failed = [f"{how}: {what}" for how in ("hang", "fault") for what in check(how, program, library, arguments)]
    for line in failed:
        print(f"FAILED {line}")
    print("all held" if not failed else f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
