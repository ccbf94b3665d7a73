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
