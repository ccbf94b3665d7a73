"""What tools answer, errors included, and how the model says it."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from typing import Any

from train import words
from train.composed_tools import ACTIONS, PLAIN_WORDS, TARGETS, Invented, Slot, choice, decimal, integer, web_address


@dataclass
class Result:
    """A tool's answer, the model's sentence about it, the values that must be in it, and further questions about the same answer."""

    content: Any
    text: str
    needs: list[str]
    is_error: bool = False
    more: list[tuple[str, str]] = field(default_factory=list)


# Fields of an answer: key, how it is called, its values.
FIELDS = [("status", "status", choice(["ready", "open", "closed", "pending", "active", "paused", "done", "on its way", "in progress"])), ("price", "price", decimal(1, 900)), ("total", "total", integer(1, 5000)), ("owner", "owner", words.full_name), ("created_at", "date of creation", words.iso_date),
          ("due_date", "due date", words.iso_date), ("city", "city", words.city), ("color", "color", choice(words.COLOURS)), ("weight_kg", "weight", decimal(1, 90)), ("count", "count", integer(0, 500)), ("rating", "rating", decimal(1, 5)), ("phone", "phone number", words.phone), ("email", "email", words.email),
          ("room", "room", lambda rng: str(rng.randint(1, 400))), ("code", "code", words.code), ("start", "start", words.clock), ("end", "end", words.clock), ("level", "level", integer(1, 100)), ("temperature", "temperature", integer(-10, 40)), ("size", "size", choice(["small", "medium", "large"])),
          ("company", "company", words.company), ("link", "link", web_address), ("version", "version", lambda rng: f"{rng.randint(1, 9)}.{rng.randint(0, 20)}"), ("language", "language", choice(["French", "German", "English", "Spanish", "Dutch"])), ("title", "title", lambda rng: f"{rng.choice(words.ADJECTIVES).capitalize()} {rng.choice(words.THINGS).capitalize()}"),
          ("seats", "number of seats", integer(1, 300)), ("distance_km", "distance", integer(1, 2000)), ("contact", "contact", words.first_name), ("material", "material", choice(["wood", "steel", "glass", "paper", "cotton"])), ("speed", "speed", integer(1, 200))]
CALLED = {key: called for key, called, _ in FIELDS}
ERRORS = ["not found", "permission denied", "the service is not available", "timeout", "the connection was lost", "invalid date", "rate limit reached", "internal server error", "unknown id", "no results", "the server did not answer", "payment declined", "the account is locked",
          "quota exceeded", "the file is too large", "invalid argument", "not enough money", "the device is offline", "already exists", "the printer has no paper", "no route found", "access denied", "wrong password", "the battery is empty", "out of stock", "the room is taken", "bad request", "login required",
          "the network is down", "city not found", "user not found", "order not found", "the date is in the past", "too many requests", "the disk is full", "unsupported format"]
SORRY = ["I am sorry, that did not work: {}.", "Sorry, there was an error: {}.", "That failed: {}."]


def written(content: Any, rng: random.Random) -> Any:
    """The answer as clients send it: mostly JSON as a text, in one of its forms."""
    if isinstance(content, str):
        return content
    kind = rng.random()
    if kind < 0.5:
        return json.dumps(content)
    if kind < 0.7:
        return json.dumps(content, separators=(",", ":"))
    return json.dumps(content, indent=2) if kind < 0.78 else content


def error(rng: random.Random) -> Result:
    message = rng.choice(ERRORS)
    if rng.random() < 0.3:
        message = rng.choice([f"{rng.choice(TARGETS)} {words.code(rng)} not found", f"no {rng.choice(TARGETS)} named {words.first_name(rng)}", f"error {rng.randint(400, 599)}", f"{words.city(rng)} is unknown", f"the {rng.choice(words.THINGS)} is missing", f"the {rng.choice(TARGETS)} is {rng.choice(['broken', 'locked', 'missing', 'busy', 'closed'])}",
                               f"value {rng.randint(100, 9999)} is too large", f"retry in {rng.randint(2, 60)} seconds"])
    shown = message[0].upper() + message[1:] if rng.random() < 0.4 else message
    content = rng.choice([{"error": shown}, {"error": shown}, {"status": "error", "message": shown}, {"success": False, "error": shown}, f"Error: {shown}", {"error": {"code": rng.randint(400, 599), "message": shown}}, {"ok": False, "reason": shown}, f"error: {shown}"])
    text = (SORRY[0] if rng.random() < 0.8 else rng.choice(SORRY[1:])).format(message)
    return Result(written(content, rng), text, [message], True)


def said(fields: dict[str, Any], lead: str = "The") -> str:
    return words.listing([f"{lead if number == 0 else 'the'} {CALLED[key]} is {value}" for number, (key, value) in enumerate(fields.items())]) + "."


def some_fields(rng: random.Random, low: int, high: int) -> dict[str, Any]:
    return {key: make(rng) for key, _, make in sorted(rng.sample(FIELDS, rng.randint(low, high)), key=lambda one: one[0])}


def wrapped(fields: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The fields, plain or inside another object, with or without what is of no interest."""
    kind = rng.random()
    if kind < 0.55:
        return fields
    if kind < 0.8:
        return {rng.choice(["result", "data", "response", "item", "details"]): fields, **({"ok": True} if rng.random() < 0.4 else {})}
    return {"status_code": 200, "result": fields}


