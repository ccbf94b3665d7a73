"""Tasks over dictionaries, records, pairs of lists, tables, neighbours and dates."""

from __future__ import annotations

import random
from typing import Any

from train import code_parts as parts
from train import words
from train.code_parts import Task
from train.code_tasks_sequences import NUMBER_SOURCES, elements
from train.code_tasks_steps import renamed_x


def a_dictionary(rng: random.Random) -> tuple[dict[str, int]]:
    return (dict(zip(rng.sample(words.FRUITS + words.ANIMALS + words.COLOURS, 6), parts.numbers_near(rng, 6))),)


def entries(rng: random.Random) -> Task:
    """Entries of a dictionary by a test on the value or the key."""
    constants = parts.values(rng)
    by_value = rng.random() < 0.65
    test = rng.choice(parts.NUMBER_TESTS if by_value else parts.WORD_TESTS)
    single = rng.choice(test.single)
    code = renamed_x(test.code, "value" if by_value else "key")
    said = f"whose {'value' if by_value else 'key'} {single}"
    where = rng.choice(["of a dictionary", "in a dictionary", "of a dict"])
    change = rng.choice(parts.NUMBER_CHANGES)
    changed = renamed_x(change.code, "value")
    kinds = [("entries", [f"returns a dictionary with only the entries {where} {said}", f"filters a dictionary, keeping only the entries {said}"], f"return {{key: value for key, value in data.items() if {code}}}"),
             ("keys", [f"returns a list of the keys {where} {said}", f"returns the keys {where} {said}"], f"return [key for key, value in data.items() if {code}]"),
             ("values", [f"returns a list of the values of the entries {where} {said}"], f"return [value for key, value in data.items() if {code}]"),
             ("count", [f"counts the entries {where} {said}", f"returns the number of entries {where} {said}"], f"return sum(1 for key, value in data.items() if {code})"),
             ("sum", [f"returns the sum of the values of the entries {where} {said}"], f"return sum(value for key, value in data.items() if {code})"),
             ("removed", [f"removes the entries {said} from a dictionary and returns the rest"], f"return {{key: value for key, value in data.items() if not ({code})}}"),
             ("pairs", [f"returns a list of (key, value) pairs for the entries {where} {said}"], f"return [(key, value) for key, value in data.items() if {code}]"),
             ("sorted_keys", [f"returns the sorted keys {where} {said}"], f"return sorted(key for key, value in data.items() if {code})"),
             ("swapped", [f"returns a dictionary from value to key for the entries {where} {said}"], f"return {{value: key for key, value in data.items() if {code}}}"),
             (f"changed {change.key}", [f"returns a dictionary with the entries {where} {said}, each value replaced by {change.its}"], f"return {{key: {changed} for key, value in data.items() if {code}}}")]
    if rng.random() < 0.12:
        key, said_by, body = f"map {change.key}", [f"returns a dictionary in which every value {where} is replaced by {change.its}"], f"return {{key: {changed} for key, value in data.items()}}"
        test = None
    else:
        key, said_by, body = rng.choice(kinds)
    name = f"{key.replace(' ', '_')}_{test.key}" if test else key.replace(" ", "_")
    return Task(f"code entries {by_value} {test.key if test else '-'} {key}", constants.fill(rng.choice(said_by)), name, ["data"], constants.fill(body), a_dictionary)


# What the records are called, one of them, text fields and number fields.
RECORDS = [("people", "person", ["name", "city"], ["age", "height"]), ("products", "product", ["name", "category"], ["price", "stock"]), ("books", "book", ["title", "author"], ["pages", "year"]), ("students", "student", ["name", "subject"], ["score", "age"]),
           ("cars", "car", ["brand", "colour"], ["price", "year"]), ("employees", "employee", ["name", "department"], ["salary", "age"]), ("songs", "song", ["title", "artist"], ["length", "plays"]), ("cities", "city", ["name", "country"], ["population", "area"]),
           ("orders", "order", ["customer", "status"], ["total", "items"]), ("animals", "animal", ["name", "species"], ["weight", "age"]), ("films", "film", ["title", "genre"], ["rating", "year"]), ("tasks", "task", ["title", "owner"], ["priority", "hours"]),
           ("players", "player", ["name", "team"], ["goals", "age"]), ("houses", "house", ["street", "owner"], ["rooms", "rent"])]
LIMITS = [("greater than", ">", "above"), ("less than", "<", "below"), ("at least", ">=", "at_least"), ("at most", "<=", "at_most"), ("equal to", "==", "equal")]


