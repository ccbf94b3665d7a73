"""How JSON is asked for: with keys named in many ways, by a form, or with the keys left open."""

from __future__ import annotations

import random
from typing import Any

from train import words
from train.wording import small_start

GET = ["Extract", "Get", "Pull out", "Find", "Give me", "Return", "Pick out", "Read off", "Please extract", "Can you extract", "I need", "Collect", "Take"]
FROM = ["", "", "", " from this text", " from the text", " from the following sentence", " from the text below", " from this sentence", " from this message", " from this note"]
AS = [" as JSON", " as JSON", " in JSON", " as a JSON object", " in JSON format", ", as JSON", " and return JSON", " and answer with JSON only"]
MAKE = ["Return", "Give me", "Make", "Create", "Write", "Produce", "Build", "Output", "Answer with", "Respond with", "Reply with", "Please return", "I want"]
OBJECT = [" JSON", " a JSON object", " valid JSON", " a JSON object", " only JSON", " a small JSON object"]
WITH = [" with the keys ", " with keys ", " with the fields ", " with fields ", " containing ", " with ", " using the keys ", " that has the keys ", " with exactly the keys ", " with the properties "]
TURN = ["Turn", "Convert", "Transform", "Put", "Translate", "Change", "Bring", "Parse"]
THIS = [" this", " the text", " the following", " this sentence", " the sentence below", " this text", " this message", " the following text", " this description"]
INTO = [" into JSON", " into a JSON object", " into JSON"]
OPEN = ["Make JSON of this", "Make JSON out of this", "JSON please", "Represent this as JSON", "Write this as JSON", "Convert to JSON", "Convert this to JSON", "Extract the information as JSON", "As JSON",
        "Extract the data as JSON", "Extract all details as JSON", "Give me a JSON object for this", "Give me this as JSON", "Summarise this as JSON", "Return this as a JSON object", "Express this in JSON", "to json",
        "Extract the facts as JSON", "What would this be as JSON?", "Create a JSON object from this text", "Parse this into JSON", "Structure this as JSON", "Encode this as JSON", "Show this as JSON",
        "Output this as JSON", "Put this in JSON format", "I need this as JSON", "Can you turn this into JSON?", "Please convert the following to JSON", "Read this and answer in JSON"]
PRETTY = [" Pretty-print it.", " Use indentation.", " Format it nicely over several lines.", " Indent it.", " Pretty-printed, please."]
HEADS = ["Text: ", "Sentence: ", "Input: ", "Message: ", "Note: ", "Here it is: ", "The text: "]


def marked(keys: list[str], rng: random.Random) -> list[str]:
    """The keys bare, or between quotes of one kind."""
    mark = rng.choices(["", '"', "'", "`"], weights=[80, 9, 6, 5])[0]
    return [f"{mark}{key}{mark}" for key in keys]


def named(keys: list[str], rng: random.Random) -> str:
    shown = marked(keys, rng)
    return words.listing(shown) if rng.random() < 0.6 else ", ".join(shown)


def with_keys(keys: str, rng: random.Random) -> str:
    """A request that names the keys."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(GET) + rng.choice([" ", " the "]) + keys + rng.choice(FROM) + rng.choice(AS)
    if kind < 0.68:
        return rng.choice(MAKE) + rng.choice(OBJECT) + rng.choice(WITH) + keys + rng.choice(FROM)
    if kind < 0.88:
        return rng.choice(TURN) + rng.choice(THIS) + rng.choice(INTO) + rng.choice([" with the keys {}", " with {}", " with the fields {}", ", keys: {}", " (keys: {})", " using the keys {}", " with keys {}"]).format(keys)
    return rng.choice(["Keys: {}. Answer in JSON", "JSON with {}", "Read the text and answer with JSON. Keys: {}", "Answer only with JSON: {}", "json: {}", "As JSON with {}", "Which {} are named? Answer as JSON",
                       "{} as JSON", "Fields: {}. Return JSON", "What are the {}? Reply in JSON", "Fill a JSON object with {}"]).format(keys)


def with_form(form: str, rng: random.Random) -> str:
    return rng.choice(["Extract the data as JSON of this form: {}", "Fill in this form from the text: {}", "Return JSON like {}", "Use this JSON format: {}", "Answer with JSON of the shape {}",
                       "Fill this template: {}", "The answer must look like {}", "Reply in this JSON format: {}"]).format(form)


def with_open_keys(rng: random.Random) -> str:
    if rng.random() < 0.3:
        return rng.choice(TURN[:-2]) + rng.choice(THIS) + rng.choice(INTO)
    return rng.choice(OPEN)


def laid_out(ask: str, text: str, rng: random.Random, pretty: bool = False) -> str:
    """The request and the text, one before the other."""
    if rng.random() < 0.25:
        ask = small_start(ask)
    extra = rng.choice(PRETTY) if pretty else ""
    ended = ask if ask[-1] in "?.}" else ask + "."
    kind = rng.random()
    if kind < 0.06 and not pretty and ask.endswith(tuple(AS[:5])):
        tail = next(one for one in AS[:5] if ask.endswith(one))
        head = ask.removesuffix(tail)
        if not any(place and head.endswith(place) for place in FROM):
            return rng.choice(['{h} from "{t}"{a}.', '{h} from this: "{t}"{a}.', 'From "{t}", {s}{a}.']).format(h=head, t=text, a=tail, s=small_start(head))
    if kind < 0.25:
        return f"{ended}{extra}\n\n{text}"
    if kind < 0.5:
        return f"{ask if ask[-1] != '.' else ask[:-1]}:{extra} {text}" if ask[-1] not in "?}" else f"{ask}{extra}\n{text}"
    if kind < 0.62:
        return f"{ended}{extra}\n{rng.choice(HEADS)}{text}"
    if kind < 0.8:
        return f"{text}\n\n{ended}{extra}"
    if kind < 0.86:
        return f"{text} {ended}{extra}"
    if kind < 0.94:
        return f"{ended}{extra} {text}"
    return f'{ended}{extra}\n"{text}"'


def type_word(value: Any, rng: random.Random) -> str:
    if isinstance(value, bool):
        return rng.choice(["true or false", "boolean", "true/false"])
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        return "list"
    if isinstance(value, dict):
        return form_of(value, rng)
    return "string"


def form_of(record: dict[str, Any], rng: random.Random) -> str:
    """A form to be filled in: words for the types, dots or empty values."""
    kind = rng.random()
    if kind < 0.5:
        return "{" + ", ".join(f'"{key}": {type_word(value, rng)}' for key, value in record.items()) + "}"
    if kind < 0.8:
        return "{" + ", ".join(f'"{key}": ...' for key in record) + "}"
    return "{" + ", ".join(f'"{key}": ' + ('""' if isinstance(value, str) else "null") for key, value in record.items()) + "}"
