"""The four tasks scored by exact match, and held-out prompts per domain on which acceptance is measured."""

from __future__ import annotations

import json
import pathlib
import re
from dataclasses import dataclass
from typing import Any, Iterator

from train import arithmetic, chat, json_extraction, picture_questions, pictures, tool_calls
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
        return "json " + question, Example(task, [{"role": "user", "content": question}], None, None, record)
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


def held_documents(domain: str, shared: pathlib.Path, count: int) -> Iterator[Any]:
    for number in range(4):
        yield from documents(domain, Shard(pathlib.Path(shared), "held", number, 4, count, HELD_SEED))


def prompts(domain: str, n: int, shared: pathlib.Path | str) -> list[str]:
    """Held-out prompts of a domain as rendered text, special tokens included, spread over its sources."""
    if domain == "pictures":
        raise ValueError("prompts with pictures come from examples('pictures')")
    found: dict[str, None] = {}
    for document in held_documents(domain, pathlib.Path(shared), n):
        found.setdefault(prompt_of(document.segments, domain))
    rng = rng_of(HELD_SEED, "prompts", domain)
    short = [prompt for prompt in found if len(prompt) < 4000]
    return rng.sample(short, min(n, len(short)))
