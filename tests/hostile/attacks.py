"""What strangers do to a server that is none of its purpose. Each attack is a function of a Stranger; all are chosen at
random, at once, by several threads."""

import json
import threading
import time

import media
import wire

ATTACKS = []
MEMORY = []  # of them, those on the memory of keys and values
_bodies = {}


def attack(weight, kinds=(ATTACKS,)):
    def add(function):
        for kind in kinds:
            kind.append((function, weight))
        return function
    return add


def kept(name, make):
    """A body that is costly to write, made once."""
    if name not in _bodies:
        _bodies[name] = json.dumps(make()).encode()
    return _bodies[name]


def some_ids(draw, count):
    return [draw.randrange(100, 8000) for _ in range(count)]


def user(content, **more):
    return {"messages": [{"role": "user", "content": content}], **more}


# ---- memory of keys and values

def full_ring(me):
    """One whose prompt takes the whole of the memory, on a server that nobody else uses yet."""
    me.complete({"prompt": some_ids(me.draw, 4031), "max_tokens": 1})


def full_twice(me):
    """Two equal prompts at once, of which one ends and the other goes on, and then a third that gets what is left."""
    prompt = some_ids(me.draw, 1000)
    me.at_once("/v1/completions", [{"prompt": prompt, "max_tokens": 1}, {"prompt": prompt, "max_tokens": 400, "ignore_eos": True}],
               {"prompt": some_ids(me.draw, 1000), "max_tokens": 340, "ignore_eos": True})


@attack(6, (ATTACKS, MEMORY))
def ring_wraps(me):
    count = me.draw.choice([me.draw.randrange(500, 4031), 4031, 1023, 1024, 1025])
    me.complete({"prompt": some_ids(me.draw, count), "max_tokens": me.draw.choice([1, 1, 40])})


@attack(6, (ATTACKS, MEMORY))
def equal_prompts_at_once(me):
    prompt = some_ids(me.draw, me.draw.choice([1000, 700, 1500]))
    bodies = [{"prompt": prompt, "max_tokens": me.draw.choice([1, 400]), "ignore_eos": True}
              for _ in range(me.draw.randrange(2, 6))]
    later = {"prompt": some_ids(me.draw, 1000), "max_tokens": 40, "ignore_eos": True}
    me.at_once("/v1/completions", bodies, later)


@attack(3, (ATTACKS, MEMORY))
def many_choices(me):
    me.complete({"prompt": some_ids(me.draw, me.draw.randrange(1, 1200)), "max_tokens": 30, "ignore_eos": True,
                 "n": me.draw.randrange(2, 17), "seed": me.draw.randrange(1000), "temperature": 1.5})


@attack(3, (ATTACKS, MEMORY))
def known_prefixes(me):
    prompt = me.shared_prompt[:me.draw.randrange(16, 2000)]
    me.complete({"prompt": prompt + some_ids(me.draw, 30), "max_tokens": me.draw.randrange(1, 60),
                 "cache_salt": me.draw.choice(["a", "b", "c"])})


@attack(1)
def extremes(me):
    draw = me.draw
    me.complete({"prompt": "once upon", "max_tokens": draw.choice([1, 2**31 - 1, 2**63, -1, 0]), "temperature": draw.choice([0, 2, 1e-30]),
                 "top_p": draw.choice([1, 1e-30]), "top_k": draw.choice([1, -1, 2**31 - 1]),
                 "presence_penalty": draw.choice([-2, 2]), "frequency_penalty": draw.choice([-2, 2]),
                 "repetition_penalty": draw.choice([1e-30, 1e30, 0.01, 1]), "seed": draw.choice([0, 2**63 - 1, -1]),
                 "logit_bias": {str(draw.randrange(-2, 8200)): draw.choice([-100, 100]) for _ in range(300)},
                 "stop": ["".join(draw.choice("aeiou \n") for _ in range(9)) for _ in range(16)]})


# ---- memory of those who wait

@attack(2)
def stop_strings_that_wait(me):
    """A kilobyte each, and sixteen choices that look for them."""
    for _ in range(me.draw.randrange(1, 9)):
        strings = ["".join(me.draw.choice("abcdefghijklmnop") for _ in range(64)) for _ in range(16)]
        me.hold(me.open("/v1/completions", {"prompt": "hi", "max_tokens": 5, "n": 16, "stop": strings}), 5)


