"""Tasks of a few steps one after another: on a string, on a list, on numbers; conditions, formulas and texts with values in them."""

from __future__ import annotations

import random

from train import code_parts as parts
from train import words
from train.code_parts import Task

# The step's name, what is done to {o}, and the new value of s.
TEXT_STEPS = [
    ("reverse", ["reverses {o}"], "s[::-1]"), ("upper", ["makes {o} upper case", "converts {o} to upper case"], "s.upper()"), ("lower", ["makes {o} lower case", "converts {o} to lower case"], "s.lower()"),
    ("title", ["capitalizes each word of {o}", "puts {o} in title case"], "s.title()"), ("capitalize", ["capitalizes {o}"], "s.capitalize()"), ("strip", ["strips whitespace from both ends of {o}", "strips {o}"], "s.strip()"),
    ("no_spaces", ["removes all spaces from {o}", "removes the spaces from {o}"], 's.replace(" ", "")'), ("replace", ["replaces \"{l}\" with \"{r}\" in {o}", "replaces every \"{l}\" in {o} by \"{r}\""], 's.replace("{l}", "{r}")'),
    ("remove", ["removes every \"{l}\" from {o}", "removes the letter \"{l}\" from {o}"], 's.replace("{l}", "")'), ("head", ["takes the first {w} characters of {o}", "keeps the first {w} characters of {o}"], "s[:{w}]"),
    ("tail", ["takes the last {w} characters of {o}", "keeps the last {w} characters of {o}"], "s[-{w}:]"), ("drop_first", ["removes the first character of {o}", "drops the first character of {o}"], "s[1:]"),
    ("drop_last", ["removes the last character of {o}", "drops the last character of {o}"], "s[:-1]"), ("twice", ["doubles {o}", "repeats {o} twice"], "s * 2"), ("repeat", ["repeats {o} {d} times"], "s * {d}"),
    ("append", ["adds \"{s}\" at the end of {o}", "appends \"{s}\" to {o}"], 's + "{s}"'), ("prepend", ["puts \"{s}\" in front of {o}", "prepends \"{s}\" to {o}"], '"{s}" + s'), ("swap", ["swaps the case of {o}", "swaps upper and lower case in {o}"], "s.swapcase()"),
    ("second", ["takes every second character of {o}", "keeps every second character of {o}"], "s[::2]"), ("no_vowels", ["removes the vowels from {o}", "removes all vowels from {o}"], '"".join(c for c in s if c not in "aeiouAEIOU")'),
    ("no_digits", ["removes the digits from {o}", "removes all digits from {o}"], '"".join(c for c in s if not c.isdigit())'), ("only_letters", ["keeps only the letters of {o}", "removes everything but letters from {o}"], '"".join(c for c in s if c.isalpha())'),
    ("sort", ["sorts the characters of {o}", "puts the characters of {o} in alphabetical order"], '"".join(sorted(s))'), ("dashes", ["joins the words of {o} with dashes"], '"-".join(s.split())'),
    ("underscores", ["replaces spaces with underscores in {o}", "replaces the spaces in {o} by underscores"], 's.replace(" ", "_")'), ("word_order", ["reverses the order of the words of {o}", "reverses the word order of {o}"], '" ".join(s.split()[::-1])'),
    ("first_word", ["takes the first word of {o}"], "s.split()[0]"), ("last_word", ["takes the last word of {o}"], "s.split()[-1]"), ("zeros", ["pads {o} with zeros on the left to length {z}"], "s.zfill({z})"), ("stars", ["surrounds {o} with stars", "puts a star on both sides of {o}"], '"*" + s + "*"'),
    ("brackets", ["puts {o} in brackets", "puts {o} in round brackets"], '"(" + s + ")"'), ("quotes", ["puts {o} in single quotes"], "\"'\" + s + \"'\""), ("padded", ["pads {o} with dots on the right to length {z}"], 's.ljust({z}, ".")'),
]
TEXT_ENDS = [("length", "returns its length", "len(s)"), ("words", "splits it into a list of words", "s.split()"), ("letters", "returns it as a list of characters", "list(s)"), ("count", "counts how often it contains \"{l}\"", 's.count("{l}")'),
             ("starts", "checks whether it starts with \"{l}\"", 's.startswith("{l}")'), ("palindrome", "checks whether it is a palindrome", "s == s[::-1]"), ("word_count", "counts its words", "len(s.split())"), ("first", "returns its first character", "s[0]"),
             ("ends", "checks whether it ends with \"{l}\"", 's.endswith("{l}")'), ("contains", "checks whether it contains \"{l}\"", '"{l}" in s'), ("distinct", "counts its different characters", "len(set(s))")]
