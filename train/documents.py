"""The documents of each domain and split, shard by shard: shared rows and generated examples, as pieces of text."""

from __future__ import annotations

import pathlib
import random
from typing import Any, Callable, Iterator, NamedTuple

from train import chat, code_writing, copying, exchanges, facts, languages, memory, picture_questions, pictures, shared_data, story_requests, tool_calls, unknown
from train.chat import Segment
from train.split import rng_of, split_of

DOMAINS = ("prose", "stories", "chat", "memory", "languages", "unknown", "arithmetic", "json", "tools", "code", "functions", "copying", "facts", "pictures")
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

    def are_wanted(self, keys: list[str]) -> bool:
        """Of a document with several keys: nothing held out is trained on; what is held out is so by its first key."""
        return self.is_wanted(keys[0], HELD_TASKS) if self.split == "held" else all(self.is_wanted(key, HELD_TASKS) for key in keys)


def generated(shard: Shard, domain: str, make: Callable[[random.Random], tuple[str | list[str], Document]]) -> Iterator[Document]:
    """Made examples whose keys fall on the shard's side."""
    rng = shard.rng(domain)
    made = 0
    while made < shard.generated:
        key, document = make(rng)
        if shard.are_wanted([key] if isinstance(key, str) else key):
            made += 1
            yield document


def talk(messages: list[dict[str, Any]], tools: list[dict[str, Any]] | None = None) -> Document:
    return Document(chat.render_document(messages, tools))


def talk_rows(shard: Shard, rows: list[list[dict[str, Any]]], held_in: int = HELD_TEXTS) -> Iterator[Document]:
    for messages in shard.mine(rows):
        if shard.is_wanted("talk " + str(messages[0]["content"]), held_in):
            yield talk(messages)


def prose_text(text: str, is_end: bool) -> Document:
    return Document([Segment(chat.BOS, 0), Segment(text + (chat.EOS if is_end else ""), 1)])


# Stories to be told on request are the better half of the generated ones.
USUAL = 0.935
SHORT_STORIES = ("tinystories", "generated")


def story_rows(shard: Shard, usual: float = 0.9) -> Iterator[tuple[str, str]]:
    """Set and text; short stories that are told well and, of generated ones, in usual words."""
    for name, texts in shared_data.stories(shard.shared).items():
        for text in shard.mine(texts):
            if shard.is_wanted("story " + text[:200], HELD_TEXTS) and (name not in SHORT_STORIES or shared_data.is_told_well(text)):
                if name != "generated" or shared_data.usual_share(text, shard.shared) >= usual:
                    yield name, text


def prose(shard: Shard) -> Iterator[Document]:
    rng = shard.rng("prose")
    for name, text in story_rows(shard):
        for _ in range(2 if name == "tinystories" and shard.split == "train" else 1):
            parts = shared_data.pieces(story_requests.renamed(text, rng) if name in SHORT_STORIES and rng.random() < 0.5 else text)
            for number, part in enumerate(parts, 1):
                yield prose_text(part, number == len(parts))


def some_stories(shard: Shard) -> list[str]:
    return [text for name, text in story_rows(shard, USUAL) if name in SHORT_STORIES]


SYSTEM = ["You are a helpful assistant.", "Be brief.", "Answer politely.", "You are a friendly teacher.", "You help people with small questions.", "Answer in simple words.", "You are a helpful assistant who answers in short sentences, and calls tools where they are of use.",
          "You are paceline's small model.", "Be helpful and honest.", "You talk with children.", "Keep your answers short.", "You are a support agent.", "Answer the user's questions as well as you can.", "You are an assistant in a chat window.", "Say so if you do not know something."]


def system_message(rng: random.Random, long: bool = False) -> list[dict[str, Any]]:
    """Sometimes a system message; a long one says the same things many times."""
    if long:
        return [{"role": "system", "content": " ".join(rng.choice(SYSTEM) for _ in range(rng.randint(20, 160)))}]
    return [{"role": "system", "content": " ".join(rng.sample(SYSTEM, rng.randint(1, 2)))}] if rng.random() < 0.25 else []


