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
inserts rotates moves gives finds computes compares""".split())


OTHER_VERBS = {"returns the ": ["gives the ", "finds the ", "gets the ", "produces the ", "gives back the ", "outputs the "], "returns a ": ["builds a ", "creates a ", "gives a ", "produces a ", "makes a "],
               "checks if ": ["checks whether ", "determines whether ", "tells whether ", "tests if ", "finds out if ", "decides whether ", "returns True if ", "returns whether "],
               "checks whether ": ["checks if ", "determines whether ", "determines if ", "tells if ", "decides whether ", "returns True if "], "counts the ": ["returns the number of ", "counts all the ", "finds the number of "],
               "converts ": ["turns ", "changes ", "transforms "], "removes ": ["deletes ", "strips out "], "sorts ": ["orders "], "computes ": ["works out ", "determines "]}


def reworded(what: str, rng: random.Random) -> str:
    """The same with another verb at its beginning, now and then."""
    verb = next((verb for verb in OTHER_VERBS if what.startswith(verb)), None)
    if verb is None or rng.random() < 0.7 or verb == "counts the " and (" by " in what or " in a dictionary" in what):
        return what
    other, rest = rng.choice(OTHER_VERBS[verb]), what.removeprefix(verb)
    return other + (rest.replace(" to ", " into ", 1) if verb == "converts " else rest)


def request(what: str, name: str | None, parameters: list[str], rng: random.Random, wish: str = "") -> str:
    asks = NAMED if name else UNNAMED
    what = reworded(what, rng)
    text = rng.choice(asks).replace("{n}", name or "").replace("{p}", ", ".join(parameters)).replace("{w}", what).replace("{i}", infinitive(what))
    if wish:
        return (text if text[-1] in ".?" else text + ".") + wish
    return casual(text, rng)


def completion(head: str, rng: random.Random) -> str:
    return rng.choice(COMPLETE).replace("{c}", head)
