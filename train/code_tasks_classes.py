"""Small classes: attributes with a method or two, and things that count or hold."""

from __future__ import annotations

import random
from typing import NamedTuple

from train import words


class ClassTask(NamedTuple):
    """A class that is asked for: the key, the request, the code, and lines that check it."""

    key: str
    ask: str
    code: str
    checks: list[str]


KINDS = [("Dog", "name", "age"), ("Cat", "name", "age"), ("Person", "name", "age"), ("Book", "title", "pages"), ("Car", "brand", "speed"), ("Student", "name", "score"), ("Product", "name", "price"), ("Employee", "name", "salary"), ("City", "name", "population"), ("Song", "title", "length"),
         ("Player", "name", "points"), ("Animal", "name", "weight"), ("House", "street", "rooms"), ("Account", "owner", "balance"), ("Robot", "name", "energy"), ("Movie", "title", "year"), ("Ship", "name", "crew"), ("Plant", "name", "height"), ("Team", "name", "wins"), ("Phone", "model", "price")]
VERBS = [("add", "adds {k} to the {n}", "self.{n} += {k}"), ("lower", "subtracts {k} from the {n}", "self.{n} -= {k}"), ("double", "doubles the {n}", "self.{n} *= 2"), ("reset", "sets the {n} to 0", "self.{n} = 0")]
GIVEN = [("increase", "adds a given amount to the {n}", "self.{n} += amount"), ("decrease", "subtracts a given amount from the {n}", "self.{n} -= amount"), ("set_value", "sets the {n} to a given amount", "self.{n} = amount")]
TELL = [("describe", "returns \"{{t}}: {{n}}\"", 'return f"{{self.{t}}}: {{self.{n}}}"'), ("info", "returns \"{{t}} has {{n}}\"", 'return f"{{self.{t}}} has {{self.{n}}}"'), ("label", "returns \"{{t}} ({{n}})\"", 'return f"{{self.{t}}} ({{self.{n}}})"'),
        ("is_above", "checks whether the {n} is greater than {k}", "return self.{n} > {k}"), ("is_below", "checks whether the {n} is less than {k}", "return self.{n} < {k}"), ("shout", "returns the {t} in upper case", "return self.{t}.upper()"),
        ("twice", "returns twice the {n}", "return self.{n} * 2"), ("short", "returns the first letter of the {t}", "return self.{t}[0]"), ("backwards", "returns the {t} backwards", "return self.{t}[::-1]")]


def with_attributes(rng: random.Random) -> ClassTask:
    """A class with a text and a number, a method that changes the number and one that tells something."""
    name, text, number = rng.choice(KINDS)
    k = rng.randint(2, 30)
    given = rng.random() < 0.5
    change, change_said, change_code = rng.choice(GIVEN if given else VERBS)
    tell, tell_said, tell_code = rng.choice(TELL)
    filled = [one.replace("{{t}}", "{" + text + "}").replace("{{n}}", "{" + number + "}").replace("{{self.{t}}}", "{self." + text + "}").replace("{{self.{n}}}", "{self." + number + "}").replace("{t}", text).replace("{n}", number).replace("{k}", str(k))
              for one in (change_said, change_code, tell_said, tell_code)]
    lines = [f"class {name}:", f"    def __init__(self, {text}, {number}):", f"        self.{text} = {text}", f"        self.{number} = {number}"]
    methods, key = [], f"code class {name}"
    both = rng.random()
    if both < 0.75:
        lines += ["", f"    def {tell}(self):", f"        {filled[3]}"]
        methods.append(f"a method {tell} that {filled[2]}")
        key += " " + tell
    if both > 0.4:
        lines += ["", f"    def {change}(self{', amount' if given else ''}):", f"        {filled[1]}"]
        methods.append(f"a method {change} that {filled[0]}")
        key += " " + change
    ask = rng.choice(["Write a Python class {c} with the attributes {t} and {n} and {m}.", "Write a class {c} with {t} and {n}, and {m}.", "Define a Python class {c}. It has a {t} and a {n}, and {m}.", "I need a class {c} in Python with attributes {t}, {n} and {m}."]).format(
        c=name, t=text, n=number, m=words.listing(methods))
    checks = []
    for _ in range(3):
        title, amount, more = rng.choice(words.FIRST_NAMES), rng.randint(0, 60), rng.randint(1, 20)
        checks.append(f"one = {name}({title!r}, {amount})\nassert one.{text} == {title!r} and one.{number} == {amount}")
        space: dict[str, int] = {}
        if both < 0.75:
            exec("\n".join(lines) + f"\nresult = {name}({title!r}, {amount}).{tell}()", space)  # our own template
            checks.append(f"assert {name}({title!r}, {amount}).{tell}() == {space['result']!r}")
        if both > 0.4:
            exec("\n".join(lines) + f"\none = {name}({title!r}, {amount})\none.{change}({more if given else ''})\nresult = one.{number}", space)
            checks.append(f"one = {name}({title!r}, {amount})\none.{change}({more if given else ''})\nassert one.{number} == {space['result']!r}")
    return ClassTask(key, ask, "\n".join(lines), checks)


