"""Records from plain sentences as JSON: with the keys that are asked for, in the shape that is asked for."""

from __future__ import annotations

import json
import random
from typing import Any

from train import json_requests as ask_for
from train import words
from train.held import Answer, Held
from train.json_records import KINDS, Field, Kind, choice, integer, price
from train.json_texts import as_text

Exercise = tuple[str, str, Any]
# Fields that one sentence could state as well as the other.
ALIKE = [{"hobby", "hobbies"}, {"subject", "subjects"}]
PLURALS = {"person": "people", "company": "companies"}


def told_fields(kind: Kind, count: int, rng: random.Random) -> list[Field]:
    """Different fields of a kind; no two of them share a key."""
    found: dict[str, Field] = {}
    for field in rng.sample(kind.fields, len(kind.fields)):
        if field.key != kind.lead.key and not any(field.key in pair and pair & set(found) for pair in ALIKE):
            found.setdefault(field.key, field)
    chosen = list(found.values())[:count]
    if rng.random() < 0.4:
        chosen.sort(key=lambda field: ("age", "job", "city").index(field.key) if field.key in ("age", "job", "city") else 3)
    return chosen


def asked_key(field: Field, taken: set[str], rng: random.Random) -> str:
    """The key under which a field is asked for: the usual one, another, or one of them in another style."""
    options = [key for key in ([field.key] if rng.random() < 0.6 or not field.others else field.others) if key not in taken]
    key = rng.choice(options) if options else field.key + "_value"
    if "_" in key and rng.random() < 0.25:
        first, *rest = key.split("_")
        key = first + "".join(word.capitalize() for word in rest)
    taken.add(key)
    return key


def dumped(record: Any, pretty: bool = False) -> str:
    return json.dumps(record, ensure_ascii=False, indent=2 if pretty else None)


class Told:
    """One record that was told: its kind, its lead value, its other fields in the order of the text, and the text."""

    def __init__(self, kind: Kind, fields: list[Field], rng: random.Random, lead: Any = None) -> None:
        self.kind = kind
        self.lead = lead if lead is not None else kind.lead.make(rng)
        self.told = [(field, field.make(rng)) for field in fields]
        self.text = as_text(kind, self.lead, self.told, rng)

    def all(self) -> list[tuple[Field, Any]]:
        return [(self.kind.lead, self.lead)] + self.told

    def usual(self) -> dict[str, Any]:
        return {field.key: value for field, value in self.all()}


def chosen_pairs(told: Told, rng: random.Random) -> dict[str, Any]:
    """What is asked for: all or some fields, under keys of the asker's choice, now and then one that is not told."""
    pairs = told.all()
    if rng.random() < 0.35:
        rng.shuffle(pairs)
    if len(pairs) > 2 and rng.random() < 0.35:
        pairs = pairs[:rng.randint(1, len(pairs) - 1)]
    taken: set[str] = set()
    record = {asked_key(field, taken, rng): value for field, value in pairs}
    if rng.random() < 0.12:
        known = {field.key for field, _ in told.all()} | taken
        others = [field.key for field in told.kind.fields if field.key not in known and not known & set(field.others) and not any(field.key in pair and pair & known for pair in ALIKE)]
        if others:
            items = list(record.items())
            items.insert(rng.randint(0, len(items)), (rng.choice(others), None))
            record = dict(items)
    if rng.random() < 0.06:
        style = rng.choice([str.capitalize, str.upper])
        record = {style(key): value for key, value in record.items()}
    return record


def extraction(rng: random.Random) -> Exercise:
    """A request that names the keys, the JSON text that answers it, and the record itself."""
    kind = rng.choice(KINDS)
    told = Told(kind, told_fields(kind, rng.randint(1, 5), rng), rng)
    record = chosen_pairs(told, rng)
    if rng.random() < 0.14 and None not in record.values():
        ask = ask_for.with_form(ask_for.form_of(record, rng), rng)
    elif rng.random() < 0.1 and any("_" in key for key in record):
        ask = ask_for.with_keys(words.listing([key.replace("_", " ") for key in record]), rng)
    else:
        ask = ask_for.with_keys(ask_for.named(list(record), rng), rng)
    pretty = rng.random() < 0.04
    return ask_for.laid_out(ask, told.text, rng, pretty), dumped(record, pretty), record