@attack(2)
def pictures_that_wait(me):
    """Some kilobytes each that become megabytes."""
    draw = me.draw
    for _ in range(draw.randrange(1, 5)):
        urls = [media.data_uri(media.png(480, tuple(draw.randrange(256) for _ in range(3)))) for _ in range(3)]
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        me.hold(me.open("/v1/chat/completions", user(parts + [{"type": "text", "text": "What?"}], max_tokens=1,
                                                     mm_processor_kwargs={"max_soft_tokens": 1120})), 5)


@attack(1)
def forms_that_wait(me):
    """Sixty bytes that become a megabyte, each another."""
    for _ in range(me.draw.randrange(1, 5)):
        schema = {"type": "string", "maxLength": me.draw.randrange(10000, 40000)}
        me.hold(me.open("/v1/chat/completions", user("Write.", max_tokens=5, response_format={
            "type": "json_schema", "json_schema": {"name": "s", "schema": schema}})), 5)


@attack(1)
def media_that_wait(me):
    parts = [{"type": "image_url", "image_url": {"url": f"http://127.0.0.1:{me.media_port}/endless"}}] * 16
    for _ in range(4):
        me.hold(me.open("/v1/chat/completions", user(parts, max_tokens=1)), 5)


# ---- workers

@attack(1)
def thousands_of_messages(me):
    me.chat(kept("messages", lambda: {"max_tokens": 4, "messages": [
        {"role": "user" if i % 2 == 0 else "assistant", "content": "hello"} for i in range(4001)]}))


