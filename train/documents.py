"""The documents of each domain and split, shard by shard: shared rows and generated examples, as pieces of text."""

from __future__ import annotations

import pathlib
import random
from typing import Any, Callable, Iterator, NamedTuple

from train import arithmetic, chat, code_writing, copying, facts, json_extraction, picture_questions, pictures, shared_data, story_requests, tool_calls
from train.chat import Segment
from train.split import rng_of, split_of

DOMAINS = ("prose", "chat", "arithmetic", "json", "tools", "code", "copying", "facts", "pictures")
# One of so many keys is kept from training.
HELD_TEXTS = 100
HELD_TASKS = 20
HELD_BFCL = 5


class Document(NamedTuple):
    """What one document says; a picture's spec if it shows one."""

    segments: list[Segment]
    picture: dict[str, Any] | None = None


class Shard(NamedTuple):
    """Which part of a domain is wanted, and how many generated documents belong to it."""

    shared: pathlib.Path
    split: str
    number: int
    of: int
    generated: int
    seed: int

    def rng(self, domain: str) -> random.Random:
        return rng_of(self.seed, domain, self.split, self.number)

    def mine(self, rows: list[Any]) -> Iterator[Any]:
        return iter(rows[self.number::self.of])

    def is_wanted(self, key: str, held_in: int) -> bool:
        return split_of(key, held_in) == self.split


def generated(shard: Shard, domain: str, make: Callable[[random.Random], tuple[str, Document]], held_in: int = HELD_TASKS) -> Iterator[Document]:
    """Made examples whose key falls on the shard's side."""
    rng = shard.rng(domain)
    made = 0
    while made < shard.generated:
        key, document = make(rng)
        if shard.is_wanted(key, held_in):
            made += 1
            yield document


