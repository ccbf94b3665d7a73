"""Tasks over many elements: some of them, changed or not, made into one result. Any source goes with any test, change and result."""

from __future__ import annotations

import random
from typing import NamedTuple

from train import code_parts as parts
from train import words
from train.code_parts import Change, Inputs, Task, Test, Values


class Source(NamedTuple):
    """Where the elements come from: its name, the noun, where they are, parameters, the code to go over, and inputs."""

    key: str
    noun: str
    where: list[str]
    parameters: list[str]
    over: str
    inputs: Inputs


NUMBER_SOURCES = [
    Source("list", "numbers", ["in a list", "of a list", "in a list of numbers", "in the list", "in a given list"], ["numbers"], "numbers", parts.a_list),
    Source("list", "numbers", ["in a list", "of a list", "in a list of integers"], ["numbers"], "numbers", parts.a_list),
    Source("integers", "integers", ["in a list", "of a list"], ["numbers"], "numbers", parts.a_list),
    Source("range", "numbers", ["from 1 to n", "between 1 and n", "from 1 up to n"], ["n"], "range(1, n + 1)", lambda rng: (rng.randint(1, 60),)),
    Source("span", "numbers", ["from a to b", "between a and b inclusive", "from a to b inclusive"], ["a", "b"], "range(a, b + 1)", lambda rng: (rng.randint(-10, 20), rng.randint(20, 70))),
    Source("digits", "digits", ["of a number n", "of n", "of an integer n"], ["n"], "[int(d) for d in str(n)]", lambda rng: (rng.randint(1, 999999),)),
    Source("values", "values", ["of a dictionary", "in a dictionary", "of a dict"], ["data"], "data.values()", lambda rng: (dict(zip(rng.sample(words.FRUITS, 5), parts.numbers_near(rng, 5))),)),
    Source("two lists", "numbers", ["of two lists together", "in two lists taken together"], ["a", "b"], "a + b", lambda rng: (parts.numbers_near(rng), parts.numbers_near(rng))),
    Source("string", "numbers", ["in a comma-separated string", "of a string of comma-separated numbers"], ["text"], '[int(part) for part in text.split(",")]',
           lambda rng: (",".join(map(str, parts.numbers_near(rng))),)),
    Source("rows", "numbers", ["in a list of lists", "in a nested list", "of a matrix"], ["rows"], "[value for row in rows for value in row]", lambda rng: ([parts.numbers_near(rng, 3) for _ in range(rng.randint(2, 4))],)),
    Source("tuple", "elements", ["of a tuple of numbers"], ["values"], "values", lambda rng: (tuple(parts.numbers_near(rng)),)),
]
WORD_SOURCES = [
    Source("list", "words", ["in a list", "of a list", "in a list of words"], ["words"], "words", parts.word_list),
    Source("list", "words", ["in a list", "of a list"], ["words"], "words", parts.word_list),
    Source("strings", "strings", ["in a list", "of a list", "in a list of strings"], ["strings"], "strings", parts.word_list),
    Source("names", "names", ["in a list", "of a list of names"], ["names"], "names", lambda rng: (rng.sample(words.FIRST_NAMES, rng.randint(3, 7)),)),
    Source("text", "words", ["of a text", "in a text", "in a sentence", "in a string", "of a sentence"], ["text"], "text.split()", parts.a_text),
    Source("keys", "keys", ["of a dictionary", "in a dictionary"], ["data"], "data", lambda rng: ({word: rng.randint(0, 50) for word in parts.some_words(rng)},)),
    Source("lines", "lines", ["of a text", "in a string"], ["text"], "text.splitlines()", lambda rng: ("\n".join(parts.some_words(rng)),)),
    Source("items", "items", ["of a comma-separated string", "in a comma-separated string"], ["text"], 'text.split(",")', lambda rng: (",".join(parts.some_words(rng)),)),
]


