"""One question of any kind with its answer, and the key that decides its split: what conversations are put together from."""

from __future__ import annotations

import random
from typing import NamedTuple

from train import arithmetic, code_writing, copying, facts, json_extraction, languages, story_requests, unknown
from train.wording import vary


class Exchange(NamedTuple):
    question: str
    answer: str
    key: str  # empty: belongs to both splits


def of_sums(rng: random.Random) -> Exchange:
    question, answer, key, _ = arithmetic.exercise(rng)
    return Exchange(question, answer, key)


def of_records(rng: random.Random) -> Exchange:
    question, answer, _ = json_extraction.exercise(rng)
    return Exchange(question, answer, json_extraction.key_of(question))


def of_copies(rng: random.Random) -> Exchange:
    question, answer = copying.exercise(rng, [])
    return Exchange(question, answer, "copying " + question)


def of_code(rng: random.Random) -> Exchange:
    question, answer, key = code_writing.exercise(rng)
    return Exchange(question, answer, key)


def of_facts(rng: random.Random) -> Exchange:
    question, answer = facts.from_tables(rng)
    return Exchange(vary(question, rng), answer, "")


def of_small_talk(rng: random.Random) -> Exchange:
    asked, answers = rng.choice(facts.SMALL_TALK)
    return Exchange(rng.choice(asked), answers[0], "")


def of_unknown(rng: random.Random) -> Exchange:
    return Exchange(*unknown.exchange(rng, people=False))


def of_languages(rng: random.Random) -> Exchange:
    return Exchange(*(languages.exchange(rng) if rng.random() < 0.7 else languages.english(rng)))


def of_stories(rng: random.Random) -> Exchange:
    asked, told = story_requests.plot_request(rng)
    return Exchange(asked, told, story_requests.key_of(asked))


# Short ones, for between other things.
SHORT = [(of_sums, 20), (of_records, 12), (of_copies, 14), (of_facts, 26), (of_small_talk, 10), (of_unknown, 10), (of_languages, 8)]
ALL = [*SHORT, (of_code, 10)]


def any_exchange(rng: random.Random, kinds: list = ALL) -> Exchange:
    return rng.choices([one for one, _ in kinds], weights=[weight for _, weight in kinds])[0](rng)
