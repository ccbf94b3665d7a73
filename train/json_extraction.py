"""Extraction of records from plain sentences as JSON with the keys that are asked for."""

from __future__ import annotations

import json
import random
from typing import Any, Callable

from train import words

Make = Callable[[random.Random], Any]
# A field: its name, how a value is made, and sentences (or parts of one) that state it. {s} is the subject.
Field = tuple[str, Make, list[str]]


def integer(low: int, high: int) -> Make:
    return lambda rng: rng.randint(low, high)


def choice(options: list[str]) -> Make:
    return lambda rng: rng.choice(options)


def price(rng: random.Random) -> Any:
    return rng.randint(1, 200) if rng.random() < 0.5 else rng.randint(100, 9999) / 100


def some(options: list[str], low: int = 2, high: int = 4) -> Make:
    return lambda rng: rng.sample(options, rng.randint(low, high))


def truth(rng: random.Random) -> bool:
    return rng.random() < 0.5


def thing(rng: random.Random) -> str:
    return (rng.choice(words.ADJECTIVES) + " " if rng.random() < 0.4 else "") + rng.choice(words.THINGS)


def title(rng: random.Random) -> str:
    return f"The {rng.choice(words.ADJECTIVES).capitalize()} {rng.choice(words.ANIMALS + words.THINGS).capitalize()}"


