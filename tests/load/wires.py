"""One question in the words of every wire: how it is asked, and what the text of the answer is, whole or in pieces."""

import base64
import json

import wire
from program import ROOT

QUESTIONS = ["Tell a story about a cat who wanted to fly.", "Tell a story about a small boat.", "What is 12 plus 30?",
             "Who are you?", "Write a list of five animals.", "What is in the picture?"]
PICTURE = "picture0.png"
SEEDS = 4
WIRES = ["chat", "completions", "responses", "messages", "ollama chat", "ollama generate"]


def asked():
    """Everything that can be asked: (question, seed)."""
    return [(question, seed) for question in range(len(QUESTIONS)) for seed in range(SEEDS)]


def tokens(question, seed):
    return 20 + 13 * ((question + seed) % 5)


def picture_of(question):
    if question != len(QUESTIONS) - 1:
        return None
    return base64.b64encode((ROOT / "tests/default_model" / PICTURE).read_bytes()).decode()


def chat(text, picture):
    if picture is None:
        return {"messages": [{"role": "user", "content": text}]}
    return {"messages": [{"role": "user", "content": [
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}, {"type": "text", "text": text}]}]}


def responses(text, picture):
    if picture is None:
        return {"input": text}
    return {"input": [{"role": "user", "content": [
        {"type": "input_image", "image_url": f"data:image/png;base64,{picture}"}, {"type": "input_text", "text": text}]}]}


def messages(text, picture):
    if picture is None:
        return {"messages": [{"role": "user", "content": text}]}
    return {"messages": [{"role": "user", "content": [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}},
        {"type": "text", "text": text}]}]}


def request(name, question, seed, is_stream):
    """(path, body)."""
    text, picture, most = QUESTIONS[question], picture_of(question), tokens(question, seed)
    chosen = {"temperature": 1, "seed": seed}
    if name == "chat":
        return "/v1/chat/completions", {**chat(text, picture), **chosen, "max_tokens": most, "stream": is_stream}
    if name == "completions":
        return "/v1/completions", {"prompt": text, **chosen, "max_tokens": most, "stream": is_stream}
    if name == "responses":
        return "/v1/responses", {**responses(text, picture), **chosen, "max_output_tokens": most, "stream": is_stream,
                                 "store": seed % 2 == 0}
    if name == "messages":
        return "/v1/messages", {"model": "default", **messages(text, picture), **chosen, "max_tokens": most, "stream": is_stream}
    body = {"model": "default", "options": {**chosen, "num_predict": most}, "stream": is_stream}
    shown = {} if picture is None else {"images": [picture]}
    if name == "ollama chat":
        return "/api/chat", {**body, "messages": [{"role": "user", "content": text, **shown}]}
    return "/api/generate", {**body, "prompt": text, **shown}


def events(body):
    """Those of a stream that may be cut anywhere."""
    for line in body.split(b"\n"):
        line = line.removeprefix(b"data: ")
        if not line.startswith(b"{"):
            continue
        try:
            yield json.loads(line)
        except ValueError:
            return  # the last one, cut


def piece_of(name, event):
    """(text, whether this is the end)."""
    if name in ("chat", "completions"):
        if "error" in event:
            raise wire.Cut(f"the stream ends with {event['error']}")
        choice = (event.get("choices") or [{}])[0]
        return choice.get("text") or choice.get("delta", {}).get("content") or "", bool(choice.get("finish_reason"))
    if name == "responses":
        text = event["delta"] if event["type"] == "response.output_text.delta" else ""
        return text, event["type"] in ("response.completed", "response.incomplete")
    if name == "messages":
        return event.get("delta", {}).get("text", ""), event["type"] == "message_stop"
    if "error" in event:
        raise wire.Cut(f"the stream ends with {event['error']}")
    return event.get("response") or event.get("message", {}).get("content") or "", event.get("done", False)


def streamed(name, body):
    """(text, whether it has an end)."""
    text, ended = "", False
    for event in events(body):
        piece, ends = piece_of(name, event)
        text, ended = text + piece, ended or ends
    return text, ended


def whole(name, body):
    answer = json.loads(body)
    if name == "chat":
        return answer["choices"][0]["message"]["content"]
    if name == "completions":
        return answer["choices"][0]["text"]
    if name == "responses":
        return "".join(part["text"] for item in answer["output"] if item["type"] == "message" for part in item["content"])
    if name == "messages":
        return "".join(block["text"] for block in answer["content"] if block["type"] == "text")
    return answer["response"] if "response" in answer else answer["message"]["content"]