LIST_STEPS = [
    ("sort", ["sorts {o}", "sorts {o} in ascending order"], "sorted(s)"), ("sort_down", ["sorts {o} in descending order"], "sorted(s, reverse=True)"), ("reverse", ["reverses {o}"], "s[::-1]"), ("unique", ["removes duplicates from {o}", "removes duplicates from {o}, keeping the order"], "list(dict.fromkeys(s))"),
    ("head", ["takes the first {f} elements of {o}", "keeps the first {f} elements of {o}"], "s[:{f}]"), ("tail", ["takes the last {f} elements of {o}", "keeps the last {f} elements of {o}"], "s[-{f}:]"), ("drop_first", ["removes the first element of {o}", "drops the first element of {o}"], "s[1:]"),
    ("drop_last", ["removes the last element of {o}", "drops the last element of {o}"], "s[:-1]"), ("second", ["takes every second element of {o}"], "s[::2]"), ("double", ["doubles every number in {o}", "multiplies every number in {o} by 2"], "[x * 2 for x in s]"), ("square", ["squares every number in {o}"], "[x ** 2 for x in s]"),
    ("plus", ["adds {m} to every number in {o}"], "[x + {m} for x in s]"), ("minus", ["subtracts {m} from every number in {o}"], "[x - {m} for x in s]"), ("times", ["multiplies every number in {o} by {m}"], "[x * {m} for x in s]"), ("evens", ["keeps only the even numbers of {o}"], "[x for x in s if x % 2 == 0]"),
    ("odds", ["keeps only the odd numbers of {o}"], "[x for x in s if x % 2 == 1]"), ("positive", ["keeps only the positive numbers of {o}"], "[x for x in s if x > 0]"), ("no_negative", ["removes the negative numbers from {o}"], "[x for x in s if x >= 0]"), ("above", ["keeps only the numbers of {o} greater than {k}"], "[x for x in s if x > {k}]"),
    ("below", ["keeps only the numbers of {o} less than {k}"], "[x for x in s if x < {k}]"), ("without", ["removes every {e} from {o}"], "[x for x in s if x != {e}]"), ("append", ["appends {k} to {o}", "adds {k} at the end of {o}"], "s + [{k}]"), ("prepend", ["puts {k} at the start of {o}", "inserts {k} at the front of {o}"], "[{k}] + s"),
    ("rotate", ["rotates {o} to the left by {f}", "moves the first {f} elements of {o} to the end"], "s[{f}:] + s[:{f}]"), ("absolute", ["takes the absolute value of every number in {o}"], "[abs(x) for x in s]"), ("twice", ["repeats {o} twice"], "s * 2"),
]
LIST_ENDS = [("sum", "returns the sum", "sum(s)"), ("length", "returns the number of elements left", "len(s)"), ("tuple", "returns it as a tuple", "tuple(s)"), ("max", "returns the largest element or None", "max(s, default=None)"), ("min", "returns the smallest element or None", "min(s, default=None)"),
             ("strings", "returns the elements as strings", "[str(x) for x in s]"), ("joined", "joins the elements with \"{s}\" into a string", '"{s}".join(str(x) for x in s)'), ("count", "counts how often it contains {e}", "s.count({e})"), ("contains", "checks whether it contains {k}", "{k} in s"), ("set", "returns a set of the elements", "set(s)")]