@attack(1)
def tool_messages(me):
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    me.chat(kept("tools", lambda: {"max_tokens": 4, "messages": [
        {"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [call]}] +
        [{"role": "tool", "tool_call_id": "c", "content": "y"}] * 20000}))


@attack(1)
def large_bodies(me):
    me.chat(kept("large", lambda: user("some words of a text " * 180000, max_tokens=4)))


@attack(1)
def tokens_of_large_texts(me):
    me.post("/tokenize", kept("tokenize", lambda: {"prompt": "\u00e9a\ud55c" * 200000}))
    me.post("/detokenize", kept("detokenize", lambda: {"tokens": [5, 7000] * 100000}))


@attack(2)
def pictures(me):
    draw = me.draw
    urls = []
    for _ in range(draw.choice([1, 2, 16])):
        colour = tuple(draw.randrange(256) for _ in range(3))
        side = draw.choice([64, 700, 3000, 8190])
        content = media.png(side, colour, draw.choice([None, None, None, 60000, 7]))
        if draw.random() < 0.2:
            content = content[:draw.randrange(len(content))]
        urls.append(media.data_uri(content))
    me.show([{"type": "image_url", "image_url": {"url": url}} for url in urls])


@attack(1)
def clips(me):
    me.show([{"type": "video_url", "video_url": {"url": media.clip(me.draw)}} for _ in range(me.draw.randrange(1, 4))])


@attack(1)
def media_from_elsewhere(me):
    place = me.draw.choice(["loop", "away", "file", "port", "long", "slow", "endless", "nothing"])
    url = me.draw.choice([f"http://127.0.0.1:{me.media_port}/{place}", "http://127.0.0.3:1/x.png", "file:///etc/passwd",
                          f"http://user:word@127.0.0.1:{me.media_port}/loop", "data:image/png;base64,////", "data:,"])
    me.show([{"type": "image_url", "image_url": {"url": url}}])


# ---- forms

@attack(2)
def costly_schemas(me):
    first = me.draw.randrange(1, 1000)
    schema = {"anyOf": [{"type": "string", "maxLength": first + i} for i in range(640)]}
    me.form(schema, n=me.draw.choice([1, 16]))


@attack(1)
def large_schemas(me):
    """Refused, all of them, and soon."""
    def names(count):
        return {f"{i:05x}": {} for i in range(count)}
    def nested():
        schema = {"description": "x" * 400000}
        for _ in range(60):
            schema = {"type": "array", "items": schema}
        return schema
    def asking(schema):
        return user("Write.", max_tokens=5, response_format={"type": "json_schema", "json_schema": {"name": "s", "schema": schema}})
    name, make = me.draw.choice([
        ("properties", lambda: {"type": "object", "properties": names(50000), "required": [f"z{i:04x}" for i in range(4096)]}),
        ("long name", lambda: {"type": "object", "properties": {"n" * 200000: {}}, "additionalProperties": True}),
        ("longer name", lambda: {"type": "object", "properties": {"n" * 900000: names(500)}}),
        ("nested", nested),
        ("alternatives", lambda: {"anyOf": [{"const": i} for i in range(40000)]})])
    me.chat(kept(name, lambda: asking(make())))


@attack(2)
def strange_schemas(me):
    deep = {"type": "string"}
    levels = me.draw.choice([10, 60, 2000])
    for level in range(levels):
        # Where one stands twice, all below it is written twice.
        twice = level < 60 and me.draw.random() < 0.02
        deep = {"type": "array", "items": deep} if me.draw.random() < 0.5 else {
            "type": "object", "properties": {"a": deep, "b": deep} if twice else {"a": deep}}
    wide = {"type": "object", "properties": {f"p{i}": {"type": "integer"} for i in range(3000)}}
    me.form(me.draw.choice([
        deep, wide, {"$ref": "#"}, {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"enum": [f"value {i} {me.draw.random()}" for i in range(20000)]}, {"type": "string", "pattern": "(a+)+$"},
        {"type": "string", "format": "email"}, {"type": "array", "items": {"type": "array", "maxItems": 1000}, "maxItems": 10**9},
        {"type": "integer", "minimum": -10**30, "maximum": 10**30}, {"type": "string", "minLength": 10**9}, True, {}, 7]))


@attack(1)
def strange_tools(me):
    tool = {"type": "function", "function": {"name": me.draw.choice(["f", "", "x" * 5000, "a\u0000b"]), "parameters": {
        "type": "object", "properties": {"a": {"type": "string"}}}}}
    me.chat(user("call it", tools=[tool] * me.draw.choice([1, 500]), max_tokens=20,
                 tool_choice=me.draw.choice(["auto", "required", {"type": "function", "function": {"name": "g"}}])))


# ---- connections

@attack(4, (ATTACKS, MEMORY))
def vanish_in_the_middle(me):
    sock = me.open("/v1/completions", {"prompt": some_ids(me.draw, 300), "max_tokens": 2000, "stream": True,
                                       "n": me.draw.choice([1, 4]), "ignore_eos": True})
    sock.settimeout(5)
    for _ in range(me.draw.randrange(0, 6)):
        sock.recv(512)
    me.draw.choice([wire.reset, lambda s: s.close()])(sock)


@attack(4)
def cancelled_at_once(me):
    for _ in range(me.draw.randrange(1, 10)):
        wire.reset(me.open("/v1/chat/completions", user("Tell a story.", stream=me.draw.random() < 0.5)))


@attack(3)
def readers_that_read_nothing(me):
    me.hold(me.open("/v1/completions", {"prompt": "a", "max_tokens": 3000, "stream": True, "n": me.draw.choice([1, 8]),
                                        "logprobs": 5, "ignore_eos": True}), 12)


@attack(2)
def half_requests(me):
    whole = wire.request_bytes(me.port, "/v1/completions", {"prompt": "x" * 5000})
    sock = wire.connect(me.port, 5)
    sock.sendall(whole[:me.draw.randrange(len(whole))])
    me.hold(sock, 8)


@attack(1)
def idle_connections(me):
    for _ in range(100):
        me.hold(wire.connect(me.port, 5), me.draw.uniform(1, 8))


@attack(3)
def no_http(me):
    length = me.draw.choice([10, 40000, 200000])
    me.send(me.draw.choice([
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9, b"GET\r\n\r\n", b"GET / HTTP/0.9\r\n\r\n", b"\0" * length,
        b"POST /v1/completions HTTP/1.1\r\nContent-Length: -5\r\n\r\nhello",
        b"POST /v1/completions HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\nx",
        b"POST /v1/completions HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"GET /" + b"a" * length + b" HTTP/1.1\r\n\r\n",
        b"GET /v1/models/%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"TRACE /health HTTP/1.1\r\n\r\n",
        b"GET /health HTTP/1.1\r\n" + b"X: y\r\n" * (length // 6) + b"\r\n", b"GET /health HTTP/1.1\r\nX: " + b"y" * length,
        b"GET /health HTTP/1.1\r\nno colon\r\n\r\n", b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 300]))


@attack(2)
def wrong_addresses(me):
    draw = me.draw
    headers = draw.choice([[("Origin", "https://evil.example")], [("Origin", "null")], [("X-Forwarded-Host", "evil.example")]])
    me.post(draw.choice(["/v1/completions", "/v1/nothing", "/v1/models/" + "x" * 500]), {"prompt": "x", "max_tokens": 2},
            headers=headers, key=draw.choice(["", "wrong", "k" * 9000, wire.KEY]))
    me.send(b"POST /v1/completions HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 2\r\n\r\n{}")
    me.post("/v1/completions", {"model": draw.choice(["gpt-4", "", "\u0000", "x" * 100000]), "prompt": "x"})


@attack(3)
def no_json(me):
    nested = me.draw.choice([30, 5000, 1000000])
    me.post("/v1/chat/completions", me.draw.choice([
        b"[" * nested, b'{"a":' * nested, b"{", b"", b"null", b'{"messages": 1e999}', b'{"prompt": "\xff\xfe"}', b'{"prompt": "\\ud800"}',
        b'{"messages": [{"role": "user", "content": "\\ud800\\u0000"}], "max_tokens": 3}', b'{"messages": []}',
        b'{"messages": [{"role": "nobody", "content": [[[]]]}]}', b'{"max_tokens": 1, "max_tokens": 2, "messages": {}}']))
    me.complete({"prompt": me.draw.choice([[-1], [10**12], [[1], [2]] * 9, [1.5], "", [], [[]], None, 5]), "max_tokens": 3})


@attack(1)
def questions(me):
    for path in ("/metrics", "/health", "/v1/models", "/version", "/ready"):
        me.count(path, lambda: wire.get(me.port, path)[0])


class Stranger:
    """One thread's doings."""

    def __init__(self, port, media_port, draw, held, counts, has_gone=lambda: False):
        self.port, self.media_port, self.draw, self.held, self.counts = port, media_port, draw, held, counts
        self.name, self.patience_s, self.has_gone = "", None, has_gone
        self.shared_prompt = [100 + (i * i) % 7000 for i in range(2000)]

    def count(self, what, action):
        try:
            status = action()
        except (wire.Cut, OSError, ValueError):
            status = "cut"
        self.counts.add(what, status)

    def post(self, path, body, **rest):
        rest.setdefault("key", self.draw.choice([wire.KEY, wire.OTHER_KEY]))
        # Some wait for their answer, others lose patience; when all go, they go at once.
        timeout_s = self.patience_s or self.draw.choice([1, 5, 20])
        self.count(self.name, lambda: wire.ask(self.port, path, body, timeout_s, self.has_gone, **rest)[0])

    def complete(self, body):
        self.post("/v1/completions", body)

    def chat(self, body):
        self.post("/v1/chat/completions", body)

    def show(self, parts):
        self.chat(user(parts + [{"type": "text", "text": "What is it?"}], max_tokens=4))

    def form(self, schema, **more):
        self.chat(user("Write.", max_tokens=30, response_format={"type": "json_schema", "json_schema": {
            "name": "s", "schema": schema, "strict": True}}, **more))

    def at_once(self, path, bodies, later):
        threads = [threading.Thread(target=self.post, args=(path, body)) for body in bodies]
        for thread in threads:
            thread.start()
        time.sleep(0.2)
        self.post(path, later)
        for thread in threads:
            thread.join()

    def open(self, path, body):
        sock = wire.connect(self.port, 5)
        sock.sendall(wire.request_bytes(self.port, path, body))
        self.counts.add(self.name, "sent")
        return sock

    def send(self, raw):
        def action():
            with wire.connect(self.port, 3) as sock:
                sock.sendall(raw)
                return wire.parse_answer(sock.recv(65536) + b"")[0]
        self.count(self.name, action)

    def hold(self, sock, seconds):
        self.counts.add(self.name, "held")
        self.held.append((time.monotonic() + seconds, sock))
