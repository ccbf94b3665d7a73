"""Texts that state the fields of a record: clauses joined in many ways, in the third or the first person, with values written as people write them."""

from __future__ import annotations

import random
import re
from typing import Any

from train import words
from train.json_records import Field, Kind

CHOICE = re.compile(r"\{([^{}|]*)\|([^{}|]*)\}")
FIRST_PERSON = {
    "age": ["I am {v} years old", "I'm {v}", "I am {v}"], "city": ["I live in {v}", "I'm from {v}", "I come from {v}"], "job": ["I work as {a}", "I am {a}", "I'm {a}"],
    "hobby": ["I like {v}", "I love {v}", "my hobby is {v}"], "hobbies": ["I like {v}", "my hobbies are {v}"], "email": ["my email is {v}", "you can reach me at {v}"],
    "phone": ["my phone number is {v}", "call me at {v}"], "country": ["I was born in {v}", "I come from {v}"], "company": ["I work for {v}", "I work at {v}"],
    "languages": ["I speak {v}"], "married": ["I am {married|not married}"], "children": ["I have {n} children"], "height_cm": ["I am {v} cm tall"]}
ASIDES = ["The weather was nice that day.", "Everyone was happy about it.", "We talked about it last week.", "More news will follow.", "That is all for now.", "It was a long day.",
          "Please keep this in mind.", "Nobody expected that.", "The rest is not known yet.", "Have a nice day."]
INTRODUCTIONS = ["This is about {s}.", "Here is what we know about {s}.", "Let me tell you about {s}.", "Here are some notes on {s}.", "Have you heard of {s}?"]


def money(value: Any, rng: random.Random) -> str:
    shown = f"{value:,.2f}" if isinstance(value, float) else (f"{value:,}" if rng.random() < 0.5 else str(value))
    return rng.choice(["${}", "${}", "{} dollars", "{} dollars", "{} euros", "\u20ac{}", "{} USD", "{} EUR"]).format(shown)


def filled(clause: str, value: Any, rng: random.Random) -> str:
    """The clause with the value in it."""
    if isinstance(value, bool):
        return CHOICE.sub(lambda found: found.group(1 if value else 2), clause)
    if "{m}" in clause:
        return clause.replace("{m}", money(value, rng))
    if "{c}" in clause:
        return clause.replace("{c}", f"{value:,}")
    if "{n}" in clause:
        text = clause.replace("{n}", words.number_name(value) if rng.random() < 0.5 else str(value))
        return re.sub(r"\b(one|1) (child|kid|room|moon)(?:ren|s)\b", r"\1 \2", text)
    if "{a}" in clause:
        return clause.replace("{a}", words.article(value))
    if isinstance(value, int) and "{v} years old" in clause and rng.random() < 0.08:
        return clause.replace("{v}", words.number_name(value))
    shown = words.listing(value) if isinstance(value, list) else str(value)
    return clause.replace("{v}", shown)


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


def joined(parts: list[str]) -> str:
    return words.listing(parts)


def pronouns(kind: Kind, rng: random.Random) -> tuple[str, str]:
    if kind.pronoun == "it":
        return "It", "Its"
    return rng.choice([("He", "His"), ("She", "Her")])


def third_person(kind: Kind, lead: Any, told: list[tuple[Field, Any]], rng: random.Random) -> str:
    """Sentences of one to three clauses; the subject is named in the first, later ones take a pronoun or name it again."""
    subject = kind.subject.replace("{v}", lead)
    he, his = pronouns(kind, rng)
    sentences: list[str] = []
    rest = list(told)
    if rng.random() < 0.12:
        sentences.append(rng.choice(INTRODUCTIONS).format(s=subject))
    while rest:
        field, value = rest[0]
        named = capital(subject) if not sentences or rng.random() < 0.25 else he
        if field.sentences and (not field.follows or sentences and rng.random() < 0.35):
            if not sentences:
                sentences.append(rng.choice(INTRODUCTIONS).format(s=subject))
            sentences.append(capital(filled(rng.choice(field.sentences), value, rng).replace("{P}", his).replace("{p}", he.lower())))
            rest = rest[1:]
            continue
        group = [pair for pair in rest[:rng.choice([1, 1, 2, 2, 3])] if pair[0].follows]
        clauses = [filled(rng.choice(one.follows), what, rng) for one, what in group]
        if group[0][0].key == "age" and kind.pronoun == "they" and named != he and len(clauses) > 1 and rng.random() < 0.4:
            clauses = clauses[1:]
            named += rng.choice([", {},", " ({})", ", aged {},", ", {} years old,"]).format(group[0][1])
        sentences.append(f"{named} {joined(clauses)}.")
        rest = [pair for pair in rest if pair not in group]
    return " ".join(sentences)


def apposition(lead: str, told: list[tuple[Field, Any]], rng: random.Random) -> str | None:
    """`Anna, a 31-year-old nurse from Rome, likes chess.`: age, job and city beside the name; none where the fields do not allow it."""
    values = {field.key: value for field, value in told}
    if [field.key for field, _ in told[:3]] == ["age", "job", "city"]:
        beside, rest = f"a{'n' if str(values['age'])[0] == '8' or values['age'] in (11, 18) else ''} {values['age']}-year-old {values['job']} from {values['city']}", told[3:]
    elif [field.key for field, _ in told[:2]] == ["age", "city"]:
        beside, rest = f"{values['age']}, from {values['city']}", told[2:]
    elif [field.key for field, _ in told[:2]] == ["job", "city"]:
        beside, rest = f"{words.article(values['job'])} from {values['city']}", told[2:]
    else:
        return None
    if not rest:
        return rng.choice(["This is {}, {}.", "Meet {}, {}.", "We spoke with {}, {}."]).format(lead, beside)
    if any(not field.follows for field, _ in rest):
        return None
    return f"{lead}, {beside}, {joined([filled(rng.choice(field.follows), value, rng) for field, value in rest])}."


def first_person(lead: str, told: list[tuple[Field, Any]], rng: random.Random) -> str:
    clauses = [filled(rng.choice(FIRST_PERSON[field.key]), value, rng) for field, value in told]
    opening = rng.choice(["My name is {}", "I am {}", "I'm {}", "Hi, I'm {}", "Hello, my name is {}", "This is {} speaking"]).format(lead)
    if rng.random() < 0.5:
        return f"{opening} and {clauses[0]}." + "".join(f" {capital(one)}." for one in clauses[1:])
    return f"{opening}. " + (capital(joined(clauses)) + "." if rng.random() < 0.5 else " ".join(capital(one) + "." for one in clauses))


def as_text(kind: Kind, lead: Any, told: list[tuple[Field, Any]], rng: random.Random) -> str:
    """What is told about one record."""
    if kind.pronoun == "they" and rng.random() < 0.2 and all(field.key in FIRST_PERSON for field, _ in told):
        return first_person(lead, told, rng)
    text = (apposition(lead, told, rng) if kind.pronoun == "they" and rng.random() < 0.5 else None) or third_person(kind, lead, told, rng)
    if rng.random() < 0.08:
        text += " " + rng.choice(ASIDES)
    return text
