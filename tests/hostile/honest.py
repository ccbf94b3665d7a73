"""Clients as they should be. Each asks, reads what comes, and compares it with what came when nobody else was there."""

import base64
import json
import random
import threading
import time

import wire
from program import ROOT

CLIENTS = 8
LONGEST_S = 120


def chat(text, **more):
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": text}], "max_tokens": 120, **more}


def picture(name, text):
    image = base64.b64encode((ROOT / "tests/default_model" / name).read_bytes()).decode()
    parts = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{image}"}},
             {"type": "text", "text": text}]
    return "/v1/chat/completions", {"messages": [{"role": "user", "content": parts}], "max_tokens": 60, "temperature": 0}


def ids(which, count, **more):
    draw = random.Random(which)
    return "/v1/completions", {"prompt": [draw.randrange(100, 8000) for _ in range(count)], **more}


def requests():
    schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 20}, "age": {"type": "integer"}},
              "required": ["name", "age"], "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {
        "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}
    return [
        chat("Tell a story about a cat who wanted to fly.", temperature=0),
        chat("Tell a story about a small boat.", seed=7, temperature=1),
        chat("Tell a story about a small boat.", seed=8, temperature=1.3, top_p=0.9, presence_penalty=0.5),
        chat("What is 12 plus 30?", seed=1, logprobs=True, top_logprobs=3),
        chat("Make a person.", temperature=0, response_format={
            "type": "json_schema", "json_schema": {"name": "person", "schema": schema, "strict": True}}),
        chat("What is the weather in Paris?", temperature=0, tools=[tool], tool_choice="required"),
        chat("Tell a story about a dog.", seed=3, n=2, max_tokens=60),
        chat("Tell a story about a bird.", temperature=0, stop=["happy", "\n\n"]),
        ("/v1/completions", {"prompt": "def fibonacci(n):", "max_tokens": 100, "temperature": 0}),
        ids(1, 600, max_tokens=80, temperature=0, ignore_eos=True),
        ids(2, 900, max_tokens=60, seed=5, temperature=1, ignore_eos=True),
        picture("picture0.png", "Describe the picture."),
    ]


def content_of(body):
    """What a stream says: everything of each choice but the pieces it came in, names of calls and times."""
    choices = {}
    ended = False
    for line in body.split(b"\n"):
        if not line.startswith(b"data: "):
            continue
        if line == b"data: [DONE]":
            ended = True
            continue
        event = json.loads(line[6:])
        if "error" in event:
            raise wire.Cut(f"the stream ends with {event['error']}")
        for choice in event["choices"]:
            known = choices.setdefault(choice["index"], {"text": "", "reasoning": "", "calls": {}, "finish": None})
            delta = choice.get("delta", choice)
            known["text"] += delta.get("content") or delta.get("text") or ""
            known["reasoning"] += delta.get("reasoning") or ""
            for call in delta.get("tool_calls") or []:
                whole = known["calls"].setdefault(str(call["index"]), {"name": "", "arguments": ""})
                for key in whole:
                    whole[key] += call["function"].get(key) or ""
            known["finish"] = choice.get("finish_reason") or known["finish"]
    if not ended:
        raise wire.Cut("the stream has no end")
    return [choices[index] for index in sorted(choices)]


def stream(port, request):
    """(status, content, seconds to the first piece of text, seconds between pieces)."""
    path, body = request
    begin = time.monotonic()
    times, raw = [], []
    with wire.connect(port, LONGEST_S) as sock:
        sock.sendall(wire.request_bytes(port, path, {**body, "stream": True}))
        for when, piece in wire.read_pieces(sock, begin + LONGEST_S):
            raw.append(piece)
            # The event that names the role comes before the request has its turn: no text yet.
            if piece.count(b"data: {") > piece.count(b'"role":"assistant"'):
                times.append(when)
    status, text = wire.parse_answer(b"".join(raw))
    if status != 200:
        return status, text.decode(errors="replace")[:300], 0.0, []
    return status, content_of(text), (times or [begin])[0] - begin, [b - a for a, b in zip(times, times[1:])]


def record(port):
    """The answer to each request, one after the other, nobody else being there."""
    answers = []
    for request in requests():
        status, content, _, _ = stream(port, request)
        if status != 200:
            raise wire.Cut(f"{request[1]}: {status} {content}")
        answers.append(content)
    return answers


class Clients:
    """Eight that ask at random until they are told to stop."""

    def __init__(self, port, expected, seed, stop):
        self.port, self.expected, self.stop = port, expected, stop
        self.lock = threading.Lock()
        self.found = {"asked": 0, "equal": 0, "refused": 0, "wrong": [], "gaps": [], "firsts": []}
        threads = [threading.Thread(target=self.run, args=(random.Random(f"{seed} {i}"),)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def run(self, draw):
        asked = requests()
        while not self.stop.is_set():
            which = draw.randrange(len(asked))
            try:
                status, content, first, gaps = stream(self.port, asked[which])
            except (wire.Cut, OSError, ValueError) as error:
                status, content, first, gaps = 0, str(error), 0.0, []
            with self.lock:
                self.note(which, status, content, first, gaps)
            if status != 200:
                self.stop.wait(0.2)

    def note(self, which, status, content, first, gaps):
        found = self.found
        found["asked"] += 1
        if status in (429, 503):
            found["refused"] += 1
        elif status == 200 and content == self.expected[which]:
            found["equal"] += 1
            found["firsts"].append(first)
            found["gaps"] += gaps
        elif len(found["wrong"]) < 20:
            what = content if status != 200 else f"expected {self.expected[which]}, found {content}"
            found["wrong"].append(f"request {which}: {status} {what}")
        else:
            found["wrong"].append("")


def run_clients(port, expected, seed, stop, answer):
    """In a process of its own, so that nobody's bytes wait for another one's Python."""
    answer.send(Clients(port, expected, seed, stop).found)