def talk(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> Document:
    return Document(chat.render_document(messages, tools))


def talk_rows(shard: Shard, rows: list[list[dict[str, Any]]], held_in: int = HELD_TEXTS) -> Iterator[Document]:
    for messages in shard.mine(rows):
        if shard.is_wanted("talk " + str(messages[0]["content"]), held_in):
            yield talk(messages)


def prose_text(text: str, is_end: bool) -> Document:
    return Document([Segment(chat.BOS, False), Segment(text + (chat.EOS if is_end else ""), True)])


def story_rows(shard: Shard) -> Iterator[tuple[str, str]]:
    for name, texts in shared_data.stories(shard.shared).items():
        for text in shard.mine(texts):
            if shard.is_wanted("story " + text[:200], HELD_TEXTS):
                yield name, text


def prose(shard: Shard) -> Iterator[Document]:
    for name, text in story_rows(shard):
        parts = shared_data.pieces(text)
        for _ in range(2 if name == "tinystories" and shard.split == "train" else 1):
            for number, part in enumerate(parts, 1):
                yield prose_text(part, number == len(parts))


def some_stories(shard: Shard) -> list[str]:
    return [text for name, text in story_rows(shard) if name in ("tinystories", "generated") and len(text) < 2400]


SYSTEM = ["You are a helpful assistant.", "Be brief.", "Answer politely.", "You are a friendly teacher.", "You help people with small questions.", "Answer in simple words."]


def one_exchange(shard: Shard, rng: random.Random) -> list[dict[str, Any]]:
    """A question of any kind, on the shard's side, with its answer."""
    while True:
        kind = rng.randrange(5)
        if kind == 0:
            question, answer, key, _ = arithmetic.exercise(rng)
        elif kind == 1:
            question, answer, _ = json_extraction.exercise(rng)
            key = "json " + question
        elif kind == 2:
            question, answer = copying.exercise(rng, [])
            key = "copying " + question
        else:
            question, answer = facts.from_tables(rng)
            return chat.conversation(question, answer)
        if shard.is_wanted(key, HELD_TASKS):
            return chat.conversation(question, answer)


def mixed(shard: Shard) -> Iterator[Document]:
    """Conversations that go from one thing to another, some under a system message."""
    rng = shard.rng("mixed")
    for _ in range(shard.generated // 3):
        messages = [{"role": "system", "content": rng.choice(SYSTEM)}] if rng.random() < 0.25 else []
        for _ in range(rng.randint(1, 4)):
            messages += one_exchange(shard, rng)
        yield talk(messages)


def chats(shard: Shard) -> Iterator[Document]:
    for rows in shared_data.chats(shard.shared).values():
        yield from talk_rows(shard, rows)
    yield from mixed(shard)
    rng = shard.rng("story requests")
    stories = some_stories(shard)
    for story in rng.sample(stories, min(shard.generated, len(stories))):
        yield talk(chat.conversation(*story_requests.request(story, rng)))


def sums(shard: Shard) -> Iterator[Document]:
    yield from talk_rows(shard, shared_data.word_problems(shard.shared))

    def make(rng: random.Random) -> tuple[str, Document]:
        question, answer, key, _ = arithmetic.exercise(rng)
        return key, talk(chat.conversation(question, answer))

    yield from generated(shard, "arithmetic", make)


def records(shard: Shard) -> Iterator[Document]:
    def make(rng: random.Random) -> tuple[str, Document]:
        question, answer, _ = json_extraction.exercise(rng)
        return "json " + question, talk(chat.conversation(question, answer))

    yield from generated(shard, "json", make)


def tools(shard: Shard) -> Iterator[Document]:
    for name, rows in shared_data.tool_talks(shard.shared).items():
        for messages, declared in shard.mine(rows):
            if shard.is_wanted("tool talk " + str(messages[-2].get("content")), HELD_BFCL if name == "bfcl" else HELD_TEXTS):
                yield talk(messages, declared)

    def make(rng: random.Random) -> tuple[str, Document]:
        messages, declared, key = tool_calls.conversation(rng)
        return key, talk(messages, declared)

    yield from generated(shard, "tools", make)


def code(shard: Shard) -> Iterator[Document]:
    yield from talk_rows(shard, shared_data.functions(shard.shared), HELD_TASKS)

    def make(rng: random.Random) -> tuple[str, Document]:
        question, answer, key = code_writing.exercise(rng) if rng.random() < 0.9 else code_writing.result_question(rng)
        return key + question, talk(chat.conversation(question, answer))

    yield from generated(shard, "code", make)


def copies(shard: Shard) -> Iterator[Document]:
    passages = some_stories(shard)

    def make(rng: random.Random) -> tuple[str, Document]:
        question, answer = copying.exercise(rng, passages)
        return "copying " + question, talk(chat.conversation(question, answer))

    yield from generated(shard, "copying", make)


def knowledge(shard: Shard) -> Iterator[Document]:
    yield from talk_rows(shard, shared_data.questions(shard.shared), HELD_TASKS)

    def make(rng: random.Random) -> tuple[str, Document]:
        messages = facts.exercise(rng)
        return "facts " + " ".join(message["content"] for message in messages), talk(messages)

    yield from generated(shard, "facts", make)


def shown(shard: Shard) -> Iterator[Document]:
    def make(rng: random.Random) -> tuple[str, Document]:
        picture = pictures.spec(rng)
        segments = chat.render_document(picture_questions.conversation(picture, rng))
        expanded = [Segment(chat.expand_images(segment.text, pictures.SOFT_TOKENS), segment.learn) for segment in segments]
        return pictures.key_of(picture), Document(expanded, picture)

    yield from generated(shard, "pictures", make)


MAKERS: dict[str, Callable[[Shard], Iterator[Document]]] = {
    "prose": prose, "chat": chats, "arithmetic": sums, "json": records, "tools": tools, "code": code, "copying": copies, "facts": knowledge, "pictures": shown}


def documents(domain: str, shard: Shard) -> Iterator[Document]:
    return MAKERS[domain](shard)


def load_shared(shared: pathlib.Path) -> None:
    """Reads every shared set, so that processes forked after this have them."""
    for load in (shared_data.stories, shared_data.chats, shared_data.word_problems, shared_data.functions, shared_data.questions, shared_data.tool_talks):
        load(shared)