def open_extraction(rng: random.Random) -> Exercise:
    """No keys are named: the usual ones are taken, in the order of the text."""
    kind = rng.choice(KINDS)
    told = Told(kind, told_fields(kind, rng.randint(1, 4), rng), rng)
    record = told.usual()
    pretty = rng.random() < 0.03
    return ask_for.laid_out(ask_for.with_open_keys(rng), told.text, rng, pretty), dumped(record, pretty), record


GROUPS = ["details", "info", "data", "profile", "more", "facts", "properties", "meta"]


def nested_names(outer: list[str], group: str, inner: list[str], rng: random.Random) -> str:
    shown = rng.choice(["{g} (with {i})", "{g} (an object with {i})", "{g}, which is an object with {i}", "{g}: {{{c}}}", "a nested object {g} with {i}", "{g} containing {i}"]).format(
        g=group, i=words.listing(inner), c=", ".join(inner))
    return words.listing(outer + [shown]) if outer else shown


def nested_extraction(rng: random.Random) -> Exercise:
    """Some fields belong into an object inside, or two records stand side by side."""
    if rng.random() < 0.4:
        return paired_extraction(rng)
    kind = rng.choice(KINDS)
    told = Told(kind, told_fields(kind, rng.randint(2, 4), rng), rng)
    taken: set[str] = set()
    items = [(asked_key(field, taken, rng), value) for field, value in told.all()]
    cut = rng.randint(1, len(items) - 1)
    inner = dict(items[cut:])
    group = "contact" if set(inner) <= {"email", "phone"} else rng.choice([name for name in GROUPS if name not in taken])
    record = {**dict(items[:cut]), group: inner}
    if rng.random() < 0.25:
        ask = ask_for.with_form(nested_form(record), rng)
    else:
        ask = ask_for.with_keys(nested_names([key for key, _ in items[:cut]], group, list(inner), rng), rng)
    return ask_for.laid_out(ask, told.text, rng), dumped(record), record


def nested_form(record: dict[str, Any]) -> str:
    return "{" + ", ".join(f'"{key}": ' + (nested_form(value) if isinstance(value, dict) else "...") for key, value in record.items()) + "}"


def paired_extraction(rng: random.Random) -> Exercise:
    """Two records of different kinds, each under the name of its kind."""
    first, second = rng.sample(KINDS[1:], 2)
    while first.name == second.name:
        first, second = rng.sample(KINDS[1:], 2)
    tolds = [Told(kind, told_fields(kind, rng.randint(1, 2), rng), rng) for kind in (first, second)]
    record = {told.kind.name.replace(" ", "_"): told.usual() for told in tolds}
    parts = [f"{name} (with {words.listing(list(inner))})" for name, inner in record.items()]
    ask = ask_for.with_form(nested_form(record), rng) if rng.random() < 0.3 else rng.choice(["Return JSON with two objects: {}", "Make a JSON object with {}", "Extract {} as nested JSON", "Give me JSON with the objects {}"]).format(words.listing(parts))
    return ask_for.laid_out(ask, " ".join(told.text for told in tolds), rng), dumped(record), record