def rows_of(texts: list[str], counts: list[str], rng: random.Random) -> list[dict[str, Any]]:
    pools = {text: rng.sample(words.FIRST_NAMES, 8) if number == 0 else rng.sample(words.FRUITS, 3) for number, text in enumerate(texts)}
    return [{**{text: rng.choice(pools[text]) if number else pools[text][row] for number, text in enumerate(texts)}, **{count: rng.randint(1, 60) for count in counts}} for row in range(rng.randint(3, 7))]


def records(rng: random.Random) -> Task:
    """Questions about a list of dictionaries."""
    plural, one, texts, counts = rng.choice(RECORDS)
    text, count = rng.choice(texts), rng.choice(counts)
    other = rng.choice(counts)
    k = rng.randint(2, 60)
    kind = rng.random()
    parameters = [plural]
    if kind < 0.45:
        said, sign, limit = rng.choice(LIMITS)
        test, which, key = f'{one}["{count}"] {sign} {k}', f"whose {count} is {said} {k}", f"{limit} {count}"
        if rng.random() < 0.3:
            test, which = f'{one}["{count}"] {sign} limit', f"whose {count} is {said} a given limit"
            parameters = [plural, "limit"]
            key += " given"
    elif kind < 0.7:
        test, which, key = f'{one}["{text}"] == {text}', f"with a given {text}", f"same {text}"
        parameters = [plural, text]
    else:
        test, which, key = "", "", "all"
    only = f" if {test}" if test else ""
    which = (" " + which) if which else ""
    where = rng.choice([f"in a list of dictionaries", f"in a list of dicts", f"in a list"])
    loop = f"for {one} in {plural}"
    shown = rng.choice(texts)
    kinds = [("field", [f'returns the "{shown}" of all {plural} {where}{which}', f"returns a list of the {shown} values of the {plural} {where}{which}"], f'return [{one}["{shown}"] {loop}{only}]'),
             ("sum", [f"returns the sum of the {other} of all {plural} {where}{which}", f"returns the total {other} of the {plural} {where}{which}"], f'return sum({one}["{other}"] {loop}{only})'),
             ("average", [f"returns the average {other} of the {plural} {where}{which}, or 0 if there are none"], f'values = [{one}["{other}"] {loop}{only}]\nreturn sum(values) / len(values) if values else 0'),
             ("sorted", [f"returns the {plural} {where}{which} sorted by {other}", f"sorts the {plural} {where}{which} by {other}"], f'return sorted([{one} {loop}{only}], key=lambda {one}: {one}["{other}"])' if test else f'return sorted({plural}, key=lambda {one}: {one}["{other}"])'),
             ("descending", [f"returns the {plural} {where}{which} sorted by {other} in descending order"], f'return sorted([{one} {loop}{only}], key=lambda {one}: {one}["{other}"], reverse=True)' if test else f'return sorted({plural}, key=lambda {one}: {one}["{other}"], reverse=True)'),
             ("most", [f"returns the {shown} of the {one} with the largest {other} among the {plural} {where}{which}, or None"],
              f'found = [{one} {loop}{only}]\nif not found:\n    return None\nreturn max(found, key=lambda {one}: {one}["{other}"])["{shown}"]' if test else f'if not {plural}:\n    return None\nreturn max({plural}, key=lambda {one}: {one}["{other}"])["{shown}"]'),
             ("grouped", [f"groups the {plural} {where}{which} by {texts[1]}"], f'groups = {{}}\n{loop}:\n' + (f"    if {test}:\n    " if test else "") + f'    groups.setdefault({one}["{texts[1]}"], []).append({one})\nreturn groups'),
             ("tally", [f"counts the {plural} {where}{which} by {texts[1]}", f"returns a dictionary that counts the {plural} {where}{which} by {texts[1]}"],
              f'counts = {{}}\n{loop}:\n' + (f"    if {test}:\n    " if test else "") + f'    counts[{one}["{texts[1]}"]] = counts.get({one}["{texts[1]}"], 0) + 1\nreturn counts'),
             ("map", [f"returns a dictionary from {shown} to {other} for the {plural} {where}{which}"], f'return {{{one}["{shown}"]: {one}["{other}"] {loop}{only}}}')]
    if test:
        kinds += [("select", [f"returns the {plural} {where}{which}", f"filters the {plural} {where}, keeping those{which}"], f"return [{one} {loop}{only}]")] * 2
        kinds += [("count", [f"counts the {plural} {where}{which}", f"returns the number of {plural} {where}{which}"], f"return sum(1 {loop}{only})"), ("any", [f"checks whether there are {plural}{which} {where}"], f"return any({test} {loop})")]
    name, said_by, body = rng.choice(kinds)
    given = parameters[1] if len(parameters) > 1 else None

    def inputs(rng: random.Random) -> tuple[Any, ...]:
        rows = rows_of(texts, counts, rng)
        return (rows,) if given is None else (rows, rng.randint(2, 60) if given == "limit" else rng.choice(rows)[given])

    return Task(f"code records {plural} {name} {key} {shown if name in ('field', 'most', 'map') else ''} {other if name in ('sum', 'average', 'sorted', 'descending', 'most', 'map') else ''}", rng.choice(said_by),
                f"{name}_{plural}", parameters, body, inputs)