# Each kind: what it is called, its subject ({field} names a field that every record of the kind has), its fields.
KINDS: list[tuple[str, str, list[Field]]] = [
    ("person", "{name}", [
        ("name", words.full_name, []),
        ("age", integer(5, 90), ["{s} is {v} years old.", "{s}, aged {v}, is well known here.", "At the age of {v}, {s} is doing well."]),
        ("city", words.city, ["{s} lives in {v}.", "{s} is from {v}.", "The home of {s} is in {v}."]),
        ("job", choice(words.JOBS), ["{s} works as a {v}.", "{s} is a {v} by trade.", "As a {v}, {s} is busy all day."]),
        ("hobby", choice(words.HOBBIES), ["{s} likes {v}.", "In the evening {s} enjoys {v}.", "{s} spends weekends on {v}."]),
        ("email", words.email, ["You can write to {v}.", "The email of {s} is {v}.", "Mail goes to {v}."]),
        ("phone", words.phone, ["Call {v} to reach {s}.", "The phone number is {v}.", "{s} can be called at {v}."]),
        ("languages", some(["English", "French", "German", "Spanish", "Italian", "Polish", "Hindi", "Arabic"], 1, 3), ["{s} speaks {v}."]),
    ]),
    ("product", "the {product}", [
        ("product", thing, []),
        ("price", price, ["{S} costs {v} dollars.", "You pay {v} dollars for {s}.", "The price is {v} dollars."]),
        ("colour", choice(words.COLOURS), ["{S} is {v}.", "It comes in {v}.", "Its colour is {v}."]),
        ("quantity", integer(1, 99), ["There are {v} in stock.", "We have {v} of them.", "{v} pieces are left."]),
        ("code", words.code, ["Its code is {v}.", "Order it under {v}.", "The number on the label is {v}."]),
        ("maker", words.company, ["It is made by {v}.", "{v} builds it.", "The maker is {v}."]),
        ("in_stock", truth, ["{S} is {in stock|out of stock}.", "It is {available now|sold out}."]),
    ]),
    ("order", "order {order_id}", [
        ("order_id", words.code, []),
        ("customer", words.full_name, ["{S} was placed by {v}.", "The customer is {v}.", "{v} made this order."]),
        ("items", some(words.FOODS + words.THINGS, 1, 4), ["It contains {v}.", "The items are {v}.", "{S} is for {v}."]),
        ("total", price, ["The total is {v} dollars.", "It comes to {v} dollars.", "{S} costs {v} dollars in all."]),
        ("date", words.iso_date, ["It was ordered on {v}.", "The date is {v}.", "We received it on {v}."]),
        ("city", words.city, ["It goes to {v}.", "Send it to {v}.", "The parcel is for an address in {v}."]),
        ("paid", truth, ["It is {already paid|not paid yet}.", "The bill is {paid|still open}."]),
    ]),
    ("event", "the {event}", [
        ("event", choice(["concert", "meeting", "workshop", "party", "lecture", "match", "wedding", "picnic", "exhibition", "race", "interview"]), []),
        ("date", words.date, ["{S} is on {v}.", "It takes place on {v}.", "Mark {v} for {s}."]),
        ("time", words.clock, ["It starts at {v}.", "{S} begins at {v}.", "Be there at {v}."]),
        ("city", words.city, ["It will be held in {v}.", "{S} is in {v}.", "The place is {v}."]),
        ("host", words.full_name, ["{v} is the host.", "It is organised by {v}.", "{v} invites you."]),
        ("guests", integer(5, 400), ["{v} guests are expected.", "There will be {v} people.", "There is room for {v} people."]),
    ]),
    ("book", "{title}", [
        ("title", title, []),
        ("author", words.full_name, ["{S} was written by {v}.", "The author is {v}.", "{v} wrote {s}."]),
        ("year", integer(1900, 2025), ["It came out in {v}.", "{S} was published in {v}.", "The first edition is from {v}."]),
        ("pages", integer(40, 900), ["It has {v} pages.", "{S} is {v} pages long.", "It runs to {v} pages."]),
        ("genre", choice(["mystery", "fantasy", "history", "poetry", "travel", "romance", "adventure", "science"]), ["It is a {v} book.", "The genre is {v}."]),
    ]),
    ("pet", "{name}", [
        ("name", words.first_name, []),
        ("animal", choice(words.ANIMALS), ["{s} is a {v}.", "{s}, a {v}, is very friendly."]),
        ("age", integer(1, 18), ["{s} is {v} years old.", "{s} has just turned {v}."]),
        ("colour", choice(words.COLOURS), ["Its fur is {v}.", "{s} is {v}.", "The colour is {v}."]),
        ("owner", words.first_name, ["{s} belongs to {v}.", "The owner is {v}.", "{v} takes care of {s}."]),
        ("weight_kg", integer(1, 60), ["{s} weighs {v} kg.", "The weight is {v} kg."]),
    ]),
    ("flight", "flight {flight}", [
        ("flight", words.code, []),
        ("from", words.city, ["{S} leaves from {v}.", "It starts in {v}.", "You board in {v}."]),
        ("to", words.city, ["It flies to {v}.", "{S} lands in {v}.", "The destination is {v}."]),
        ("departure", words.clock, ["It departs at {v}.", "The departure is at {v}."]),
        ("gate", integer(1, 60), ["Go to gate {v}.", "The gate is number {v}."]),
        ("seats", integer(20, 400), ["There are {v} seats.", "{v} people can fly with it."]),
    ]),
    ("weather report", "{city}", [
        ("city", words.city, []),
        ("temperature", integer(-10, 38), ["It is {v} degrees in {s}.", "The temperature in {s} is {v} degrees."]),
        ("sky", choice(["sunny", "cloudy", "rainy", "foggy", "clear", "stormy", "snowy"]), ["The sky over {s} is {v}.", "It is {v} in {s}."]),
        ("wind_kmh", integer(0, 90), ["The wind blows at {v} km/h.", "Wind: {v} km/h."]),
        ("humidity", integer(20, 100), ["Humidity is {v} percent.", "The air has {v} percent humidity."]),
        ("day", choice(words.DAYS), ["This is the report for {v}.", "On {v} we measured this."]),
    ]),
    ("recipe", "the {dish}", [
        ("dish", choice(["soup", "salad", "pancakes", "stew", "omelette", "pie", "curry", "risotto", "sandwich", "pizza"]), []),
        ("ingredients", some(words.FOODS, 2, 5), ["For {s} you need {v}.", "The ingredients are {v}.", "Take {v}."]),
        ("minutes", integer(5, 120), ["It takes {v} minutes.", "{S} is ready in {v} minutes.", "Cook for {v} minutes."]),
        ("servings", integer(1, 10), ["It serves {v}.", "It is enough for {v} people."]),
        ("difficulty", choice(["easy", "medium", "hard"]), ["The difficulty is {v}.", "It is rated {v}."]),
    ]),
    ("employee", "{name}", [
        ("name", words.full_name, []),
        ("company", words.company, ["{s} works for {v}.", "The employer of {s} is {v}."]),
        ("position", choice(words.JOBS), ["The position is {v}.", "{s} was hired as a {v}."]),
        ("salary", integer(20, 120), ["The salary is {v} thousand.", "{s} earns {v} thousand a year."]),
        ("start_year", integer(1990, 2025), ["{s} started in {v}.", "{s} joined in {v}."]),
        ("remote", truth, ["{s} works {from home|in the office}."]),
    ]),
    ("car", "the {brand}", [
        ("brand", choice(["Toyota", "Ford", "Honda", "Fiat", "Volvo", "Audi", "Mazda", "Kia", "Skoda", "Opel", "Tesla"]), []),
        ("year", integer(1985, 2025), ["{S} was built in {v}.", "It is from {v}."]),
        ("colour", choice(words.COLOURS), ["It is painted {v}.", "{S} is {v}.", "Its colour is {v}."]),
        ("km", integer(1000, 250000), ["It has run {v} km.", "{v} km are on the clock."]),
        ("owner", words.full_name, ["It belongs to {v}.", "The owner is {v}."]),
        ("price", integer(500, 60000), ["It costs {v} euros.", "The seller wants {v} euros."]),
    ]),
    ("house", "the house", [
        ("street", lambda rng: f"{rng.choice(words.STREETS)} Street", ["{S} is on {v}.", "It stands on {v}."]),
        ("number", integer(1, 200), ["The house number is {v}.", "Look for number {v}."]),
        ("city", words.city, ["It is in {v}.", "You find it in {v}."]),
        ("rooms", integer(1, 12), ["It has {v} rooms.", "There are {v} rooms."]),
        ("garden", truth, ["It {has a garden|has no garden}.", "There is {a garden|no garden}."]),
        ("rent", integer(300, 4000), ["The rent is {v} a month.", "You pay {v} a month."]),
    ]),
]
ASK = ["Extract the {keys} as JSON.", "Return JSON with the keys {keys}.", "Give me a JSON object with {keys}.", "Read the text and answer with JSON. Keys: {keys}.",
       "From the text, extract {keys} as a JSON object.", "Answer only with JSON: {keys}.", "Turn this into JSON with the fields {keys}."]