def rows_extraction(rng: random.Random) -> Exercise:
    """Several records of a kind become a list of objects, sometimes under a key."""
    kind = rng.choice(KINDS)
    fields = told_fields(kind, rng.choice([1, 1, 2, 2, 3]), rng)
    tolds: list[Told] = []
    for _ in range(rng.choice([2, 2, 3, 3, 4])):
        told = Told(kind, fields, rng)
        if all(told.lead != other.lead for other in tolds):
            tolds.append(told)
    text = rng.choice([" ", " ", "\n"]).join(told.text for told in tolds)
    plural = PLURALS.get(kind.name, words.plural(kind.name.replace(" ", "_")))
    if rng.random() < 0.25:
        rows = [told.usual() for told in tolds]
        ask = rng.choice(["Turn this into a JSON list", "Make a JSON array of this", "Convert this to a JSON list of objects", "Write this as a JSON array", "Extract everyone as a JSON list" if kind.pronoun == "they" else "Extract all of them as a JSON list"])
        return ask_for.laid_out(ask, text, rng), dumped(rows), rows
    taken: set[str] = set()
    pairs = [(field, asked_key(field, taken, rng)) for field in [kind.lead] + fields]
    rows = [{key: dict((one.key, value) for one, value in told.all())[field.key] for field, key in pairs} for told in tolds]
    keys = ask_for.named([key for _, key in pairs], rng)
    if rng.random() < 0.3:
        ask = rng.choice(["Return a JSON object with the key {p}, a list of objects with {k}", "Make JSON with a list {p} whose objects have {k}", "JSON with a key {p}: an array of objects with {k}",
                          "Give me a JSON object with {p} as a list of objects with the keys {k}"]).format(p=plural, k=keys)
        return ask_for.laid_out(ask, text, rng), dumped({plural: rows}), {plural: rows}
    ask = rng.choice(["Return a JSON list of objects with {k}", "Return a JSON array of objects with the keys {k}", "Make a JSON list, one object each, with {k}", "Extract a JSON array with {k} for each", "As a JSON list of objects with {k}",
                      "Give me a JSON array; each object has {k}", "List all {p} as JSON objects with {k}", "Extract all {p} as a JSON array with the keys {k}"]).format(k=keys, p=plural.replace("_", " "))
    return ask_for.laid_out(ask, text, rng), dumped(rows), rows


LABELS = """name owner speed price weight height width colour size status level score rank code city country date time number type material brand model
year month day temperature pressure length area team captain winner language title author editor room floor seat table phone email address total discount
balance username role department manager priority version first_name last_name zip_code start_date end_date user_id file_name max_speed birth_year sender receiver subject amount currency
category capital river planet depth voltage power capacity duration distance shape taste smell sound target source region district station platform coach driver guide""".split()
COUNTED = frozenset("speed price weight height width score year total number area length max_speed birth_year amount depth voltage power capacity duration distance pressure temperature".split())


def labelled_value(label: str, rng: random.Random) -> Any:
    """A value that might stand under the label; any will do."""
    makers = [words.any_full_name, words.any_first_name, words.any_city, words.any_code, words.iso_date, words.clock, integer(0, 999), integer(1, 20), price, words.any_email, words.any_phone,
              choice(words.COLOURS), choice(words.ADJECTIVES), words.invented_word, choice(words.THINGS), lambda rng: f"{rng.choice(words.ADJECTIVES)} {rng.choice(words.THINGS)}"]
    if label in COUNTED:
        makers = [integer(0, 999), price, integer(1, 50), integer(1000, 99999)]
    return rng.choice(makers)(rng)


SHAPES = ["The {k} is {v}.", "Its {k} is {v}.", "{k}: {v};", "{v} is the {k}.", "We noted {v} as the {k}.", "{k} = {v},", "The {k} was given as {v}.", "For the {k} we have {v}.", "{k}: {v}.", "The {k} should be {v}.", "As {k}, take {v}."]


SENTENCES = [shape for shape in SHAPES if shape[-1] == "."]


def said(shape: str, label: str, value: Any) -> str:
    """A label may be written with a capital letter, a value stays as it is."""
    text = shape.format(k=label.replace("_", " "), v=value)
    return text if shape.startswith("{v}") or shape[-1] != "." else text[0].upper() + text[1:]