def of_deed(invented: Invented, rng: random.Random) -> Result:
    """An action that worked, with up to three fields to tell."""
    kind = rng.random()
    if kind < 0.3:
        content = rng.choice([{"status": "ok"}, {"success": True}, {"result": "ok"}, {"ok": True}, "ok", "done", "OK", "success", {"status": "success"}, "true"])
        return Result(written(content, rng), invented.done + ".", [invented.done.split()[-1]])
    fields = some_fields(rng, 1, 3)
    content = wrapped(fields, rng)
    if "result" not in content and rng.random() < 0.3:
        content = {"success": True, **content}
    return Result(written(content, rng), f"{invented.done}. {said(fields)}", [str(value) for value in fields.values()], more=[(f"What is the {CALLED[key]}?", f"The {CALLED[key]} is {value}.") for key, value in fields.items()])


LOOK = ["get", "find", "lookup", "fetch", "read", "query", "show", "retrieve", "load", "check"]


def lookup(rng: random.Random) -> Invented:
    """A function that tells fields of a thing, with requests for one, two or all of them."""
    thing = rng.choice(TARGETS)
    plain = PLAIN_WORDS.get(thing, thing)
    name = f"{rng.choice(LOOK)}_{thing}{rng.choice(['', '', '_info', '_details', '_data'])}"
    slot = rng.choice([Slot(["id", f"{thing}_id", "code"], "string", f"Number of the {plain}", words.code), Slot([f"{thing}_number", "number", "id"], "integer", f"Number of the {plain}", integer(1, 9999)), Slot(["name", f"{thing}_name"], "string", f"Name of the {plain}", words.first_name)])
    fields = rng.sample(FIELDS, rng.randint(2, 6))
    wanted = fields[:rng.choices([1, 2, len(fields)], weights=[6, 2, 2])[0]]
    asked = words.listing([called for _, called, _ in wanted])
    if len(wanted) == len(fields) and len(fields) > 2:
        requests = [f"Tell me about {plain} {{0}}.", f"Show me all about the {plain} {{0}}.", f"What do you know about {plain} {{0}}?", f"Give me the details of {plain} {{0}}.", f"{plain} {{0}}: details please"]
    else:
        be = "is" if len(wanted) == 1 else "are"
        requests = [f"What {be} the {asked} of {plain} {{0}}?", f"Tell me the {asked} of {plain} {{0}}.", f"Please look up the {asked} of the {plain} {{0}}.", f"I need the {asked} of {plain} {{0}}.", f"{asked} of {plain} {{0}}", f"Can you find the {asked} of {plain} {{0}}?", f"Check {plain} {{0}}: what {be} the {asked}?"]

    def answer(values: list[Any], rng: random.Random) -> tuple[Any, str, list[str], list[tuple[str, str]]]:
        found = {key: make(rng) for key, _, make in rng.sample(fields, len(fields))}
        if len(wanted) == len(fields):
            found = dict(sorted(found.items()))
        told = found if len(wanted) == len(fields) and len(fields) > 2 else {key: found[key] for key, _, _ in wanted}
        first, *rest = told.items()
        text = words.listing([f"The {CALLED[first[0]]} of {plain} {values[0]} is {first[1]}", *(f"the {CALLED[key]} is {value}" for key, value in rest)]) + "."
        if len(found) == 1 and rng.random() < 0.3:
            return str(first[1]), text, [str(first[1])], []
        more = [(rng.choice([f"And the {CALLED[key]}?", f"What is the {CALLED[key]}?", f"And what is its {CALLED[key]}?"]), f"The {CALLED[key]} of {plain} {values[0]} is {value}.") for key, value in found.items()]
        return wrapped(found, rng), text, [str(value) for value in told.values()], more

    about = rng.choice([f"Look up {words.article(plain)}", f"Details of {words.article(plain)}", f"Get information about {words.article(plain)}", f"Find {words.article(plain)} by its {slot.names[0]}"])
    return Invented([name], [about], [slot], requests, answer)


