"""Captions, questions and answers about a synthetic picture, each answer in one fixed form."""

from __future__ import annotations

import random
from typing import Any

from train import words
from train.pictures import COLOURS, PLACES, SHAPES, Spec

WHERE = {"top left": "at the top left", "top": "at the top", "top right": "at the top right", "left": "on the left", "middle": "in the middle",
         "right": "on the right", "bottom left": "at the bottom left", "bottom": "at the bottom", "bottom right": "at the bottom right"}
COLUMN = {place: number % 3 for number, place in enumerate(PLACES)}
ROW = {place: number // 3 for number, place in enumerate(PLACES)}
Asked = tuple[str, str]


def called(one: dict[str, Any]) -> str:
    return f"{one['colour']} {one['shape']}"


def caption(picture: Spec, rng: random.Random) -> Asked:
    shown = [f"{words.article(one['size'])} {called(one)} {WHERE[one['place']]}" for one in picture["objects"]]
    text = f"{words.listing(shown)} on {words.article(picture['background'])} background."
    return rng.choice(["Describe the picture.", "What does the picture show?", "What do you see?", "What is in the picture?", "Describe this image."]), text[0].upper() + text[1:]


def colour_of(picture: Spec, rng: random.Random) -> Asked | None:
    alone = unique(picture, "shape")
    if not alone:
        return None
    one = rng.choice(alone)
    return rng.choice(["What colour is the {}?", "What color is the {}?", "Which colour does the {} have?"]).format(one["shape"]), f"The {one['shape']} is {one['colour']}."


def shape_of(picture: Spec, rng: random.Random) -> Asked | None:
    alone = unique(picture, "colour")
    if not alone:
        return None
    one = rng.choice(alone)
    return rng.choice(["What shape is {}?", "Which shape is {}?", "What is the {} shape?"]).format(one["colour"]), f"The {one['colour']} shape is a {one['shape']}."


def place_of(picture: Spec, rng: random.Random) -> Asked:
    one = rng.choice(picture["objects"])
    return rng.choice(["Where is the {}?", "Where in the picture is the {}?", "In which place is the {}?"]).format(called(one)), f"The {called(one)} is {WHERE[one['place']]}."


def what_is_at(picture: Spec, rng: random.Random) -> Asked:
    taken = {one["place"]: one for one in picture["objects"]}
    place = rng.choice(sorted(taken)) if rng.random() < 0.75 else rng.choice(PLACES)
    ask = rng.choice(["What is {}?", "What do you see {}?", "Which shape is {}?"]).format(WHERE[place])
    if place in taken:
        return ask, f"There is {words.article(called(taken[place]))} {WHERE[place]}."
    return ask, f"There is nothing {WHERE[place]}."


def count(picture: Spec, rng: random.Random) -> Asked:
    number = len(picture["objects"])
    return rng.choice(["How many shapes are there?", "How many shapes does the picture show?", "Count the shapes."]), "There is 1 shape." if number == 1 else f"There are {number} shapes."


def exists(picture: Spec, rng: random.Random) -> Asked:
    if rng.random() < 0.5:
        name = called(rng.choice(picture["objects"]))
    else:
        one = rng.choice(picture["objects"])
        name = rng.choice([f"{rng.choice(list(COLOURS))} {one['shape']}", f"{one['colour']} {rng.choice(SHAPES)}", f"{rng.choice(list(COLOURS))} {rng.choice(SHAPES)}"])
    there = any(called(one) == name for one in picture["objects"])
    ask = rng.choice(["Is there {}?", "Do you see {}?", "Does the picture show {}?"]).format(words.article(name))
    return ask, f"Yes, there is {words.article(name)}." if there else f"No, there is no {name}."


def background(picture: Spec, rng: random.Random) -> Asked:
    return rng.choice(["What colour is the background?", "What color is the background?", "Which colour does the background have?"]), f"The background is {picture['background']}."


def size_of(picture: Spec, rng: random.Random) -> Asked:
    one = rng.choice(picture["objects"])
    return rng.choice(["Is the {} large or small?", "How big is the {}?", "What size is the {}?"]).format(called(one)), f"The {called(one)} is {one['size']}."


def relation(picture: Spec, rng: random.Random) -> Asked | None:
    if len(picture["objects"]) < 2:
        return None
    one, other = rng.sample(picture["objects"], 2)
    ways = []
    if COLUMN[one["place"]] != COLUMN[other["place"]]:
        is_left = COLUMN[one["place"]] < COLUMN[other["place"]]
        ways += [("left of", is_left), ("right of", not is_left)]
    if ROW[one["place"]] != ROW[other["place"]]:
        is_above = ROW[one["place"]] < ROW[other["place"]]
        ways += [("above", is_above), ("below", not is_above)]
    word, holds = rng.choice(ways)
    return f"Is the {called(one)} {word} the {called(other)}?", f"{'Yes' if holds else 'No'}, the {called(one)} is {'' if holds else 'not '}{word} the {called(other)}."


KINDS = [(colour_of, 18), (shape_of, 16), (place_of, 16), (what_is_at, 12), (count, 10), (exists, 10), (background, 6), (size_of, 6), (relation, 6)]


def unique(picture: Spec, what: str) -> list[dict[str, Any]]:
    """The objects that share their shape (or colour) with no other."""
    values = [one[what] for one in picture["objects"]]
    return [one for one in picture["objects"] if values.count(one[what]) == 1]


def question(picture: Spec, rng: random.Random) -> Asked:
    """One question that the picture answers, and the answer."""
    while True:
        asked = rng.choices([kind for kind, _ in KINDS], weights=[weight for _, weight in KINDS])[0](picture, rng)
        if asked:
            return asked


def first_message(text: str, rng: random.Random) -> dict[str, Any]:
    parts = [{"type": "image"}, {"type": "text", "text": text}]
    return {"role": "user", "content": parts}


def conversation(picture: Spec, rng: random.Random) -> list[dict[str, Any]]:
    """Several questions about one picture, a caption among them more often than not."""
    asked: list[Asked] = [caption(picture, rng)] if rng.random() < 0.6 else []
    for _ in range(rng.randint(1, 4)):
        new = question(picture, rng)
        if new[0] not in [one[0] for one in asked]:
            asked.append(new)
    rng.shuffle(asked)
    messages: list[dict[str, Any]] = []
    for number, (text, answer) in enumerate(asked):
        messages.append(first_message(text, rng) if number == 0 else {"role": "user", "content": text})
        messages.append({"role": "assistant", "content": answer})
    return messages