def labelled_extraction(rng: random.Random) -> Exercise:
    """Facts under labels of any kind, so that no key and no value can be taken for granted."""
    chosen = rng.sample(LABELS, rng.randint(2, 6))
    record = {label: labelled_value(label, rng) for label in chosen}
    one_shape = rng.choice(SHAPES)
    mixed = rng.random() < 0.4
    sentences = [said(rng.choice(SENTENCES) if mixed else one_shape, label, value) for label, value in record.items()]
    text = " ".join(sentences).rstrip(",;")
    keys = chosen[:]
    if rng.random() < 0.5:
        rng.shuffle(keys)
    if len(keys) > 2 and rng.random() < 0.5:
        keys = keys[:rng.randint(1, len(keys) - 1)]
    wanted = {key: record[key] for key in keys}
    kind = rng.random()
    if kind < 0.25:
        return ask_for.laid_out(ask_for.with_open_keys(rng), text, rng), dumped(record), record
    ask = ask_for.with_keys(ask_for.named(keys, rng), rng) if kind < 0.8 else ask_for.with_form(ask_for.form_of(wanted, rng), rng)
    return ask_for.laid_out(ask, text, rng), dumped(wanted), wanted


def listing_task(rng: random.Random) -> Exercise:
    """A JSON list of words or numbers, sometimes under a key."""
    if rng.random() < 0.3:
        items: list[Any] = [rng.randint(0, 999) for _ in range(rng.randint(2, 7))]
    else:
        items = rng.sample(rng.choice([words.FOODS, words.THINGS, words.ANIMALS, words.FIRST_NAMES, words.CITIES, words.COLOURS, words.JOBS]), rng.randint(2, 7))
    shown = [str(item) for item in items]
    text = rng.choice([", ".join(shown), words.listing(shown), "\n".join(shown), "\n".join("- " + one for one in shown), " ".join(shown)])
    ask = rng.choice(["Return these as a JSON list:", "Make a JSON array of", "Write a JSON list with", "As a JSON array:", "Convert to a JSON list:", "JSON array:", "Put these into a JSON list:", "Give me a JSON list of", "Turn this into a JSON array:"])
    gap = "\n" if "\n" in text else " "
    if rng.random() < 0.2:
        key = rng.choice(["items", "values", "list", "names", "data", "entries"])
        return f"Make a JSON object with the key {key} holding this list:{gap}{text}", dumped({key: items}), {key: items}
    return ask + gap + text, dumped(items), items


def plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def writing_task(rng: random.Random) -> Exercise:
    """A record given as key and value pairs, or as a table, to be written as JSON."""
    kind = rng.choice(KINDS)
    fields = [kind.lead] + told_fields(kind, rng.randint(1, 4), rng)
    record = {field.key: field.make(rng) for field in fields}
    head = rng.choice(["Write this as JSON:", "Convert to JSON:", "Make a JSON object of this:", "Turn this into JSON:", "As JSON:", "Give me this as JSON:"])
    if rng.random() < 0.25:
        rows = [{field.key: field.make(rng) for field in fields if not isinstance(record[field.key], list)} for _ in range(rng.randint(1, 4))]
        gap = rng.choice([",", ", ", " | "])
        table = "\n".join([gap.join(rows[0])] + [gap.join(plain(value).replace(",", "") for value in row.values()) for row in rows])
        rows = [{key: value.replace(",", "") if isinstance(value, str) else value for key, value in row.items()} for row in rows]
        ask = rng.choice(["Convert this CSV to JSON:", "Turn this table into a JSON list:", "Make a JSON array of these rows:", "CSV to JSON:"])
        return f"{ask}\n{table}", dumped(rows), rows
    shape = rng.choice(["{}: {}", "{} = {}", "{}: {}", "{} - {}"])
    return head + "\n" + "\n".join(shape.format(key, plain(value)) for key, value in record.items()), dumped(record), record


BOUGHT = ["I bought {}.", "We need {}.", "The basket holds {}.", "Please order {}.", "{N} bought {}.", "Shopping list: {}.", "In the box there are {}.", "The store sold {} today.", "Add {} to the cart."]