def perhaps_under_system(messages: list[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    return [{"role": "system", "content": rng.choice(SYSTEM)}] + messages if rng.random() < 0.08 else messages


def wanted_exchange(shard: Shard, rng: random.Random) -> list[dict[str, Any]]:
    """A question of any kind, on the shard's side, with its answer."""
    while True:
        one = exchanges.any_exchange(rng)
        if not one.key or shard.is_wanted(one.key, HELD_TASKS):
            return chat.conversation(one.question, one.answer)


def wanted_episode(shard: Shard, rng: random.Random) -> list[dict[str, Any]]:
    """Something told and asked for later, on the shard's side."""
    while True:
        messages, keys = memory.conversation(rng)
        if shard.are_wanted(keys):
            return messages


def any_story(stories: list[str], rng: random.Random) -> tuple[str, str]:
    """A request and its story: of a plot, of the stories, or of these with things woven in."""
    kind = rng.random()
    if kind < 0.5:
        return story_requests.plot_request(rng)
    story = story_requests.varied(rng.choice(stories), rng)
    return story_requests.request_woven(story, rng) if kind < 0.85 else story_requests.request(story, rng)


def wanted_story(shard: Shard, stories: list[str], rng: random.Random) -> list[dict[str, Any]]:
    """A story asked for, in other words than those held out."""
    while True:
        asked, told = any_story(stories, rng)
        if asked in story_requests.ANY or shard.is_wanted(story_requests.key_of(asked), HELD_TASKS):
            return chat.conversation(asked, told)


def mixed(shard: Shard, stories: list[str]) -> Iterator[Document]:
    """Conversations that go from one thing to another, some under a system message; one in thirty is long, and asks at its end for what was told at its beginning."""
    rng = shard.rng("mixed")
    for number in range(shard.generated):
        is_long = number % 30 == 0
        messages = system_message(rng, is_long and rng.random() < 0.3)
        if is_long:
            told_already = sum(len(message["content"]) for message in messages)
            messages += far_apart(shard, stories, rng, rng.randint(7000, 16500) - told_already)
            yield talk(messages)
            continue
        if rng.random() < 0.15:
            messages += wanted_episode(shard, rng)
        for _ in range(rng.randint(1, 5)):
            messages += wanted_story(shard, stories, rng) if stories and rng.random() < 0.12 else wanted_exchange(shard, rng)
        yield talk(messages)


def far_apart(shard: Shard, stories: list[str], rng: random.Random, characters: int) -> list[dict[str, Any]]:
    """A telling, many other things, and then the question about it."""
    while True:
        told = memory.own(rng, rng.choice(memory.KINDS))
        question, answer, _ = rng.choice(told.asked)
        if shard.is_wanted(f"memory {question} {answer}", HELD_TASKS):
            break
    messages = chat.conversation(told.text, told.reply) + memory.messages_of(told.later)
    while sum(len(str(message["content"])) for message in messages) < characters:
        messages += wanted_story(shard, stories, rng) if stories and rng.random() < 0.35 else wanted_exchange(shard, rng)
    return messages + memory.messages_of([memory.Turn(question, answer, memory.ASKED_WORTH)])


def chats(shard: Shard) -> Iterator[Document]:
    for rows in shared_data.chats(shard.shared).values():
        yield from talk_rows(shard, rows)
    yield from mixed(shard, some_stories(shard))


def asked_stories(shard: Shard) -> Iterator[Document]:
    """Each story of people's making several times, each generated one once or twice, under different requests."""
    rng = shard.rng("stories")
    pool = [text for name, text in story_rows(shard, USUAL) if name in SHORT_STORIES for _ in range(4 if name == "tinystories" else 1)]
    for _ in range(min(shard.generated, 4 * len(pool))):
        yield talk(system_message(rng) * (rng.random() < 0.2) + wanted_story(shard, pool, rng))


def memories(shard: Shard) -> Iterator[Document]:
    def make(rng: random.Random) -> tuple[list[str], Document]:
        messages, keys = memory.conversation(rng)
        return keys, talk(system_message(rng) + messages)

    yield from generated(shard, "memory", make)


def refusals(shard: Shard) -> Iterator[Document]:
    """Other languages, alone or between things in English."""
    def make(rng: random.Random) -> tuple[list[str], Document]:
        first = exchanges.Exchange(*(languages.exchange(rng) if rng.random() < 0.8 else languages.english(rng)))
        turns = [first, *(exchanges.any_exchange(rng, exchanges.SHORT) for _ in range(rng.choices([0, 1, 2, 3], weights=[6, 3, 2, 1])[0]))]
        rng.shuffle(turns)
        keys = [first.key, *(one.key for one in turns if one.key)]
        return keys, talk(system_message(rng) + memory.messages_of([memory.Turn(one.question, one.answer) for one in turns]))

    yield from generated(shard, "languages", make)


def unknowns(shard: Shard) -> Iterator[Document]:
    def make(rng: random.Random) -> tuple[str, Document]:
        messages, key = unknown.conversation(rng)
        return key, talk(system_message(rng) + messages)

    yield from generated(shard, "unknown", make)


def sums(shard: Shard) -> Iterator[Document]:
    yield from talk_rows(shard, shared_data.word_problems(shard.shared))

    def make(rng: random.Random) -> tuple[str, Document]:
        one = exchanges.of_sums(rng)
        return one.key, talk(perhaps_under_system(chat.conversation(one.question, one.answer), rng))

    yield from generated(shard, "arithmetic", make)


def records(shard: Shard) -> Iterator[Document]:
    def make(rng: random.Random) -> tuple[str, Document]:
        one = exchanges.of_records(rng)
        return one.key, talk(perhaps_under_system(chat.conversation(one.question, one.answer), rng))

    yield from generated(shard, "json", make)


def tools(shard: Shard) -> Iterator[Document]:
    for name, rows in shared_data.tool_talks(shard.shared).items():
        for messages, declared in shard.mine(rows):
            if shard.is_wanted("tool talk " + str(messages[-2].get("content")), HELD_BFCL if name == "bfcl" else HELD_TEXTS):
                yield talk(messages, declared)

    def make(rng: random.Random) -> tuple[list[str], Document]:
        messages, declared, keys = tool_calls.conversation(rng)
        return keys, talk(system_message(rng, rng.random() < 0.01) + messages, declared)

    yield from generated(shard, "tools", make)


def functions(shard: Shard) -> Iterator[Document]:
    """Those that people wrote: few, and apart from the made ones, so that the mix says how often they are read."""
    yield from talk_rows(shard, shared_data.functions(shard.shared), HELD_TASKS)


def code(shard: Shard) -> Iterator[Document]:
    def make(rng: random.Random) -> tuple[str, Document]:
        question, answer, key = code_writing.exercise(rng) if rng.random() < 0.95 else code_writing.result_question(rng)
        return key, talk(perhaps_under_system(chat.conversation(question, answer), rng))

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
    "prose": prose, "stories": asked_stories, "chat": chats, "memory": memories, "languages": refusals, "unknown": unknowns, "arithmetic": sums, "json": records, "tools": tools, "code": code, "functions": functions, "copying": copies, "facts": knowledge, "pictures": shown}


def documents(domain: str, shard: Shard) -> Iterator[Document]:
    return MAKERS[domain](shard)


def load_shared(shared: pathlib.Path) -> None:
    """Reads every shared set, so that processes forked after this have them."""
    for load in (shared_data.stories, shared_data.usual_pairs, shared_data.chats, shared_data.word_problems, shared_data.functions, shared_data.questions, shared_data.tool_talks):
        load(shared)
