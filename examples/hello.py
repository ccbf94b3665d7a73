#!/usr/bin/env python3
"""A question, and its answer as it is written: hello.c from Python, with nothing but ctypes.

    python3 hello.py "Tell a story about a fox."

PACELINE_LIBRARY names the library where the system does not find it by itself.
"""

import ctypes
import os
import sys
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_void_p, string_at

EVENT_TEXT = 2


# The structs of paceline.h, each as far as it is needed here: the library takes what lies behind for not set.
class Event(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("kind", c_int32), ("choice", c_int32),
                ("text", c_void_p), ("text_bytes", c_size_t)]


class Message(ctypes.Structure):
    _fields_ = [("role", c_char_p), ("content", c_char_p)]


class Chat(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("messages_json", c_char_p), ("messages", POINTER(Message)),
                ("message_count", c_size_t)]


OnEvent = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Event))


class Request(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("chat", POINTER(Chat)), ("prompt", c_char_p), ("prompt_bytes", c_size_t),
                ("prompt_ids", c_void_p), ("prompt_id_count", c_size_t), ("on_event", OnEvent), ("user", c_void_p),
                ("max_tokens", c_int32), ("context", c_int32), ("temperature", ctypes.c_float),
                ("top_p", ctypes.c_float)]


paceline = ctypes.CDLL(os.environ.get("PACELINE_LIBRARY", "libpaceline.so.1"))
paceline.paceline_close.argtypes = paceline.paceline_free.argtypes = [c_void_p]


@OnEvent
def hear(_user, event):
    """Called for everything that happens, on the library's own thread. 0: go on."""
    if event.contents.kind == EVENT_TEXT:
        sys.stdout.buffer.write(string_at(event.contents.text, event.contents.text_bytes))
        sys.stdout.buffer.flush()
    return 0


def check(result, problem):
    if result != 0:
        message = problem.value.decode()
        paceline.paceline_free(problem)
        sys.exit(f"hello.py: {message}")


def main():
    model, problem = c_void_p(), c_char_p()
    check(paceline.paceline_open(None, byref(model), byref(problem)), problem)

    question = sys.argv[1] if len(sys.argv) > 1 else "Tell a story about a small boat."
    said = Message(b"user", question.encode())
    chat, request = Chat(), Request()
    paceline.paceline_chat_init(byref(chat), c_size_t(ctypes.sizeof(chat)))
    paceline.paceline_request_init(byref(request), c_size_t(ctypes.sizeof(request)))
    chat.messages, chat.message_count = ctypes.pointer(said), 1
    request.chat = ctypes.pointer(chat)
    request.temperature = 0  # always the likeliest word: the same answer each time
    request.on_event = hear

    check(paceline.paceline_generate(model, byref(request), None, byref(problem)), problem)
    paceline.paceline_close(model)


if __name__ == "__main__":
    main()