FORM_ASK = ["Extract the data as JSON of this form: {form}", "Fill in this form from the text: {form}", "Return JSON like {form}"]


def stated(field: Field, value: Any, subject: str, rng: random.Random) -> str:
    """A sentence that says what the field holds."""
    sentence = rng.choice(field[2])
    if isinstance(value, bool):
        head, rest = sentence.split("{", 1) if "|" in sentence.split("}")[0] else sentence.rsplit("{", 1)
        options, tail = rest.split("}", 1)
        yes, no = options.split("|")
        sentence = head + (yes if value else no) + tail
        shown = ""
    elif isinstance(value, list):
        shown = words.listing(value)
    else:
        shown = str(value)
    sentence = sentence.replace("{s}", subject).replace("{S}", subject[0].upper() + subject[1:]).replace("{v}", shown)
    return (sentence[0].upper() + sentence[1:]).replace(" a a", " an a").replace(" a e", " an e").replace(" a o", " an o").replace(" a i", " an i")


def stated_choice(field: Field, value: Any, subject: str, rng: random.Random) -> str:
    """As stated(), with the subject put in before the two sides of a yes-or-no sentence are looked for."""
    name, make, sentences = field
    ready = [one.replace("{s}", subject).replace("{S}", subject[0].upper() + subject[1:]) for one in sentences]
    return stated((name, make, ready), value, subject, rng)


def type_word(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, list):
        return "list"
    return "string"


def form_of(record: dict[str, Any]) -> str:
    return "{" + ", ".join(f'"{key}": {type_word(value)}' for key, value in record.items()) + "}"


def record_text(kind: tuple[str, str, list[Field]], rng: random.Random) -> tuple[str, dict[str, Any], list[str]]:
    """A text, what it states, and fields of the kind that it does not state."""
    _, subject, fields = kind
    values: dict[str, Any] = {}
    lead = [field for field in fields if not field[2]]
    rest = [field for field in fields if field[2]]
    for field in lead:
        values[field[0]] = field[1](rng)
    named = subject.format(**values)
    told = rng.sample(rest, rng.randint(1, min(5, len(rest))) if lead else rng.randint(2, 5))
    sentences = []
    for number, field in enumerate(told):
        value = field[1](rng)
        values[field[0]] = value
        sentence = stated_choice(field, value, named, rng)
        if number == 0 and lead and named not in sentence and named[0].upper() + named[1:] not in sentence:
            sentence = rng.choice([f"This is about {named}.", f"Here is {named}.", f"Let me tell you about {named}."]) + " " + sentence
        sentences.append(sentence)
    missing = [field[0] for field in rest if field not in told]
    return " ".join(sentences), values, missing


def extraction(rng: random.Random) -> tuple[str, str, dict[str, Any]]:
    """A request, the JSON text that answers it, and the record itself."""
    kind = rng.choice(KINDS)
    text, values, missing = record_text(kind, rng)
    keys = list(values)
    if rng.random() < 0.4:
        rng.shuffle(keys)
    if len(keys) > 2 and rng.random() < 0.4:
        keys = keys[:rng.randint(2, len(keys) - 1)]
    record = {key: values[key] for key in keys}
    wants_form = rng.random() < 0.3
    if missing and not wants_form and rng.random() < 0.1:
        record[rng.choice(missing)] = None
    if wants_form:
        ask = rng.choice(FORM_ASK).format(form=form_of(record))
    else:
        ask = rng.choice(ASK).format(keys=words.listing(list(record)) if rng.random() < 0.5 else ", ".join(record))
    layout = rng.randrange(4)
    if layout == 0:
        question = f"{ask}\n\n{text}"
    elif layout == 1:
        question = f"{ask}\nText: {text}"
    elif layout == 2:
        question = f"{text}\n\n{ask}"
    else:
        question = f"{ask} {text}"
    return question, json.dumps(record), record