def chained(rng: random.Random) -> Task:
    """One to three steps and sometimes an end, on a string or a list."""
    is_text = rng.random() < 0.55
    steps, ends, variable, thing = (TEXT_STEPS, TEXT_ENDS, "text", ["a string", "a text", "a given string"]) if is_text else (LIST_STEPS, LIST_ENDS, "numbers", ["a list", "a list of numbers", "a given list"])
    constants = parts.values(rng)
    constants.named["z"] = rng.randint(6, 20)
    chosen = rng.sample(steps, rng.choices([1, 2, 3], weights=[25, 55, 20])[0])
    while any(a[0] in ("first_word", "last_word") for a in chosen[:1]) and len(chosen) > 1 and any(a[0] in ("first_word", "last_word", "no_spaces", "dashes", "word_order") for a in chosen[1:]):
        chosen = rng.sample(steps, len(chosen))
    end = rng.choice(ends) if rng.random() < 0.35 else None
    said, lines = [], []
    for number, (_, phrases, code) in enumerate(chosen):
        said.append(rng.choice(phrases).replace("{o}", rng.choice(thing) if number == 0 else "it" if is_text else rng.choice(["it", "the list"])))
        lines.append(code)
    if end:
        said.append(end[1])
        lines.append(end[2])
    key = " ".join(step[0] for step in chosen) + (" " + end[0] if end else "")
    code = [line.replace("{s}", "\0") for line in lines]
    body = "\n".join([f"{variable} = {renamed(line, variable)}" for line in code[:-1]] + [f"return {renamed(code[-1], variable)}"]).replace("\0", "{s}")
    what = words.listing(said) if len(said) < 3 or rng.random() < 0.5 else ", then ".join(said)
    name = "_".join([chosen[0][0]] + ([chosen[1][0]] if len(chosen) > 1 else []) + (["and", end[0]] if end else []))
    return Task(f"code steps {variable} {key}", constants.fill(what), name, [variable], constants.fill(body), spaced_text if is_text else parts.a_list)


def renamed(code: str, variable: str) -> str:
    """The code with its s as the variable; letters inside words and quotes stay."""
    out, quote = [], ""
    for place, letter in enumerate(code):
        if letter in "\"'" and (not quote or quote == letter):
            quote = "" if quote else letter
        is_name = letter == "s" and not quote and not (place and (code[place - 1].isalnum() or code[place - 1] in "_.")) and not (place + 1 < len(code) and (code[place + 1].isalnum() or code[place + 1] == "_"))
        out.append(variable if is_name else letter)
    return "".join(out)


def spaced_text(rng: random.Random) -> tuple[str]:
    text = parts.some_text(rng)
    return (text if rng.random() < 0.8 else f"  {text} ",)


OUTCOMES = [("even", "odd"), ("yes", "no"), ("big", "small"), ("pass", "fail"), ("high", "low"), ("hot", "cold"), ("open", "closed"), ("good", "bad"), ("adult", "child"), ("ok", "error"), ("long", "short"), ("accepted", "rejected"), ("win", "lose"),
            ("cheap", "expensive"), ("valid", "invalid"), ("left", "right"), ("on", "off"), ("day", "night")]


