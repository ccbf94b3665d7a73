"""The four tasks scored by exact match, and held-out prompts per domain on which acceptance is measured."""

from __future__ import annotations

import json
import os
import pathlib
import re
from dataclasses import dataclass
from typing import Any, Iterator

from train import arithmetic, chat, code_writing, copying, facts, json_extraction, picture_questions, pictures, tool_calls, words
from train.documents import HELD_TASKS, Shard, documents
from train.split import rng_of, split_of

TASKS = ("arithmetic", "json", "tools", "pictures")
PROMPT_DOMAINS = ("prose", "chat", "code", "json", "arithmetic", "tools", "copying", "facts")
HELD_SEED = 1


@dataclass
class Example:
    """A question with the answer that is expected of the model."""

    task: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    picture: dict[str, Any] | None
    expected: Any

    def identity(self) -> str:
        """Equal only for the same question about the same thing."""
        return self.prompt() + (pictures.key_of(self.picture) if self.picture else "")

    def prompt(self) -> str:
        """The rendered prompt; a picture's placeholder is already its delimiters and 64 soft tokens."""
        return chat.expand_images(chat.render_prompt(self.messages, self.tools), pictures.SOFT_TOKENS)


def made(task: str, rng: Any) -> tuple[str, Example]:
    """An example and the key that decides its split."""
    if task == "arithmetic":
        question, _, key, value = arithmetic.bar_exercise(rng)
        return key, Example(task, [{"role": "user", "content": question}], None, None, value)
    if task == "json":
        question, _, record = json_extraction.extraction(rng)
        return json_extraction.key_of(question), Example(task, [{"role": "user", "content": question}], None, None, record)
    if task == "tools":
        messages, tools, name, arguments = tool_calls.call_exercise(rng)
        return "tools " + messages[0]["content"], Example(task, messages, tools, None, {"name": name, "arguments": arguments})
    if task == "pictures":
        picture = pictures.spec(rng)
        question, answer = picture_questions.question(picture, rng)
        return pictures.key_of(picture), Example(task, [picture_questions.first_message(question, rng)], None, picture, answer)
    raise ValueError(f"no such task: {task}")


def examples(task: str, count: int = 200, split: str = "held", seed: int = HELD_SEED) -> list[Example]:
    """Examples of a split; what is held out is never among the documents of the training split."""
    rng = rng_of(seed, "task", task, split)
    found: list[Example] = []
    seen: set[str] = set()
    while len(found) < count:
        key, example = made(task, rng)
        if split_of(key, HELD_TASKS) == split and example.identity() not in seen:
            seen.add(example.identity())
            found.append(example)
    return found


def answer_text(output: str) -> str:
    """What the model says before it ends its turn."""
    for end in (chat.TURN_END, chat.EOS):
        output = output.split(end)[0]
    return output.strip()


def score(example: Example, output_text: str) -> bool:
    """Whether the output, decoded with special tokens kept, is right."""
    text = answer_text(output_text)
    if example.task == "arithmetic":
        found = re.findall(r"[Tt]he answer is (-?\d+)", text)
        return bool(found) and int(found[-1]) == example.expected
    if example.task == "json":
        try:
            return json.loads(text) == example.expected
        except ValueError:
            return False
    if example.task == "tools":
        return tool_calls.parse_call(text) == (example.expected["name"], example.expected["arguments"])
    return text == example.expected


def prompt_of(segments: list[chat.Segment], domain: str) -> str:
    """The document up to the model's first word; of a story the first third."""
    if domain == "prose":
        text = segments[1].text
        cut = text.rfind(" ", 0, min(len(text) // 3, 240))
        return chat.BOS + text[:max(cut, 1)]
    return segments[0].text


def held_out(task: str) -> list[Example]:
    """The 200 examples on which a task is scored."""
    return examples(task, 200)


def find_shared() -> pathlib.Path | None:
    """Where the shared sets are: $PACELINE_SHARED, or beside or inside the project."""
    project = pathlib.Path(__file__).resolve().parents[1]
    for place in (os.environ.get("PACELINE_SHARED"), project.parent / "shared", project / "shared", pathlib.Path("shared"), pathlib.Path("../shared")):
        if place and (pathlib.Path(place) / "data" / "stories").is_dir():
            return pathlib.Path(place)
    return None


def held_documents(domain: str, shared: pathlib.Path, count: int) -> Iterator[Any]:
    for number in range(4):
        yield from documents(domain, Shard(shared, "held", number, 4, count, HELD_SEED))


def made_question(domain: str, rng: Any) -> tuple[str, str]:
    """The key that decides the split, and the prompt."""
    if domain == "arithmetic":
        question, _, key, _ = arithmetic.exercise(rng)
    elif domain == "code":
        question, _, key = code_writing.exercise(rng)
    elif domain == "copying":
        question = copying.exercise(rng, [])[0]
        key = "copying " + question
    else:
        key, example = made(domain, rng)
        return key, example.prompt()
    return key, chat.render_prompt([{"role": "user", "content": question}])


def made_prompts(domain: str, n: int) -> list[str]:
    """Prompts that need no shared sets."""
    rng = rng_of(HELD_SEED, "made prompts", domain)
    found: dict[str, None] = {}
    while len(found) < n:
        animal, name, adjective = rng.choice(words.ANIMALS), rng.choice(words.FIRST_NAMES), rng.choice(words.ADJECTIVES)
        if domain == "prose":
            found.setdefault(chat.BOS + rng.choice([f"Once upon a time, there was a {adjective} {animal} named {name}.", f"One day, {name} found a {adjective} {rng.choice(words.THINGS)}.",
                                                    f"{name} had a {animal}. The {animal} was very {adjective}."]))
            continue
        if domain == "chat":
            question = rng.choice([f"Tell me a story about a {animal} named {name}.", f"Write a short story about a {adjective} {animal}.", facts.from_tables(rng)[0]])
        elif domain == "facts":
            question = facts.from_tables(rng)[0]
        else:
            key, prompt = made_question(domain, rng)
            if split_of(key, HELD_TASKS) == "held":
                found.setdefault(prompt)
            continue
        found.setdefault(chat.render_prompt([{"role": "user", "content": question}]))
    return list(found)


def prompts(domain: str, n: int, shared: pathlib.Path | str | None = None) -> list[str]:
    """Held-out prompts of a domain as rendered text, special tokens included, from the shared sets and the generators.
    Where there are no shared sets, made ones stand in."""
    if domain == "pictures":
        raise ValueError("prompts with pictures come from held_out('pictures')")
    place = pathlib.Path(shared) if shared else find_shared()
    if place is None:
        return made_prompts(domain, n)
    found: dict[str, None] = {}
    for document in held_documents(domain, place, 2 * n):
        found.setdefault(prompt_of(document.segments, domain))
    rng = rng_of(HELD_SEED, "prompts", domain)
    short = [prompt for prompt in found if len(prompt) < 3000]
    return rng.sample(short, min(n, len(short)))
