"""HTTP as bytes on a socket, so that nothing stands between a test and what it wants to send."""

import json
import socket
import struct
import time

KEY = "honest-key"
OTHER_KEY = "other-key"


class Cut(Exception):
    """The answer ended before it was whole."""


def connect(port, timeout_s):
    return socket.create_connection(("127.0.0.1", port), timeout=timeout_s)


def request_bytes(port, path, body, key=KEY, method="POST", headers=()):
    if isinstance(body, (dict, list)):
        body = json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", "Connection: close"]
    if key:
        lines.append(f"Authorization: Bearer {key}")
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def reset(sock):
    """Closes it as a machine that loses power looks to the other side: no goodbye, what is on its way is lost."""
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    except OSError:
        pass
    sock.close()


def read_pieces(sock, deadline, has_gone=lambda: False):
    """Yields (time, bytes) until the other side closes, or who reads has gone."""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or has_gone():
            raise Cut("no end in time")
        sock.settimeout(min(left, 0.5))
        try:
            piece = sock.recv(65536)
        except socket.timeout:
            continue
        except OSError as error:
            raise Cut(str(error)) from error
        if not piece:
            return
        yield time.monotonic(), piece


def without_chunks(body):
    whole = b""
    while True:
        size, border, rest = body.partition(b"\r\n")
        if not border:
            raise Cut("the answer ends in the middle")
        count = int(size, 16)
        if count == 0:
            return whole
        if len(rest) < count + 2:
            raise Cut("the answer ends in the middle")
        whole += rest[:count]
        body = rest[count + 2:]


def parse_answer(raw):
    """(status, body) of a whole answer."""
    head, border, body = raw.partition(b"\r\n\r\n")
    if not border:
        raise Cut("no answer" if not raw else "the header ends in the middle")
    lines = head.decode("latin-1").split("\r\n")
    status = int(lines[0].split(" ")[1])
    fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
    if fields.get("transfer-encoding") == "chunked":
        return status, without_chunks(body)
    if len(body) < int(fields.get("content-length", len(body))):
        raise Cut("the body ends in the middle")
    return status, body


def ask(port, path, body=b"", timeout_s=30.0, has_gone=lambda: False, **rest):
    """(status, body) of one request on a connection of its own."""
    deadline = time.monotonic() + timeout_s
    try:
        with connect(port, timeout_s) as sock:
            sock.sendall(request_bytes(port, path, body, **rest))
            return parse_answer(b"".join(piece for _, piece in read_pieces(sock, deadline, has_gone)))
    except OSError as error:
        raise Cut(str(error)) from error


def get(port, path, timeout_s=10.0):
    return ask(port, path, method="GET", timeout_s=timeout_s)