def conditional(rng: random.Random) -> Task:
    """One of two or three results, by a test."""
    constants = parts.values(rng)
    kind = rng.random()
    if kind < 0.25:
        return graded(rng)
    is_number = kind < 0.75
    test = constants.test(rng.choice(parts.NUMBER_TESTS if is_number else parts.WORD_TESTS))
    parameter, noun = ("n", "a number") if is_number else (("word", "a word"), ("text", "a string"), ("name", "a name"))[rng.randrange(3)]
    single = rng.choice(test.single)
    code = renamed_x(test.code, parameter)
    if rng.random() < 0.55:
        yes, no = rng.choice(OUTCOMES)
        what = rng.choice(["returns \"{y}\" if {n} {s} and \"{o}\" otherwise", "returns \"{y}\" if {n} {s}, otherwise \"{o}\"", "returns the string \"{y}\" when {n} {s}, else \"{o}\""]).format(y=yes, o=no, n=noun, s=single)
        body, key = f'if {code}:\n    return "{yes}"\nreturn "{no}"', "texts"
    else:
        changes = parts.NUMBER_CHANGES if is_number else [one for one in parts.WORD_CHANGES if one.key != "letter_counts"]
        yes, no = (constants.change(one) for one in rng.sample(changes, 2))
        unchanged = rng.random() < 0.5
        other = "it unchanged" if unchanged else no.its.replace("itself", "it")
        what = rng.choice(["takes {n} and returns {y} if it {s} and {o} otherwise", "takes {n}; if it {s}, the function returns {y}, otherwise {o}", "returns {y} for {n} that {s} and {o} for any other"])
        what = what.replace("{n}", noun).replace("{y}", yes.its.replace("itself", "it")).replace("{s}", single).replace("{o}", other)
        body = f"if {code}:\n    return {renamed_x(yes.code, parameter)}\nreturn {parameter if unchanged else renamed_x(no.code, parameter)}"
        key = f"{yes.key} {'same' if unchanged else no.key}"
    inputs = (lambda rng: (parts.numbers_near(rng, 1)[0],)) if is_number else (lambda rng: (parts.some_word(rng),))
    return Task(f"code if {'number' if is_number else 'word'} {test.key} {key}", constants.fill(what), f"check_{test.key}" if key == "texts" else f"{yes.key}_if_{test.key}", [parameter], constants.fill(body), inputs)


def renamed_x(code: str, name: str) -> str:
    out = []
    for place, letter in enumerate(code):
        alone = not (place and (code[place - 1].isalnum() or code[place - 1] in "_\"")) and not (place + 1 < len(code) and (code[place + 1].isalnum() or code[place + 1] == "_"))
        out.append(name if letter == "x" and alone else letter)
    return "".join(out)


GRADES = [("low", "medium", "high"), ("small", "medium", "large"), ("cold", "warm", "hot"), ("C", "B", "A"), ("child", "teenager", "adult"), ("slow", "normal", "fast"), ("cheap", "fair", "expensive"), ("bad", "good", "great"), ("light", "normal", "heavy"), ("young", "grown", "old")]
GRADED = ["score", "temperature", "age", "speed", "price", "weight", "number", "level", "points", "height", "distance", "amount"]


def graded(rng: random.Random) -> Task:
    """Three results by two limits."""
    first, second, third = rng.choice(GRADES)
    thing = rng.choice(GRADED)
    low = rng.randint(1, 60)
    high = low + rng.randint(5, 60)
    what = rng.choice(["returns \"{a}\" if the {t} is less than {l}, \"{b}\" if it is less than {h} and \"{c}\" otherwise", "returns \"{a}\" for a {t} below {l}, \"{b}\" for a {t} below {h} and \"{c}\" for anything else",
                       "takes a {t} and returns \"{a}\" below {l}, \"{b}\" below {h} and \"{c}\" from {h} on"]).format(a=first, b=second, c=third, t=thing, l=low, h=high)
    body = f'if {thing} < {low}:\n    return "{first}"\nif {thing} < {high}:\n    return "{second}"\nreturn "{third}"'
    return Task(f"code graded {thing} {first}", what, f"{thing}_category", [thing], body, lambda rng: (rng.randint(0, 130),))