class Made(NamedTuple):
    """What is made of the elements: its name, words around {x}, the last expression over a list {c} and a generator {g}, and a loop's beginning, step ({v} is the value) and end."""

    key: str
    said: list[str]
    code: str
    loop: tuple[str, str, str] | None


NUMBER_RESULTS = [
    Made("", ["{x} as a list", "a list of {x}", "{x}", "a list that holds {x}"], "return {c}", ("result = []", "result.append({v})", "return result")),
    Made("", ["a list of {x}", "{x}", "a list with {x}"], "return {c}", ("result = []", "result.append({v})", "return result")),
    Made("sum", ["the sum of {x}", "the total of {x}"], "return sum({g})", ("total = 0", "total += {v}", "return total")),
    Made("sum", ["the sum of {x}", "the sum of {x}"], "return sum({g})", ("total = 0", "total += {v}", "return total")),
    Made("product", ["the product of {x}"], "result = 1\nfor x in {o}:\n{i}    result *= {v}\nreturn result", ("result = 1", "result *= {v}", "return result")),
    Made("largest", ["the largest of {x}, or None if there are none", "the maximum of {x}, or None if there is none"], "return max({l}, default=None)", None),
    Made("smallest", ["the smallest of {x}, or None if there are none", "the minimum of {x}, or None if there is none"], "return min({l}, default=None)", None),
    Made("average", ["the average of {x}, or 0 if there are none", "the mean of {x}, or 0 if there are none"], "values = {c}\nif not values:\n    return 0\nreturn sum(values) / len(values)", None),
    Made("sorted", ["{x} sorted in ascending order", "a sorted list of {x}", "{x} in ascending order"], "return sorted({l})", None),
    Made("descending", ["{x} sorted in descending order", "{x} in descending order", "{x} from largest to smallest"], "return sorted({l}, reverse=True)", None),
    Made("distinct", ["the distinct values among {x}, sorted", "{x} without duplicates, sorted"], "return sorted(set({l}))", None),
    Made("reversed", ["{x} in reverse order", "{x} as a list in reverse order"], "return {c}[::-1]", None),
    Made("spread", ["the difference between the largest and the smallest of {x}, or 0 if there are none"], "values = {c}\nif not values:\n    return 0\nreturn max(values) - min(values)", None),
    Made("joined", ["{x} joined by \"{s}\" as a string", "a string of {x} separated by \"{s}\""], 'return "{s}".join(str({v}) for x in {o}{f})', None),
    Made("last", ["the last of {x}, or None if there is none"], "values = {c}\nreturn values[-1] if values else None", None),
    Made("second", ["the second largest of {x}, or None if there are fewer than two"], "values = sorted({l}, reverse=True)\nreturn values[1] if len(values) > 1 else None", None),
]
PLAIN_RESULTS = [
    Made("count", ["the number of {x}", "how many {y} there are", "the count of {x}"], "return sum(1 for x in {o}{f})", ("count = 0", "count += 1", "return count")),
    Made("count", ["the number of {x}", "how many {y} there are"], "return sum(1 for x in {o}{f})", ("count = 0", "count += 1", "return count")),
    Made("first", ["the first of {x}, or None if there is none", "the first one of {x} or None"], "for x in {o}:\n{i}    return x\nreturn None", None),
    Made("indices", ["the indices of {x}", "the positions of {x}"], "return [i for i, x in enumerate({o}){f}]", None),
    Made("split", ["two lists: {x}, and all the others"], "return [x for x in {o}{f}], [x for x in {o} if not ({t})]", None),
]
WORD_RESULTS = [
    Made("", ["a list of {x}", "{x}", "{x} as a list", "a list with {x}"], "return {c}", ("result = []", "result.append({v})", "return result")),
    Made("", ["a list of {x}", "{x}"], "return {c}", ("result = []", "result.append({v})", "return result")),
    Made("sorted", ["{x} in alphabetical order", "a sorted list of {x}", "{x} sorted alphabetically"], "return sorted({l})", None),
    Made("descending", ["{x} in reverse alphabetical order"], "return sorted({l}, reverse=True)", None),
    Made("joined", ["{x} joined by \"{s}\"", "a string of {x} separated by \"{s}\""], 'return "{s}".join({g})', None),
    Made("distinct", ["{x} without duplicates, sorted", "the distinct ones among {x} in sorted order"], "return sorted(set({l}))", None),
    Made("longest", ["the longest of {x}, or None if there are none"], "return max({l}, key=len, default=None)", None),
    Made("shortest", ["the shortest of {x}, or None if there are none"], "return min({l}, key=len, default=None)", None),
    Made("reversed", ["{x} in reverse order"], "return {c}[::-1]", None),
    Made("letters", ["the total number of letters of {x}", "the total length of {x}"], "return sum(len({v}) for x in {o}{f})", None),
    Made("last", ["the last of {x}, or None if there is none"], "values = {c}\nreturn values[-1] if values else None", None),
]


