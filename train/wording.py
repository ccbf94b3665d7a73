"""How people write the same question: politely, tersely, carelessly."""

from __future__ import annotations

import random

BEFORE = ["Please tell me: ", "Hi! ", "Hello. ", "I have a question. ", "Quick question: ", "Hey, ", "Ok, ", "So, ", "Hi there. ", "Please: ", "One more thing: ", "Now: ", "Well, ", "Tell me, "]
BEHIND = [" Please.", " Thanks!", " Thank you.", " Thanks in advance.", " Please answer briefly.", " Be brief.", " :)"]


def vary(text: str, rng: random.Random, keeps_case: bool = False) -> str:
    """The text, in about four of ten cases written differently; `keeps_case`: letters stay as they are, since they are to be copied."""
    kind = rng.random()
    if kind < 0.58:
        return text
    if kind < 0.68:
        return text.rstrip("?.!")
    if kind < 0.78:
        return text if keeps_case else text.lower()
    if kind < 0.84:
        return text.rstrip("?.!") if keeps_case else text.lower().rstrip("?.!")
    if kind < 0.86:
        return text.rstrip("?.!") + rng.choice(["??", "!", "...", " ?", "?!"])
    if kind < 0.94:
        start = rng.choice(BEFORE)
        return start + (text if start[-2] in ".:!" or text.startswith("I ") else text[0].lower() + text[1:])
    return text + (rng.choice(BEHIND) if text[-1] in ".?!" else "." + rng.choice(BEHIND))


GREETINGS = ["Hi! ", "Hello, ", "Hey, ", "Quick question: ", "I have a question: ", "Please help me: ", "ok, ", "Next: ", "And now: ", "One more: ", "Help me with this: ", "Now "]
ENDINGS = [" please", ", please", " Thanks!", " Thank you.", " thanks", " pls"]
SAFE_FIRST = frozenset("""What What's How Calculate Compute Add Subtract Multiply Divide Find Tell Can Could Please Work Solve Evaluate Give Take Which Is I Write In Define
Implement Create Make Return Extract Turn Convert Read Fill Answer Show From Build Code Define Need Put Get Parse Pull Represent Produce Output Summarise Encode""".split())


def small_start(text: str) -> str:
    """The first letter made small, where the first word is no name."""
    first = text.split(" ", 1)[0]
    return text[0].lower() + text[1:] if first in SAFE_FIRST and first != "I" else text


def casual(request: str, rng: random.Random) -> str:
    """A request whose letters and values matter, as some would type it: politely, its first letter small, without the last mark."""
    dice = rng.random()
    if dice < 0.55:
        return request
    if dice < 0.72:
        request = small_start(request)
        return request.rstrip("?.") if rng.random() < 0.6 else request
    if dice < 0.82:
        return request.rstrip(".?") if not request.endswith("= ?") else request
    if dice < 0.91:
        head = rng.choice(GREETINGS)
        return head + (small_start(request) if head[-2] in ",w" or rng.random() < 0.5 else request)
    ending = rng.choice(ENDINGS)
    mark = request[-1] if request[-1] in "?." else ""
    body = request[:-1] if mark else request
    return body + ending + (mark if ending.endswith("please") else "") if ending[1:7] != "Thanks" and ending[1:6] != "Thank" else body + (mark or ".") + ending
