"""Pictures that cost more to see than to send, and a host that serves media badly."""

import base64
import socket
import struct
import threading
import time
import zlib

from program import ROOT

_rows = {}


def png_part(kind, content):
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(side, colour, claimed_side=None):
    """A square of one bit per pixel; the palette alone makes it another one."""
    if side not in _rows:
        row = b"\0" + b"\x5a" * ((side + 7) // 8)
        packer = zlib.compressobj(1)
        _rows[side] = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    head = struct.pack(">IIBBBBB", claimed_side or side, claimed_side or side, 1, 3, 0, 0, 0)
    palette = bytes(255 - part for part in colour) + bytes(colour)
    return (b"\x89PNG\r\n\x1a\n" + png_part(b"IHDR", head) + png_part(b"PLTE", palette) +
            png_part(b"IDAT", _rows[side]) + png_part(b"IEND", b""))


def data_uri(content, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def clip(draw):
    """One of the small clips, now and then with some bytes changed."""
    files = sorted((ROOT / "tests/fuzz/video").iterdir())
    content = bytearray(draw.choice(files).read_bytes())
    for _ in range(draw.choice([0, 0, 1, 20])):
        content[draw.randrange(len(content))] = draw.randrange(256)
    return data_uri(bytes(content), "video/mp4")


class MediaHost:
    """/loop redirects to itself, /away to another host, /file to a file; /slow and /endless are that."""

    def __init__(self, port):
        self.port = port
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.answer, args=(sock,), daemon=True).start()

    def answer(self, sock):
        places = {"/loop": f"http://127.0.0.1:{self.port}/loop", "/away": "http://127.0.0.2:1/x",
                  "/file": "file:///etc/passwd", "/port": "http://127.0.0.1:1/x", "/long": "http://127.0.0.1/" + "x" * 9000}
        try:
            with sock:
                sock.settimeout(5)
                path = sock.recv(4096).split(b" ")[1].decode()
                if path in places:
                    sock.sendall(f"HTTP/1.1 302 Found\r\nLocation: {places[path]}\r\nContent-Length: 0\r\n\r\n".encode())
                elif path == "/slow":
                    sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                    time.sleep(4)
                elif path == "/endless":
                    sock.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    for _ in range(500):
                        sock.sendall(b"x" * 65536)
                else:
                    sock.sendall(b"HTTP/9.9 hello\r\n\r\n")
        except (OSError, IndexError):
            pass