def elements(source: Source, where: str, test: Test | None, change: Change | None, rng: random.Random) -> str:
    """`the squares of the even numbers in a list`"""
    if change is not None and change.its.startswith("its ") and source.noun in SINGLE and rng.random() < 0.3:
        return each(source, where, test, change, rng)
    place = f"{source.noun} {where}".rstrip()
    if test is None:
        said = place
    elif test.before and rng.random() < 0.75:
        said = f"{test.before} {place}"
    else:
        behind = rng.choice(test.behind)
        said = f"{place} that are {behind}" if behind.split()[0] in ADJECTIVES and rng.random() < 0.4 else f"{place} {behind}"
    if change is None:
        return "the " + said
    if change.noun and (not change.done or rng.random() < 0.6):
        return f"{change.noun} the {said}"
    return f"the {said}, {rng.choice(['', 'each ', 'each of them '])}{rng.choice(change.done)}" if rng.random() < 0.8 else f"the {said} {rng.choice(change.done)}"


SINGLE = {"words": "word", "strings": "string", "names": "name", "keys": "key", "numbers": "number", "integers": "integer", "elements": "element", "values": "value", "digits": "digit", "lines": "line", "items": "item"}


def each(source: Source, where: str, test: Test | None, change: Change, rng: random.Random) -> str:
    """`the square of each even number in a list`"""
    said = f"{SINGLE[source.noun]} {where}".rstrip()
    if test is not None:
        said = f"{test.before} {said}" if test.before and rng.random() < 0.7 else f"{said} that {rng.choice(test.single)}"
    return f"the {change.its.removeprefix('its ')} of {rng.choice(['each', 'every'])} {said}"


ADJECTIVES = frozenset("greater larger above bigger less smaller below under not divisible different longer shorter between".split())


def code_of(made: Made, source: Source, test: Test | None, change: Change | None) -> str:
    value = change.code if change else "x"
    only = f" if {test.code}" if test else ""
    listed = f"[{value} for x in {source.over}{only}]"
    is_whole = not test and not change
    is_fresh = source.over.startswith("[") or "split" in source.over or source.over == "a + b"
    shown = {"c": (source.over if is_fresh else f"list({source.over})") if is_whole else listed,
             "l": source.over if is_whole else listed, "g": source.over if is_whole else f"{value} for x in {source.over}{only}", "o": source.over, "f": only, "v": value, "t": test.code if test else "True"}
    body = made.code
    if "{i}" in body:
        shown["i"] = f"    if {test.code}:\n    " if test else ""
    for name, text in shown.items():
        body = body.replace("{" + name + "}", text)
    return body


def loop_of(made: Made, source: Source, test: Test | None, change: Change | None) -> str | None:
    if made.loop is None:
        return None
    begin, step, end = made.loop
    step = step.replace("{v}", change.code if change else "x")
    inside = f"    if {test.code}:\n        {step}" if test else f"    {step}"
    return f"{begin}\nfor x in {source.over}:\n{inside}\n{end}"


def natural_name(made: str, test: Test | None, change: Change | None, noun: str) -> str:
    pieces = [made, test.key if test else "", change.key if change else noun]
    return "_".join(piece for piece in pieces if piece)