def term(depth: int, names: list[str], rng: random.Random) -> tuple[str, str, str]:
    """Words, code and shape of a formula."""
    if depth == 0:
        name = rng.choice(names)
        return name, name, "v"
    kind = rng.randrange(10)
    a_words, a_code, a_key = term(depth - 1 if rng.random() < 0.6 else 0, names, rng)
    if kind < 4:
        said, code, key = [("the square of {a}", "{a} ** 2", "square"), ("twice {a}", "2 * {a}", "twice"), ("the absolute value of {a}", "abs({a})", "abs"), ("three times {a}", "3 * {a}", "thrice")][kind]
        inner = a_code if kind == 2 or a_code in names else f"({a_code})"
        return said.replace("{a}", a_words), code.replace("{a}", inner), f"{key}({a_key})"
    b_words, b_code, b_key = term(0, [name for name in names if name != a_code] or [str(rng.randint(2, 12))], rng)
    said, code, key = rng.choice([("the sum of {a} and {b}", "{a} + {b}", "sum"), ("the product of {a} and {b}", "{a} * {b}", "product"), ("the difference of {a} and {b}", "{a} - {b}", "difference"), ("the larger of {a} and {b}", "max({a}, {b})", "max"),
                                  ("the smaller of {a} and {b}", "min({a}, {b})", "min"), ("the average of {a} and {b}", "({a} + {b}) / 2", "mean"), ("{b} plus {a}", "{b} + {a}", "sum"), ("{b} times {a}", "{b} * {a}", "product")])
    if code.startswith(("max", "min")):
        inner, outer = a_code, b_code
    else:
        inner, outer = (a_code if a_code in names or a_code.startswith(("abs(", "max(", "min(")) and a_code.count("(") == 1 else f"({a_code})"), b_code
    return said.replace("{a}", "\0").replace("{b}", b_words).replace("\0", a_words), code.replace("{a}", "\0").replace("{b}", outer).replace("\0", inner), f"{key}({a_key},{b_key})"


def formula(rng: random.Random) -> Task:
    names = rng.choice([["a", "b"], ["a", "b", "c"], ["x", "y"], ["x"], ["n"]])
    said, code, key = term(rng.choice([1, 2, 2, 3]), names, rng)
    used = [name for name in names if name in code.replace("max", "").replace("abs", "").replace("min", "")]
    count = len(used)
    return Task(f"code formula {key}", rng.choice(["returns", "computes", "calculates"]) + " " + said, rng.choice(["compute", "formula", "calculate", "value", "result"]), used, f"return {code}",
                lambda rng: tuple(rng.randint(-12, 30) for _ in range(count)))


UNITS = {"kilometres": "kilometre", "miles": "mile", "metres": "metre", "feet": "foot", "inches": "inch", "centimetres": "centimetre", "kilograms": "kilogram", "pounds": "pound", "ounces": "ounce", "litres": "litre", "gallons": "gallon",
         "euros": "euro", "dollars": "dollar", "francs": "franc", "hours": "hour", "minutes": "minute", "seconds": "second", "days": "day", "weeks": "week", "months": "month", "grams": "gram", "tonnes": "tonne", "points": "point", "coins": "coin",
         "boxes": "box", "bars": "bar", "cups": "cup", "steps": "step", "pages": "page", "credits": "credit"}
QUANTITIES = [("width", "height"), ("length", "width"), ("price", "quantity"), ("speed", "time"), ("hours", "rate"), ("distance", "time"), ("base", "height"), ("mass", "height"), ("total", "people"), ("cost", "count"), ("principal", "years")]
OPERATIONS = [("multiplied by", "*", "product"), ("plus", "+", "sum"), ("minus", "-", "difference"), ("divided by", "/", "ratio")]


