"""How Python functions are asked for: with a name or without, with the parameters or without, in the middle of a function, with wishes about its form."""

from __future__ import annotations

import random

from train.wording import casual

NAMED = ["Write a Python function {n} that {w}.", "Write a function {n}({p}) that {w}.", "In Python, write {n}({p}): it {w}.", "I need a Python function called {n} that {w}.", "Write a short Python function that {w}. Call it {n}.",
         "Define a Python function {n}({p}) which {w}.", "Write a Python function `{n}` that {w}.", "Implement {n}({p}) in Python. It {w}.", "Please write a Python function named {n} that {w}.", "Create a function {n} in Python that {w}.",
         "Can you write a Python function {n}({p}) that {w}?", "Write {n}({p}), a Python function that {w}.", "Code a function called {n} that {w}.", "Write a function named {n} with the parameters {p} that {w}.", "Give me a Python function {n} that {w}.",
         "Write a python function {n} to {i}.", "Implement a function `{n}({p})` which {w}.", "Write a Python function {n} to {i}.", "I want a function {n}({p}) to {i}.", "Make a Python function {n} that {w}."]
UNNAMED = ["Write a Python function that {w}.", "Write a function that {w}.", "Write a Python function to {i}.", "Python function that {w}", "How do I {i} in Python?", "Can you write a Python function that {w}?", "I need a function that {w}.", "Write Python code for a function that {w}.",
           "Please write a function to {i} in Python.", "Python: {i}", "Write a small Python function which {w}.", "Show me a Python function that {w}.", "Give me a function that {w}, in Python.", "Write a function in Python that {w}.", "How can I {i} in Python?", "Implement a function that {w}.",
           "Code a Python function that {w}.", "Define a function that {w}.", "Create a Python function that {w}.", "Make a function that {w}.", "Could you write a function to {i}?"]
TESTED = [" Add some tests.", " Add tests with assert.", " Also write some asserts.", " Include a few tests.", " Test it with assert.", " Add an assert or two."]
LOOPED = [" Use a loop.", " Use a for loop.", " Use a plain loop.", " Write it with a loop.", " Do it with a for loop."]
DOCUMENTED = [" Add a docstring.", " Include a docstring.", " With a docstring."]
COMPLETE = ["Complete this function:\n```python\n{c}\n```", "Complete the function.\n\n```python\n{c}\n```", "Finish this Python function:\n\n{c}", "{c}", "Fill in the body:\n```python\n{c}\n```", "Implement this:\n\n```python\n{c}\n```", "Complete:\n{c}"]
IRREGULAR = {"has": "have", "is": "be", "does": "do", "counts": "count", "passes": "pass", "squashes": "squash", "matches": "match", "reaches": "reach"}


def infinitive(what: str) -> str:
    """`sorts a list and returns its length` as `sort a list and return its length`."""
    def plain(verb: str) -> str:
        if verb in IRREGULAR:
            return IRREGULAR[verb]
        return verb[:-1] if verb.endswith("s") else verb

    first, _, rest = what.partition(" ")
    out = plain(first) + " " + rest
    for joint in (", then ", " and ", ", "):
        head, *tails = out.split(joint)
        for number, tail in enumerate(tails):
            verb, _, left = tail.partition(" ")
            if verb in VERBS:
                tails[number] = plain(verb) + " " + left
        out = joint.join([head] + tails)
    return out


VERBS = frozenset("""returns reverses makes converts capitalizes puts strips removes replaces takes keeps drops doubles repeats adds appends prepends swaps sorts joins pads surrounds splits counts checks multiplies subtracts squares
inserts rotates moves gives finds computes""".split())


def request(what: str, name: str | None, parameters: list[str], rng: random.Random, wish: str = "") -> str:
    asks = NAMED if name else UNNAMED
    text = rng.choice(asks).replace("{n}", name or "").replace("{p}", ", ".join(parameters)).replace("{w}", what).replace("{i}", infinitive(what))
    if wish:
        return (text if text[-1] in ".?" else text + ".") + wish
    return casual(text, rng)


def completion(head: str, rng: random.Random) -> str:
    return rng.choice(COMPLETE).replace("{c}", head)
