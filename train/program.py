"""The built program as a server that others ask: started on a free port, asked over HTTP, ended. Python's standard library alone."""
from __future__ import annotations

import contextlib
import http.client
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
from typing import Any, Iterator
from urllib.parse import urlsplit

PATIENCE_S = 600


class Refused(Exception):
    """The server answered with an error, or not at all."""


class Server:
    """Where it listens; each question has a connection of its own."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "127.0.0.1", parts.port or 80
        key = os.environ.get("PACELINE_API_KEY")
        self.headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})

    def opened(self, path: str, body: dict[str, Any]) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        try:
            connection.request("POST", path, json.dumps(body), self.headers)
            response = connection.getresponse()
            if response.status != 200:
                raise Refused(f"{response.status}: {response.read().decode(errors='replace')[:400]}")
            return response
        except (OSError, http.client.HTTPException) as error:
            raise Refused(str(error)) from error

    def asked(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.opened(path, body) as response:
            return json.loads(response.read())

    def streamed(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The pieces of an answer, as they come."""
        with self.opened(path, body | {"stream": True, "stream_options": {"include_usage": True}}) as response:
            for line in response:
                if line.startswith(b"data: {"):
                    yield json.loads(line[len(b"data: "):])


def listening(process: subprocess.Popen, log: pathlib.Path) -> str:
    """The address that the server says on its log, once it serves."""
    until = time.monotonic() + PATIENCE_S
    while process.poll() is None and time.monotonic() < until:
        found = re.search(r"http://[\d.]+:\d+", log.read_text(errors="replace"))
        if found:
            return found[0]
        time.sleep(0.05)
    raise SystemExit(f"the program does not serve:\n{log.read_text(errors='replace')[-2000:]}")


@contextlib.contextmanager
def started(program: pathlib.Path, model: pathlib.Path, *more: str) -> Iterator[Server]:
    """A server of this model on loopback, which ends with the block."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "log"
        command = [str(program), "serve", "-m", str(model), "--port", "0", "--kv-bytes", "1GB", "--drain-grace", "0", "--drain-seconds", "1", *more]
        with open(log, "wb") as written:
            process = subprocess.Popen(command, stderr=written, stdin=subprocess.DEVNULL, env=os.environ | {"XDG_CACHE_HOME": folder})
        try:
            yield Server(listening(process, log))
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()
