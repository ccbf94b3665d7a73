"""The server under test: started, watched, asked for its figures, ended."""

import fcntl
import os
import pathlib
import re
import signal
import socket
import subprocess
import time

import wire

F_SETPIPE_SZ = 1031
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


class Program:
    def __init__(self, folder, kv_bytes, media_port, reads_log, request_s=120, more=()):
        """reads_log: else its stderr is a small pipe that nobody reads once it serves. more: arguments."""
        self.port = free_port()
        program = os.environ.get("PACELINE_PROGRAM", str(ROOT / "build/release/paceline"))
        # Times short enough that each of them runs out within a test of two minutes.
        arguments = [program, "serve", "-m", str(ROOT / "models/default"), "--port", str(self.port), "--kv-bytes",
                     str(kv_bytes), "--media-hosts", f"127.0.0.1:{media_port}", "--media-seconds", "2",
                     "--header-seconds", "3", "--body-seconds", "5", "--idle-seconds", "5", "--write-stall-seconds",
                     "5", "--request-seconds", str(request_s), "--drain-grace", "1", *more]
        environment = dict(os.environ, XDG_CACHE_HOME=str(folder), PACELINE_API_KEYS=f"{wire.KEY},{wire.OTHER_KEY}")
        self.log = None
        if reads_log:
            self.log = open(pathlib.Path(folder) / "log", "w+b")
            self.process = subprocess.Popen(arguments, stderr=self.log, stdin=subprocess.DEVNULL, env=environment)
        else:
            self.process = subprocess.Popen(arguments, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, env=environment)
            fcntl.fcntl(self.process.stderr, F_SETPIPE_SZ, 4096)
            os.set_blocking(self.process.stderr.fileno(), False)

    def wait_until_ready(self, timeout_s=300):
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self.is_running():
            try:
                if wire.get(self.port, "/ready", 5)[0] == 200:
                    return True
            except wire.Cut:
                pass
            time.sleep(0.1)
        return False

    def is_running(self):
        return self.process.poll() is None

    def end(self, timeout_s=60):
        """Its exit code after SIGTERM; None: it did not end, and was killed."""
        if self.is_running():
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def last_words(self):
        """What it wrote to stderr last."""
        if self.log:
            self.log.flush()
            self.log.seek(0)
            text = self.log.read()
        else:
            text = self.process.stderr.read() or b""
        return [line for line in text.decode(errors="replace").splitlines() if " info " not in line][-4:]

    def resident_bytes(self):
        try:
            with open(f"/proc/{self.process.pid}/statm") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError):
            return 0

    def figures(self, timeout_s=10):
        """/metrics as {name with labels: value}, the model's label left out."""
        status, body = wire.get(self.port, "/metrics", timeout_s)
        if status != 200:
            raise wire.Cut(f"/metrics answered {status}")
        found = {}
        for line in body.decode().splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                found[re.sub(r'model_name="[^"]*",?', "", name).replace("{}", "")] = float(value)
        return found


def step_p99(before, after):
    """The upper border of the bucket that holds the slowest hundredth of the steps between two readings."""
    buckets = {}
    for name, value in after.items():
        match = re.match(r'paceline:step_seconds_bucket\{.*kind="(prompt|verify|mixed)".*le="([^"]+)"', name)
        if match:
            buckets[float(match[2])] = buckets.get(float(match[2]), 0) + value - before.get(name, 0)
    most = max(buckets.values(), default=0)
    return next((border for border, count in sorted(buckets.items()) if most and count >= 0.99 * most), 0.0)