def counted_things(rng: random.Random) -> Exercise:
    """Things with their counts: a list of objects, or an object from thing to count."""
    things = rng.sample(words.FRUITS + words.THINGS + words.ANIMALS, rng.randint(2, 4))
    counts = [rng.randint(2, 30) for _ in things]
    prices = [rng.randint(1, 60) for _ in things] if rng.random() < 0.25 else None
    names = [words.plural(one) for one in things]
    shown = [f"{words.number_name(count) if count < 13 and rng.random() < 0.3 else count} {name}" + (f" at ${prices[place]} each" if prices else "") for place, (count, name) in enumerate(zip(counts, names))]
    text = rng.choice(BOUGHT).replace("{}", words.listing(shown)).replace("{N}", words.any_first_name(rng))
    if not prices and rng.random() < 0.35:
        record: Any = dict(zip(names, counts))
        ask = rng.choice(["Make a JSON object from item to count", "Return a JSON object that maps each item to its quantity", "JSON with the items as keys and the counts as values", "As JSON, item names as keys and numbers as values"])
        return ask_for.laid_out(ask, text, rng), dumped(record), record
    item, quantity = rng.choice([("item", "quantity"), ("item", "count"), ("name", "quantity"), ("product", "amount"), ("name", "count"), ("item", "number")])
    rows = [{item: name, quantity: count, **({"price": prices[place]} if prices else {})} for place, (name, count) in enumerate(zip(names, counts))]
    keys = ask_for.named(list(rows[0]), rng)
    if rng.random() < 0.3:
        return ask_for.laid_out(f"Return a JSON object with the key items, a list of objects with {keys}", text, rng), dumped({"items": rows}), {"items": rows}
    ask = rng.choice(["Return a JSON list of objects with {k}", "Extract a JSON array with {k} for each item", "As a JSON list with the keys {k}", "Turn this into a JSON array of objects with {k}"]).format(k=keys)
    return ask_for.laid_out(ask, text, rng), dumped(rows), rows


def bare_values(rng: random.Random) -> Exercise:
    """Values one after another, keys named in the request."""
    kind = rng.choice(KINDS)
    fields = [kind.lead] + told_fields(kind, rng.randint(1, 4), rng)
    taken: set[str] = set()
    record = {asked_key(field, taken, rng): value for field in fields if not isinstance(value := field.make(rng), (list, bool))}
    text = rng.choice([", ", "; ", " / ", "\n", " | "]).join(str(value).replace(",", "") for value in record.values())
    record = {key: value.replace(",", "") if isinstance(value, str) else value for key, value in record.items()}
    return ask_for.laid_out(ask_for.with_keys(ask_for.named(list(record), rng), rng), text, rng), dumped(record), record


MAKERS = [(extraction, 46), (open_extraction, 20), (nested_extraction, 10), (rows_extraction, 11), (labelled_extraction, 7), (listing_task, 3), (writing_task, 3), (counted_things, 4), (bare_values, 3)]


def exercise(rng: random.Random) -> Exercise:
    """Any of the above, extraction most of all."""
    return rng.choices([make for make, _ in MAKERS], weights=[weight for _, weight in MAKERS])[0](rng)


def key_of(question: str) -> str:
    return "json " + question


def values_of(value: Any) -> list[str]:
    """All values inside, whatever they are called."""
    if isinstance(value, dict):
        return sorted(one for inner in value.values() for one in values_of(inner))
    if isinstance(value, list):
        return sorted(one for inner in value for one in values_of(inner))
    return [json.dumps(value)]


def held_of(question: str, record: Any, is_open: bool) -> Held:
    def right(answer: Answer) -> bool:
        try:
            found = json.loads(answer.text)
        except ValueError:
            return False
        return type(found) is type(record) and (found == record or is_open and values_of(found) == values_of(record))

    return Held(key_of(question), [{"role": "user", "content": question}], right)


def held_json(rng: random.Random) -> Held:
    """Any exercise. Where the keys are left to the model, the values count."""
    is_open = rng.random() < 0.2
    question, _, record = (open_extraction if is_open else extraction if rng.random() < 0.6 else exercise)(rng)
    return held_of(question, record, is_open or not all(key in question or key.replace("_", " ") in question for key in keys_of(record)))


def keys_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return list(value) + [key for inner in value.values() for key in keys_of(inner)]
    return [key for inner in value for key in keys_of(inner)] if isinstance(value, list) else []