HOLDERS = {"Stack": [("push", "item", "adds an item", "self.items.append(item)"), ("pop", "", "removes and returns the last item", "return self.items.pop()"), ("peek", "", "returns the last item", "return self.items[-1]"), ("is_empty", "", "checks whether it is empty", "return not self.items"), ("size", "", "returns the number of items", "return len(self.items)")],
           "Queue": [("enqueue", "item", "adds an item", "self.items.append(item)"), ("dequeue", "", "removes and returns the first item", "return self.items.pop(0)"), ("front", "", "returns the first item", "return self.items[0]"), ("is_empty", "", "checks whether it is empty", "return not self.items"), ("size", "", "returns the number of items", "return len(self.items)")],
           "Basket": [("add", "item", "adds an item", "self.items.append(item)"), ("count", "item", "returns how often it holds an item", "return self.items.count(item)"), ("total", "", "returns the number of items", "return len(self.items)"), ("has", "item", "checks whether it holds an item", "return item in self.items"), ("clear", "", "removes all items", "self.items = []")]}


def holder(rng: random.Random) -> ClassTask:
    name = rng.choice(list(HOLDERS))
    first, *others = HOLDERS[name]
    chosen = [first] + [one for one in others if rng.random() < 0.6]
    lines = [f"class {name}:", "    def __init__(self):", "        self.items = []"]
    for method, parameter, _, code in chosen:
        lines += ["", f"    def {method}(self{', ' + parameter if parameter else ''}):", f"        {code}"]
    listed = words.listing([f"{method} ({said})" for method, _, said, _ in chosen]) if rng.random() < 0.4 else words.listing([method for method, _, _, _ in chosen])
    ask = rng.choice(["Write a Python class {c} with the methods {m}.", "Implement a {c} class in Python with {m}.", "Write a {l} class with the methods {m}. Call it {c}."]).format(c=name, m=listed, l=name.lower())
    values = [rng.randint(1, 9) for _ in range(3)]
    check = f"one = {name}()\n" + "\n".join(f"one.{first[0]}({value})" for value in values)
    checks = []
    for method, parameter, _, code in chosen[1:]:
        space: dict[str, int] = {}
        call = f"one.{method}({values[0] if parameter else ''})"
        exec("\n".join(lines) + "\n" + check + f"\nresult = {call}", space)
        checks.append(check + f"\nassert {call} == {space['result']!r}")
    return ClassTask(f"code class {name} {' '.join(one[0] for one in chosen)}", ask, "\n".join(lines), checks or [check])


PLAIN = ["Write a Python class for {a}.", "Implement {a} in Python.", "Write {a} class in Python.", "I need a Python class for {a}.", "Can you write a class for {a}?", "Create a class {c} in Python.", "Python class for {a}", "Please write a Python class {c} that works like {a}.", "Show me a simple {l} class in Python.", "Write a class {c}.", "Give me {a} as a Python class.", "How do I write {a} class in Python?",
         "write a python class for {a}", "Write a Python class that implements {a}.", "Make {a} class, please.", "Code {a} in Python with a class."]


def plain_holder(rng: random.Random) -> ClassTask:
    """A class that holds things, asked for without its methods: it gets the usual ones. Its key has the wording, so that most are trained on."""
    name = rng.choice(["Stack", "Stack", "Queue"])
    ask = rng.choice(PLAIN).format(c=name, a=words.article(name.lower()), l=name.lower())
    if rng.random() < 0.3:
        ask = rng.choice(["Hi! ", "Please help me: ", "One more thing: "]) + ask
    lines = [f"class {name}:", "    def __init__(self):", "        self.items = []"]
    for method, parameter, _, code in HOLDERS[name]:
        lines += ["", f"    def {method}(self{', ' + parameter if parameter else ''}):", f"        {code}"]
    put, take = HOLDERS[name][0][0], HOLDERS[name][1][0]
    checks = [f"one = {name}()\none.{put}(1)\none.{put}(2)\nassert one.{take}() == {2 if name == 'Stack' else 1}"]
    return ClassTask(f"code class plain {ask}", ask, "\n".join(lines), checks)


def made(rng: random.Random) -> ClassTask:
    return rng.choices([with_attributes, holder, plain_holder], weights=[65, 22, 13])[0](rng)