LABELS = """name owner speed price weight height width colour size status level score rank code city country date time number type material brand model
year month day temperature pressure length area team captain winner language title author editor room floor seat table phone email address total discount
balance username role department manager priority version""".split()


def labelled_value(label: str, rng: random.Random) -> Any:
    """A value that might stand under the label; any will do."""
    makers: list[Make] = [words.full_name, words.first_name, words.city, words.code, words.iso_date, words.clock, integer(0, 999), integer(1, 20), price,
                          choice(words.COLOURS), choice(words.ADJECTIVES), words.invented_word, choice(words.THINGS)]
    if label in ("speed", "price", "weight", "height", "width", "score", "year", "total", "number", "area", "length"):
        makers = [integer(0, 999), price, integer(1, 50)]
    return rng.choice(makers)(rng)


def labelled_extraction(rng: random.Random) -> tuple[str, str, dict[str, Any]]:
    """Facts under labels of any kind, so that no key and no value can be taken for granted."""
    chosen = rng.sample(LABELS, rng.randint(2, 6))
    record = {label: labelled_value(label, rng) for label in chosen}
    shape = rng.choice(["The {k} is {v}.", "Its {k} is {v}.", "{k}: {v};", "{v} is the {k}.", "We noted {v} as the {k}."])
    sentences = [shape.format(k=label, v=value) for label, value in record.items()]
    text = " ".join(one[0].upper() + one[1:] if shape[0] != "{" else one for one in sentences)
    keys = chosen[:]
    if rng.random() < 0.5:
        rng.shuffle(keys)
    if len(keys) > 2 and rng.random() < 0.5:
        keys = keys[:rng.randint(1, len(keys) - 1)]
    wanted = {key: record[key] for key in keys}
    ask = rng.choice(ASK).format(keys=words.listing(keys)) if rng.random() < 0.7 else rng.choice(FORM_ASK).format(form=form_of(wanted))
    return rng.choice([f"{ask}\n\n{text}", f"{text}\n\n{ask}", f"{ask} {text}", f"{ask}\nText: {text}"]), json.dumps(wanted), wanted


def listing_task(rng: random.Random) -> tuple[str, str, Any]:
    """A JSON list of little records or of words."""
    if rng.random() < 0.5:
        items = rng.sample(words.FOODS + words.THINGS + words.ANIMALS, rng.randint(2, 6))
        ask = rng.choice(["Return these as a JSON list: {}", "Make a JSON array of {}", "Write a JSON list with {}"])
        return ask.format(rng.choice([", ".join(items), words.listing(items)])), json.dumps(items), items
    names = rng.sample(words.FIRST_NAMES, rng.randint(2, 4))
    field, make, shape = rng.choice([("age", integer(5, 90), "{n} is {v} years old."), ("city", words.city, "{n} lives in {v}."),
                                     ("job", choice(words.JOBS), "{n} works as a {v}."), ("score", integer(0, 100), "{n} has {v} points.")])
    rows = [{"name": name, field: make(rng)} for name in names]
    text = " ".join(shape.format(n=row["name"], v=row[field]) for row in rows).replace(" a e", " an e").replace(" a a", " an a")
    return f"Return a JSON list of objects with name and {field}.\n\n{text}", json.dumps(rows), rows


def writing_task(rng: random.Random) -> tuple[str, str, Any]:
    """A record given as key and value pairs, to be written as JSON."""
    _, _, fields = rng.choice(KINDS)
    chosen = rng.sample(fields, rng.randint(2, min(5, len(fields))))
    record = {field[0]: field[1](rng) for field in chosen}

    def plain(value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return ", ".join(value) if isinstance(value, list) else str(value)

    lines = [f"{key}: {plain(value)}" for key, value in record.items() if not (isinstance(value, list) and len(value) < 2)]
    record = {key: value for key, value in record.items() if not (isinstance(value, list) and len(value) < 2)}
    if not record:
        return writing_task(rng)
    return rng.choice(["Write this as JSON:\n", "Convert to JSON:\n", "Make a JSON object of this:\n"]) + "\n".join(lines), json.dumps(record), record


def exercise(rng: random.Random) -> tuple[str, str, Any]:
    """Any of the above, extraction most of all."""
    kind = rng.random()
    if kind < 0.66:
        return extraction(rng)
    if kind < 0.8:
        return labelled_extraction(rng)
    return listing_task(rng) if kind < 0.9 else writing_task(rng)