def measured(rng: random.Random) -> Task:
    """Conversions with the factor given, and formulas over named quantities."""
    if rng.random() < 0.5:
        one, other = rng.sample(list(UNITS), 2)
        factor = rng.choice([rng.randint(2, 60), rng.randint(2, 200) / 10, rng.randint(11, 999) / 100])
        forward = rng.random() < 0.5
        said = f"1 {UNITS[one]} is {factor} {other}"
        source, target, sign = (one, other, "*") if forward else (other, one, "/")
        what = rng.choice(["converts {a} to {b}, where {s}", "converts {a} to {b} ({s})", "turns {a} into {b}; {s}"]).format(a=source, b=target, s=said)
        return Task(f"code convert {source} {target}", what, f"{source}_to_{target}", [source], f"return {source} {sign} {factor}", lambda rng: (rng.randint(0, 200),))
    first, second = rng.choice(QUANTITIES)
    said, sign, key = rng.choice(OPERATIONS)
    k = rng.randint(2, 100)
    extra, tail, extra_key = rng.choice([("", "", ""), (f", plus {k}", f" + {k}", "plus"), (f", minus {k}", f" - {k}", "minus"), (f", times {k}", f" * {k}", "times"), (", rounded to 2 decimals", "round", "rounded")])
    expression = f"{first} {sign} {second}"
    if tail == "round":
        expression = f"round({expression}, 2)"
    elif tail:
        expression = (f"({expression})" if sign in "+-" and "*" in tail else expression) + tail
    what = rng.choice(["returns the {a} {s} the {b}{x}", "takes {a} and {b} and returns the {a} {s} the {b}{x}", "computes the {a} {s} the {b}{x}"]).format(a=first, b=second, s=said, x=extra)
    return Task(f"code quantity {first} {second} {key} {extra_key}", what, f"{first}_{key}", [first, second], f"return {expression}", lambda rng: (rng.randint(1, 90), rng.randint(1, 30)))


SLOTS = {"name": lambda rng: rng.choice(words.FIRST_NAMES), "city": lambda rng: rng.choice(words.CITIES), "age": lambda rng: rng.randint(3, 90), "count": lambda rng: rng.randint(0, 50), "item": lambda rng: rng.choice(words.THINGS),
         "price": lambda rng: rng.randint(1, 99), "day": lambda rng: rng.choice(words.DAYS), "colour": lambda rng: rng.choice(words.COLOURS), "animal": lambda rng: rng.choice(words.ANIMALS), "score": lambda rng: rng.randint(0, 100), "food": lambda rng: rng.choice(words.FOODS),
         "first": lambda rng: rng.choice(words.FIRST_NAMES), "last": lambda rng: rng.choice(words.LAST_NAMES), "year": lambda rng: rng.randint(1950, 2030)}
JOINTS = [" is ", " has ", " likes ", " - ", ": ", ", ", " and ", " from ", " in ", " costs ", " / ", " (", " was ", " wants ", " sees ", " on ", " for ", " with ", " = ", " | "]
OPENS = ["", "", "Hello, ", "Hi ", "Dear ", "Name: ", "Welcome, ", "The ", "I see ", "My ", "Good morning, ", "Note: ", "[", "Today: ", "Total: "]
CLOSES = ["", ".", "!", "?", " points", " today.", " years old", " dollars", "]", ", thank you.", " :)", " left", "."]


def formatted(rng: random.Random) -> Task:
    """A text with the values in it."""
    slots = rng.sample(list(SLOTS), rng.choice([1, 2, 2, 3]))
    template = rng.choice(OPENS) + "{" + slots[0] + "}"
    for slot in slots[1:]:
        template += rng.choice(JOINTS) + "{" + slot + "}"
    template += rng.choice(CLOSES)
    what = rng.choice(["takes {p} and returns the string \"{t}\"", "returns the text \"{t}\"", "returns \"{t}\" with the values filled in", "formats {p} as \"{t}\"", "builds the string \"{t}\" from {p}"])
    what = what.replace("{p}", words.listing(slots)).replace("{t}", template)
    return Task(f"code format {template}", what, rng.choice(["format_text", "message", "describe", "make_text", "to_text", "label"]), slots, f'return f"{template}"', lambda rng: tuple(SLOTS[slot](rng) for slot in slots))