# Where what is taken can be named before what is made of it.
TAKEN = {("number", "list"): ["a list of numbers", "a list", "a list of integers"], ("number", "integers"): ["a list of integers"], ("number", "tuple"): ["a tuple of numbers"], ("number", "rows"): ["a list of lists of numbers", "a matrix"],
         ("number", "string"): ["a string of comma-separated numbers"], ("word", "list"): ["a list of words", "a list of words"], ("word", "strings"): ["a list of strings"], ("word", "names"): ["a list of names"]}


def filtered(taken: list[str], said: str, source: Source, test: Test, constants: Values, rng: random.Random) -> Task:
    """What is only chosen from a list, in words for that."""
    what = rng.choice(["filters {t}, keeping only {x}", "takes {t} and returns only {x}", "keeps only {x} of {t}", "takes {t} and keeps only {x}"]).replace("{t}", rng.choice(taken)).replace("{x}", said)
    family = "word" if source in WORD_SOURCES else "number"
    plain = NUMBER_RESULTS[0]
    return Task(f"code {family} {source.key} {test.key} - list", constants.fill(what), natural_name("", test, None, source.noun), source.parameters, code_of(plain, source, test, None), source.inputs, loop_of(plain, source, test, None))


def put_together(family: str, source: Source, made: Made, test: Test | None, change: Change | None, constants: Values, rng: random.Random) -> Task:
    test, change = constants.test(test), constants.change(change)
    taken = TAKEN.get((family, source.key)) if test and rng.random() < 0.3 else None
    said = elements(source._replace(noun=rng.choice(["ones", source.noun])) if taken else source, "" if taken else rng.choice(source.where), test, change, rng)
    what = rng.choice(made.said).replace("{x}", said).replace("{y}", said.removeprefix("the "))
    if taken and not made.key and not change and rng.random() < 0.4:
        return filtered(taken, said, source, test, constants, rng)
    if taken:
        what = f"{rng.choice(taken)} and returns {what}"
    elif rng.random() < 0.2:
        what = what.replace("the " + source.noun, "all " + source.noun).replace(f"the {test.before} {source.noun}" if test else "\0", f"all {test.before} {source.noun}" if test else "")
    loop = loop_of(made, source, test, change)
    key = f"code {family} {source.key} {test.key if test else '-'} {change.key if change else '-'} {made.key or 'list'}"
    return Task(key, ("takes " if taken else "returns ") + constants.fill(what), natural_name(made.key, test, change, source.noun), source.parameters, constants.fill(code_of(made, source, test, change)), source.inputs,
                constants.fill(loop) if loop else None)


def over(family: str, sources: list[Source], tests: list[Test], changes: list[Change], results: list[Made], plain: list[Made], rng: random.Random) -> Task:
    constants = parts.values(rng)
    source = rng.choice(sources)
    kind = rng.random()
    if kind < 0.25:
        return put_together(family, source, rng.choice(plain), rng.choice(tests), None, constants, rng)
    test = rng.choice(tests) if kind < 0.8 else None
    change = rng.choice(changes) if kind > 0.5 else None
    if family == "word":
        change = change if change is None or change.key != "letter_counts" else None
    made = rng.choice(results)
    if family == "word" and change and change.key in ("lengths", "vowel_counts") and made.key not in ("", "sorted", "descending", "distinct", "reversed", "last"):
        made = results[0]
    if test is None and change is None and made.key == "":
        change = rng.choice(changes[:4])
    return put_together(family, source, made, test, change, constants, rng)


def over_numbers(rng: random.Random) -> Task:
    return over("number", NUMBER_SOURCES, parts.NUMBER_TESTS, parts.NUMBER_CHANGES, NUMBER_RESULTS, PLAIN_RESULTS, rng)


def over_words(rng: random.Random) -> Task:
    return over("word", WORD_SOURCES, parts.WORD_TESTS, parts.WORD_CHANGES, WORD_RESULTS, PLAIN_RESULTS, rng)


