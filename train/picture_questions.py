"""Captions, questions and answers about a synthetic picture, each answer in one fixed form."""

from __future__ import annotations

import random
from typing import Any

from train import exchanges, pictures, words
from train.held import Held
from train.pictures import COLOURS, PLACES, SHAPES, Spec
from train.wording import vary

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
    return rng.choice(["Describe the picture.", "What does the picture show?", "What do you see?", "What is in the picture?", "Describe this image.", "What is in this image?", "What can you see here?", "Tell me what is in the picture.", "Please describe what you see.", "What does this image show?", "Describe this picture.", "Give a description of the image.", "What is shown?", "Look at the picture. What is there?"]), text[0].upper() + text[1:]


def colour_of(picture: Spec, rng: random.Random) -> Asked | None:
    alone = unique(picture, "shape")
    if not alone:
        return None
    one = rng.choice(alone)
    return rng.choice(["What colour is the {}?", "What color is the {}?", "Which colour does the {} have?", "Which color is the {}?", "Tell me the color of the {}.", "What is the colour of the {}?", "The {} has which color?", "Name the color of the {}."]).format(one["shape"]), f"The {one['shape']} is {one['colour']}."


def shape_of(picture: Spec, rng: random.Random) -> Asked | None:
    alone = unique(picture, "colour")
    if not alone:
        return None
    one = rng.choice(alone)
    return rng.choice(["What shape is {}?", "Which shape is {}?", "What is the {} shape?", "What kind of shape is {}?", "Which shape has the color {}?", "Name the {} shape.", "What is the {} thing?", "What shape does the {} object have?"]).format(one["colour"]), f"The {one['colour']} shape is a {one['shape']}."


def place_of(picture: Spec, rng: random.Random) -> Asked:
    one = rng.choice(picture["objects"])
    return rng.choice(["Where is the {}?", "Where in the picture is the {}?", "In which place is the {}?", "Where can I find the {}?", "Where do you see the {}?", "In which part of the image is the {}?", "Tell me where the {} is.", "What is the position of the {}?"]).format(called(one)), f"The {called(one)} is {WHERE[one['place']]}."


def what_is_at(picture: Spec, rng: random.Random) -> Asked:
    taken = {one["place"]: one for one in picture["objects"]}
    place = rng.choice(sorted(taken)) if rng.random() < 0.75 else rng.choice(PLACES)
    ask = rng.choice(["What is {}?", "What do you see {}?", "Which shape is {}?", "What is there {}?", "Is there anything {}?", "What can you see {}?", "Tell me what is {}.", "Which object is {}?"]).format(WHERE[place])
    if place in taken:
        return ask, f"There is {words.article(called(taken[place]))} {WHERE[place]}."
    return ask, f"There is nothing {WHERE[place]}."


def count(picture: Spec, rng: random.Random) -> Asked:
    number = len(picture["objects"])
    return rng.choice(["How many shapes are there?", "How many shapes does the picture show?", "Count the shapes.", "How many objects are in the picture?", "How many things do you see?", "How many shapes do you see?", "What is the number of shapes?", "How many objects are there?", "Count the objects in the image."]), "There is 1 shape." if number == 1 else f"There are {number} shapes."


def exists(picture: Spec, rng: random.Random) -> Asked:
    if rng.random() < 0.5:
        name = called(rng.choice(picture["objects"]))
    else:
        one = rng.choice(picture["objects"])
        name = rng.choice([f"{rng.choice(list(COLOURS))} {one['shape']}", f"{one['colour']} {rng.choice(SHAPES)}", f"{rng.choice(list(COLOURS))} {rng.choice(SHAPES)}"])
    there = any(called(one) == name for one in picture["objects"])
    ask = rng.choice(["Is there {}?", "Do you see {}?", "Does the picture show {}?", "Is there {} in the picture?", "Can you see {}?", "Does the image contain {}?", "Do you see {} in the image?"]).format(words.article(name))
    return ask, f"Yes, there is {words.article(name)}." if there else f"No, there is no {name}."


def background(picture: Spec, rng: random.Random) -> Asked:
    return rng.choice(["What colour is the background?", "What color is the background?", "Which colour does the background have?", "What is the background color?", "What is the color of the background?", "Which color is behind the shapes?", "Tell me the color of the background."]), f"The background is {picture['background']}."


def size_of(picture: Spec, rng: random.Random) -> Asked:
    one = rng.choice(picture["objects"])
    return rng.choice(["Is the {} large or small?", "How big is the {}?", "What size is the {}?", "Is the {} small or large?", "What is the size of the {}?", "How large is the {}?", "Tell me the size of the {}."]).format(called(one)), f"The {called(one)} is {one['size']}."


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
    return rng.choice(["Is the {} {} the {}?", "Does the {} lie {} the {}?", "Tell me: is the {} {} the {}?"]).format(called(one), word, called(other)), f"{'Yes' if holds else 'No'}, the {called(one)} is {'' if holds else 'not '}{word} the {called(other)}."


KINDS = [(colour_of, 18), (shape_of, 16), (place_of, 16), (what_is_at, 12), (count, 10), (exists, 10), (background, 6), (size_of, 7), (relation, 12)]


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


def with_picture(text: str, is_first: bool) -> dict[str, Any]:
    """A message with the picture before or behind the text."""
    parts = [{"type": "image"}, {"type": "text", "text": text}]
    return {"role": "user", "content": parts if is_first else parts[::-1]}


def first_message(text: str, rng: random.Random) -> dict[str, Any]:
    return with_picture(text, rng.random() < 0.6)


def conversation(picture: Spec, rng: random.Random) -> list[dict[str, Any]]:
    """Several questions about one picture, a caption among them more often than not, the picture in the first message or, sometimes, in a later one."""
    asked: list[Asked] = [caption(picture, rng)] if rng.random() < 0.6 else []
    for _ in range(rng.randint(1, 4)):
        new = question(picture, rng)
        if new[1] not in [one[1] for one in asked]:
            asked.append(new)
    rng.shuffle(asked)
    messages: list[dict[str, Any]] = []
    if rng.random() < 0.1:
        talk = exchanges.any_exchange(rng, [(exchanges.of_facts, 2), (exchanges.of_small_talk, 2)])
        messages = [{"role": "user", "content": talk.question}, {"role": "assistant", "content": talk.answer}]
    for number, (text, answer) in enumerate(asked):
        text = vary(text, rng)
        messages.append(first_message(text, rng) if number == 0 else {"role": "user", "content": text})
        messages.append({"role": "assistant", "content": answer})
    return messages


def held_picture(rng: random.Random, is_first: bool) -> Held:
    picture = pictures.spec(rng)
    asked, expected = question(picture, rng)
    return Held(pictures.key_of(picture), [with_picture(asked, is_first)], lambda answer: answer.text.strip() == expected, None, picture)


def held_picture_first(rng: random.Random) -> Held:
    return held_picture(rng, True)


def held_picture_behind(rng: random.Random) -> Held:
    return held_picture(rng, False)