PAIR_CHANGES = [("sums", "the sums of the elements at the same positions", "x + y"), ("products", "the products of the elements at the same positions", "x * y"), ("differences", "the differences of the elements at the same positions", "x - y"),
                ("larger", "the larger of the two elements at each position", "max(x, y)"), ("smaller", "the smaller of the two elements at each position", "min(x, y)"), ("distances", "the absolute differences of the elements at the same positions", "abs(x - y)"),
                ("pairs", "pairs of the elements at the same positions", "(x, y)"), ("averages", "the averages of the elements at the same positions", "(x + y) / 2")]
PAIR_TESTS = [("", "", ""), ("", "", ""), ("first_larger", " where the first is larger", " if x > y"), ("equal", " where both are equal", " if x == y"), ("different", " where they differ", " if x != y"), ("second_even", " where the second is even", " if y % 2 == 0"),
              ("both_positive", " where both are positive", " if x > 0 and y > 0"), ("first_odd", " where the first is odd", " if x % 2 == 1")]
MEMBERS = [("common", "the elements of the first list that are also in the second", "x in b"), ("only", "the elements of the first list that are not in the second", "x not in b")]


def two_lists(rng: random.Random) -> Task:
    def inputs(rng: random.Random) -> tuple[Any, ...]:
        size = rng.randint(3, 6)
        first = [rng.randint(-5, 12) for _ in range(size)]
        return first, [rng.choice([rng.randint(-5, 12), rng.choice(first)]) for _ in range(size)]

    made, said, around = rng.choice([("list", "{x}", "[{c}]"), ("list", "a list of {x}", "[{c}]"), ("sum", "the sum of {x}", "sum({c})"), ("largest", "the largest of {x}, or None", "max([{c}], default=None)"), ("sorted", "{x} in sorted order", "sorted([{c}])"), ("smallest", "the smallest of {x}, or None", "min([{c}], default=None)"),
                                     ("reversed", "{x} in reverse order", "[{c}][::-1]"), ("distinct", "{x} without duplicates, sorted", "sorted(set([{c}]))"), ("count", "the number of {x}", "len([{c}])")])
    if rng.random() < 0.35:
        constants = parts.values(rng)
        key, words_for, test = rng.choice(MEMBERS)
        change = rng.choice([one for one in parts.NUMBER_CHANGES if one.done]) if rng.random() < 0.5 and made != "count" else None
        inside = f"{change.code if change else 'x'} for x in a if {test}"
        what = "returns " + said.replace("{x}", words_for + (f", {rng.choice(change.done)}," if change else ""))
        return Task(f"code members {key} {made} {change.key if change else '-'}", constants.fill(what).rstrip(","), f"{key}_{made}", ["a", "b"], constants.fill("return " + around.replace("{c}", inside)), inputs)
    key, words_for, code = rng.choice(PAIR_CHANGES)
    test_key, test_words, test = rng.choice(PAIR_TESTS)
    if key == "pairs" and made in ("sum",):
        made, said, around = "list", "{x}", "[{c}]"
    what = "returns " + said.replace("{x}", words_for + rng.choice([" of two lists", " in two lists"]) + test_words)
    return Task(f"code positions {key} {made} {test_key}", what, f"{made}_{key}" if made != "list" else key, ["a", "b"], "return " + around.replace("{c}", f"{code} for x, y in zip(a, b){test}"), inputs)


LINE_RESULTS = [("sum", "the sum", "sum({r})"), ("largest", "the largest number", "max({r})"), ("smallest", "the smallest number", "min({r})"), ("average", "the average", "sum({r}) / len({r})"), ("length", "the length", "len({r})"), ("first", "the first number", "{r}[0]"),
                ("last", "the last number", "{r}[-1]"), ("spread", "the difference of the largest and the smallest number", "max({r}) - min({r})"), ("sorted", "a sorted copy", "sorted({r})"), ("reversed", "a reversed copy", "{r}[::-1]"), ("distinct", "the number of different values", "len(set({r}))")]