QUANTIFIERS = [("all", ["whether all {n} {w} {t}", "whether every one of the {n} {w} {s}"], "return all({t} for x in {o})"),
               ("any", ["whether any of the {n} {w} {s}", "whether at least one of the {n} {w} {s}"], "return any({t} for x in {o})"),
               ("none", ["whether none of the {n} {w} {s}"], "return not any({t} for x in {o})")]


def quantified(rng: random.Random) -> Task:
    """Whether all, any or none of the elements pass a test."""
    family, sources, tests = rng.choice([("number", NUMBER_SOURCES, parts.NUMBER_TESTS), ("word", WORD_SOURCES, parts.WORD_TESTS)])
    source, test, constants = rng.choice(sources), rng.choice(tests), parts.values(rng)
    key, said, code = rng.choice(QUANTIFIERS)
    test = constants.test(test)
    single = rng.choice(test.single)
    plural = "are" + single[2:] if single.startswith("is ") else "have" + single[3:] if single.startswith("has ") else None
    options = [one for one in said if plural or "{t}" not in one] or [said[-1].replace("{t}", "{s}")]
    what = rng.choice(options).replace("{n}", source.noun).replace("{w}", rng.choice(source.where)).replace("{t}", plural or "").replace("{s}", single)
    verb = rng.choice(["checks", "checks", "returns", "tells", "says", "tests"])
    body = code.replace("{t}", test.code).replace("{o}", source.over)
    return Task(f"code {family} {key} {source.key} {test.key}", f"{verb} {constants.fill(what)}", f"{key}_{test.key}", source.parameters, constants.fill(body), source.inputs)


def over_characters(rng: random.Random) -> Task:
    """The same for the characters of a string."""
    constants = parts.values(rng)
    test = constants.test(rng.choice(parts.CHARACTER_TESTS))
    change = rng.choice(parts.CHARACTER_CHANGES) if rng.random() < 0.3 else None
    value = change.code if change else "x"
    only = f" if {test.code}"
    where = rng.choice(["in a string", "of a string", "in a text", "of a text"])
    said = f"the {test.before} {where}"
    if change:
        said = f"{change.noun} {said}" if change.noun else f"{said}, {rng.choice(change.done)}"
    results = [("string", ["a string with only {x}", "only {x}", "a string of {x}"], f'return "".join({value} for x in text{only})'), ("list", ["a list of {x}", "{x} as a list"], f"return [{value} for x in text{only}]"),
               ("sorted", ["{x} in sorted order as a list"], f"return sorted([{value} for x in text{only}])"), ("joined", ["{x} joined by \"{s}\""], f'return "{{s}}".join({value} for x in text{only})')]
    if change is None:
        results += [("count", ["the number of {x}", "how many {y} there are", "the number of {x}"], f"return sum(1 for x in text{only})")] * 3
        results += [("distinct", ["the number of distinct {y}"], f"return len(set(x for x in text{only}))"), ("indices", ["the positions of {x} as a list"], f"return [i for i, x in enumerate(text){only}]"),
                    ("share", ["the share of {x}, as a fraction of the length"], f"return sum(1 for x in text{only}) / len(text)"), ("first", ["the first of {x}, or None"], f"for x in text:\n    if {test.code}:\n        return x\nreturn None"),
                    ("counts", ["a dictionary that counts {x}"], f"counts = {{}}\nfor x in text:\n    if {test.code}:\n        counts[x] = counts.get(x, 0) + 1\nreturn counts"),
                    ("removed", ["the string without {x}", "a string with {x} removed"], f'return "".join(x for x in text if not ({test.code}))'),
                    ("replaced", ["a string with {x} replaced by \"{s}\""], f'return "".join("{{s}}" if {test.code} else x for x in text)')]
    elif change.key == "codes":
        results = results[1:3]
    key, said_by, body = rng.choice(results)
    what = rng.choice(said_by).replace("{x}", said).replace("{y}", said.removeprefix("the "))
    if key in ("removed", "replaced"):
        what = what.replace(" " + where, "")
        what += " of a given text" if key == "removed" and "the string" not in what else ""
        what = what.replace("the string without", "a given string without") if key == "removed" else what.replace("a string with", "a given string with")
    loop = None
    if key == "count":
        loop = f"count = 0\nfor x in text:\n    if {test.code}:\n        count += 1\nreturn count"
    return Task(f"code character {test.key} {change.key if change else '-'} {key}", "returns " + constants.fill(what), natural_name(key, test, change, ""), ["text"], constants.fill(body), parts.a_text,
                constants.fill(loop) if loop else None)