def leaves(content: Any) -> list[str]:
    if isinstance(content, dict):
        return [leaf for value in content.values() for leaf in leaves(value)]
    if isinstance(content, list):
        return [leaf for value in content for leaf in leaves(value)]
    return [] if isinstance(content, bool) or content is None else [str(content)]


def result(invented: Invented, required: list[Any], rng: random.Random) -> Result:
    """What the function answers to a call, one time in six an error."""
    if rng.random() < 0.17:
        return error(rng)
    if not invented.answer:
        return of_deed(invented, rng) if invented.done else found_text(rng)
    found = invented.answer([words.listing(value) if isinstance(value, list) else value for value in required], rng)
    if len(found) == 4:
        content, text, needs, more = found
        return Result(written(content, rng), text, needs, more=more)
    content, text = found
    if isinstance(content, str):
        return Result(content, text, [content])
    needs = [leaf for leaf in leaves(content) if leaf in text and leaf not in ("ok",)] or [str(value) for value in required if isinstance(value, (str, int)) and str(value) in text] or text.rstrip(".").split()[-1:]
    if len(content) == 1 and len(needs) == 1 and rng.random() < 0.15:
        return Result(leaves(content)[0], text, needs)
    return Result(written(content if rng.random() < 0.7 else wrapped(content, rng), rng), text, needs)


def found_text(rng: random.Random) -> Result:
    """A text that was found, to be told as it is."""
    text = rng.choice([f"The {rng.choice(words.ADJECTIVES)} {rng.choice(words.ANIMALS)} lives in {words.city(rng)}.", f"{words.full_name(rng)} won {rng.randint(2, 90)} games.", f"There are {rng.randint(2, 900)} {words.plural(rng.choice(words.THINGS))} in {words.city(rng)}.", f"It opens at {words.clock(rng)} on {rng.choice(words.DAYS)}.",
                       f"{words.company(rng)} sells {words.plural(rng.choice(words.THINGS))} in {rng.choice(words.COUNTRIES)}.", f"{words.invented_word(rng).capitalize()} {words.invented_word(rng)} {words.invented_word(rng)}."])
    content = rng.choice([text, {"text": text}, {"result": text}, {"results": [text]}, {"answer": text, "source": web_address(rng)}])
    return Result(written(content, rng), f"I found this: {text}", [text.rstrip(".")])


def chain(rng: random.Random) -> tuple[Invented, Invented, str, dict[str, Any], dict[str, Any], list[Any], str]:
    """A function that finds a thing's number by a name, one that needs the number, a request for both, the calls, the answers, the sentence."""
    thing, (verb, did) = rng.choice(TARGETS), rng.choice(ACTIONS)
    plain, name, number = PLAIN_WORDS.get(thing, thing), words.first_name(rng), words.code(rng) if rng.random() < 0.7 else rng.randint(1, 9999)
    key, own = rng.choice(["name", "owner", "customer"]), rng.choice(["id", f"{thing}_id", "number"])
    kind = "string" if isinstance(number, str) else "integer"
    find = Invented([f"{rng.choice(['find', 'get', 'lookup', 'search'])}_{thing}"], [f"Find the number of {words.article(plain)}"], [Slot([key], "string", "Name", words.first_name)], [])
    act = Invented([f"{verb}_{thing}"], [f"{verb.capitalize()} {words.article(plain)} by its number"], [Slot([own], kind, f"Number of the {plain}", words.code)], [])
    text = rng.choice([f"Find the {plain} of {name} and {verb} it.", f"Look for {name}'s {plain}, then {verb} it.", f"Please {verb} the {plain} of {name}. You have to find its number first.", f"Search the {plain} of {name}, and then {verb} it, please.", f"{verb.capitalize()} the {plain} that belongs to {name}."])
    if rng.random() < 0.12:
        failed = error(rng)
        return find, act, text, {key: name}, {own: number}, [written({own: number}, rng), failed.content], failed.text
    found = {own: number, **(some_fields(rng, 0, 2) if rng.random() < 0.4 else {})}
    return find, act, text, {key: name}, {own: number}, [written(found, rng), written({"status": "ok"}, rng)], f"I found {plain} {number} of {name}. It was {did}."


def tells(text: str, result: Result) -> bool:
    """Whether a sentence tells what the tool answered."""
    plain = text.lower()
    fails = bool(re.search(r"\b(sorry|error|fail\w*|not|couldn't|can't|unable)\b", plain))
    if not result.is_error and re.search(r"\b(sorry|error|failed)\b", plain):
        return False
    return (fails or not result.is_error) and all(need.lower() in plain for need in result.needs)