def tables(rng: random.Random) -> Task:
    """Rows or columns of a table."""
    constants = parts.values(rng)
    columns = rng.random() < 0.4
    line, over = ("column", "zip(*rows)") if columns else ("row", "rows")
    test = rng.choice(parts.NUMBER_TESTS) if rng.random() < 0.35 else None
    if test and rng.random() < 0.6:
        key, said, code = f"count {test.key}", f"how many numbers in it {rng.choice(['pass the test that the number ', 'meet the condition that the number '])}{rng.choice(test.single)}", f"sum(1 for x in {line} if {test.code})"
        what = f"returns for each {line} of a matrix {said}"
        body = f"return [{code} for {line} in {over}]"
    else:
        key, said, code = rng.choice(LINE_RESULTS)
        code = code.replace("{r}", f"{line}")
        if columns and key in ("reversed",):
            code = f"list({line})[::-1]"
        end, tail, around = rng.choice([("", "", "[{c}]"), ("", "", "[{c}]"), ("sum", "the sum of ", "sum([{c}])"), ("max", "the largest of ", "max([{c}])"), ("sorted", "in sorted order ", "sorted([{c}])")])
        if key in ("sorted", "reversed"):
            end, tail, around = "", "", "[{c}]"
        what = f"returns {tail}{said} of each {line} {rng.choice(['of a matrix', 'of a list of lists', 'of a table'])}"
        key = f"{key} {end}"
        body = "return " + around.replace("{c}", f"{code} for {line} in {over}")
    return Task(f"code table {line} {key}", constants.fill(what), f"{line}_{key.split()[0]}s", ["rows"], constants.fill(body), lambda rng: ([parts.numbers_near(rng, 3) for _ in range(rng.randint(2, 4))],))


NEIGHBOURS = [("differences", "the differences between each number and the one before", "y - x"), ("sums", "the sums of neighbouring numbers", "x + y"), ("pairs", "the pairs of neighbouring numbers", "(x, y)"), ("products", "the products of neighbouring numbers", "x * y"),
              ("larger", "the larger of each two neighbouring numbers", "max(x, y)"), ("distances", "the absolute differences of neighbouring numbers", "abs(y - x)"), ("smaller", "the smaller of each two neighbouring numbers", "min(x, y)")]
NEIGHBOUR_TESTS = [("", "", ""), ("rising", " where the second is larger", " if y > x"), ("falling", " where the second is smaller", " if y < x"), ("equal", " where both are equal", " if x == y"), ("even_first", " where the first is even", " if x % 2 == 0")]
RUNNING = [("sums", "the running sums", "total = 0", "total += x", "total"), ("products", "the running products", "total = 1", "total *= x", "total"), ("counts", "the running counts", "total = 0", "total += 1", "total")]