def grouped(rng: random.Random) -> Task:
    """Groups, counts, sorts or picks elements by something about each of them."""
    is_words = rng.random() < 0.55
    constants = parts.values(rng)
    source = rng.choice([one for one in (WORD_SOURCES if is_words else NUMBER_SOURCES) if one.key in ("list", "strings", "names", "text", "integers", "range", "tuple", "keys")])
    changes = [one for one in (parts.WORD_CHANGES if is_words else parts.NUMBER_CHANGES) if one.key in
               ("lengths", "first_letters", "last_letters", "prefixes", "suffixes", "vowel_counts", "letter_counts", "lower", "reversed", "last_digits", "digit_sums", "digit_counts", "remainders", "absolute", "squares", "negated", "without_first")]
    change = rng.choice(changes)
    where = rng.choice(source.where)
    noun, over_code, by = source.noun, source.over, constants.fill(change.its)
    their = by
    code = constants.fill(change.code)
    one = SINGLE[noun]
    bare = by.removeprefix("its ")
    if by.startswith("its ") and rng.random() < 0.5:
        their = rng.choice(["their " + bare, bare])
    by_each = f", each by {their}" if their == by else f" by {their}"
    kinds = [
        ("map", [f"returns a dictionary that maps each of the {noun} {where} to {by}", f"builds a dictionary from each of the {noun} {where} to {by}"], f"return {{x: {code} for x in {over_code}}}"),
        ("pairs", [f"returns a list of pairs of each of the {noun} {where} and {by}", f"pairs each of the {noun} {where} with {by}"], f"return [(x, {code}) for x in {over_code}]"),
        ("group", [f"groups the {noun} {where} by {their}", f"returns a dictionary that groups the {noun} {where} by {their}"], f"groups = {{}}\nfor x in {over_code}:\n    groups.setdefault({code}, []).append(x)\nreturn groups"),
        ("tally", [f"counts the {noun} {where} by {their}", f"returns a dictionary that counts the {noun} {where} by {their}"], f"counts = {{}}\nfor x in {over_code}:\n    key = {code}\n    counts[key] = counts.get(key, 0) + 1\nreturn counts"),
        ("order", [f"sorts the {noun} {where}{by_each}", f"returns the {noun} {where} sorted{by_each}"], f"return sorted({over_code}, key=lambda x: {code})"),
        ("order_down", [f"sorts the {noun} {where} in descending order{by_each}"], f"return sorted({over_code}, key=lambda x: {code}, reverse=True)"),
        ("most", [f"returns the one of the {noun} {where} that is largest by {by}"] + ([f"returns the {one} {where} with the largest {bare}"] * 2 if bare != by else []), f"return max({over_code}, key=lambda x: {code})"),
        ("least", [f"returns the one of the {noun} {where} that is smallest by {by}"] + ([f"returns the {one} {where} with the smallest {bare}"] * 2 if bare != by else []), f"return min({over_code}, key=lambda x: {code})"),
        ("different", [f"returns how many different values there are if each of the {noun} {where} is replaced by {by}"], f"return len(set({code} for x in {over_code}))"),
    ]
    key, said, body = rng.choice(kinds)
    return Task(f"code by {source.key} {change.key} {key}", rng.choice(said), f"{key}_by_{change.key}", source.parameters, body, source.inputs)