def neighbours(rng: random.Random) -> Task:
    """What lies side by side, what runs along, parts of equal size."""
    constants = parts.values(rng)
    kind = rng.random()
    where = rng.choice(["in a list", "of a list", "in a list of numbers"])
    if kind < 0.4:
        key, said, code = rng.choice(NEIGHBOURS)
        test_key, test_said, test = rng.choice(NEIGHBOUR_TESTS)
        made, around_said, around = rng.choice([("list", "{x}", "[{c}]"), ("list", "a list of {x}", "[{c}]"), ("sum", "the sum of {x}", "sum({c})"), ("largest", "the largest of {x}, or None", "max([{c}], default=None)"), ("count", "the number of {x}", "len([{c}])"), ("smallest", "the smallest of {x}, or None", "min([{c}], default=None)")])
        if key == "pairs" and made != "count":
            made, around_said, around = "list", "{x}", "[{c}]"
        what = "returns " + around_said.replace("{x}", f"{said} {where}{test_said}")
        return Task(f"code neighbours {key} {test_key} {made}", what, f"neighbour_{key}", ["numbers"], "return " + around.replace("{c}", f"{code} for x, y in zip(numbers, numbers[1:]){test}"), parts.a_list)
    if kind < 0.65:
        key, said, begin, step, value = rng.choice(RUNNING)
        test = rng.choice(parts.NUMBER_TESTS) if rng.random() < 0.75 or key == "counts" else None
        source = NUMBER_SOURCES[0]
        what = f"returns a list of {said} of {elements(source, where, test, None, rng)}"
        inside = f"    if {test.code}:\n        {step}\n        result.append({value})" if test else f"    {step}\n    result.append({value})"
        return Task(f"code running {key} {test.key if test else '-'}", constants.fill(what), f"running_{key}", ["numbers"], constants.fill(f"{begin}\nresult = []\nfor x in numbers:\n{inside}\nreturn result"), parts.a_list)
    size = rng.randint(2, 4)
    given = rng.random() < 0.4
    shown, said_size = ("size", "of a given size") if given else (str(size), f"of {size} elements")
    parameters = ["items", "size"] if given else ["items"]
    inputs = (lambda rng: (parts.numbers_near(rng), rng.randint(1, 4))) if given else parts.a_list
    if kind < 0.82:
        key, said, around = rng.choice([("parts", "splits a list into parts {s}", "items[i:i + {n}]"), ("part_sums", "returns the sums of the parts {s} of a list", "sum(items[i:i + {n}])"), ("part_max", "returns the largest number of each part {s} of a list", "max(items[i:i + {n}])"), ("part_first", "returns the first element of each part {s} of a list", "items[i]"),
                                        ("part_reversed", "splits a list into parts {s} and reverses each part", "items[i:i + {n}][::-1]"), ("part_min", "returns the smallest number of each part {s} of a list", "min(items[i:i + {n}])")])
        return Task(f"code {key} {given}", said.replace("{s}", said_size), key, parameters, f"return [{around.replace('{n}', shown)} for i in range(0, len(items), {shown})]", inputs)
    key, said, around = rng.choice([("windows", "returns all windows {s} that slide over a list", "items[i:i + {n}]"), ("window_sums", "returns the sums of all windows {s} that slide over a list", "sum(items[i:i + {n}])"), ("window_max", "returns the largest number of each window {s} that slides over a list", "max(items[i:i + {n}])"),
                                    ("window_averages", "returns the averages of all windows {s} that slide over a list", "sum(items[i:i + {n}]) / {n}"), ("window_min", "returns the smallest number of each window {s} that slides over a list", "min(items[i:i + {n}])")])
    return Task(f"code {key} {given}", said.replace("{s}", said_size), key, parameters, f"return [{around.replace('{n}', shown)} for i in range(len(items) - {shown} + 1)]", inputs)


FORMS = {"YYYY-MM-DD": ("-", "ymd"), "DD.MM.YYYY": (".", "dmy"), "MM/DD/YYYY": ("/", "mdy"), "DD/MM/YYYY": ("/", "dmy"), "YYYY/MM/DD": ("/", "ymd"), "DD-MM-YYYY": ("-", "dmy"), "YYYY.MM.DD": (".", "ymd")}
PART_NAMES = {"y": "year", "m": "month", "d": "day"}


def dates(rng: random.Random) -> Task:
    """Dates and times as strings: from one form to another, or a part of them."""
    source = rng.choice(list(FORMS))
    gap, order = FORMS[source]
    names = [PART_NAMES[letter] for letter in order]
    split = f'{", ".join(names)} = date.split("{gap}")'

    def inputs(rng: random.Random) -> tuple[str]:
        shown = {"y": f"{rng.randint(1950, 2035)}", "m": f"{rng.randint(1, 12):02d}", "d": f"{rng.randint(1, 28):02d}"}
        return (gap.join(shown[letter] for letter in order),)

    if rng.random() < 0.55:
        target = rng.choice([form for form in FORMS if form != source])
        other_gap, other = FORMS[target]
        made = other_gap.join("{" + PART_NAMES[letter] + "}" for letter in other)
        what = rng.choice(["converts a date from {a} to {b}", "takes a date string in the form {a} and returns it as {b}", "changes a date written {a} to the form {b}"]).format(a=source, b=target)
        return Task(f"code date {source} {target}", what, "convert_date", ["date"], f'{split}\nreturn f"{made}"', inputs)
    part = rng.choice(names)
    kind, said, code = rng.choice([("number", "as a number", f"int({part})"), ("string", "as a string", part), ("next", "plus 1 as a number", f"int({part}) + 1"), ("even", "and checks whether it is even", f"int({part}) % 2 == 0")])
    what = rng.choice([f"takes a date string in the form {source} and returns its {part} {said}", f"returns the {part} of a date written {source} {said}"]).replace("returns its " + part + " and checks", "takes its " + part + " and checks").replace(f"returns the {part} of a date written {source} and checks", f"takes the {part} of a date written {source} and checks")
    return Task(f"code date part {source} {part} {kind}", what, f"{part}_of", ["date"], f"{split}\nreturn {code}", inputs)
