"""Held-out exercises, asked of the built program over HTTP: `python3 -m train.program_tasks --program build/release/paceline`.

Prints how many answers are right, task by task, beside the bars that the shipped model is to meet; with --speculation how many tokens a
verify gives and what drafts save. Greedy, but for stories, which are told as the model's own defaults have it, with a seed each."""
from __future__ import annotations

import argparse
import base64
import contextlib
import importlib
import json
import os
import pathlib
import resource
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, NamedTuple

from train import pictures, png
from train.documents import HELD_TASKS
from train.held import Answer, Held
from train.program import Refused, Server, started
from train.split import rng_of, split_of

PROJECT = pathlib.Path(__file__).resolve().parents[1]
SEED = 1
MOST_TOKENS = 640
JUDGE_S = 30
# What a small slice must reach at least, of each task and of all together: a model that meets the bars has more.
SLICE_TASK, SLICE_ALL = 0.5, 0.85


class Task(NamedTuple):
    """Who makes its exercises, and which share of them is to be right."""

    module: str
    function: str
    bar: float | None
    is_greedy: bool = True

    def maker(self) -> Callable[[Any], Held]:
        return getattr(importlib.import_module("train." + self.module), self.function)


TASKS: dict[str, Task] = {
    "sums": Task("arithmetic", "held_sum", 0.95), "differences": Task("arithmetic", "held_difference", 0.95), "products": Task("arithmetic", "held_product", 0.95),
    "divisions": Task("arithmetic", "held_division", 0.95), "json": Task("json_extraction", "held_json", 0.95), "code": Task("code_writing", "held_code", 0.85),
    "calls": Task("tool_calls", "held_call", 0.97), "no-calls": Task("tool_calls", "held_no_call", 0.95), "results": Task("tool_calls", "held_result", 0.95),
    "memory": Task("memory", "held_fact", 0.95), "pictures-first": Task("picture_questions", "held_picture_first", 0.93),
    "pictures-behind": Task("picture_questions", "held_picture_behind", 0.93), "stories": Task("story_requests", "held_story", 0.90, False),
    "languages": Task("languages", "held_refusal", 0.95), "unknown": Task("unknown", "held_unknown", None)}


class Asked(NamedTuple):
    """An exercise, what the program said, and whether that is right; `failed`: it said nothing."""

    held: Held
    answer: Answer
    is_right: bool
    failed: str = ""


def exercises(name: str, count: int) -> list[Held]:
    """So many held-out ones, no two alike; fewer where a generator has no more."""
    rng, make = rng_of(SEED, "program", name), TASKS[name].maker()
    found: dict[str, Held] = {}
    for _ in range(2000 * count):
        one = make(rng)
        if split_of(one.key, HELD_TASKS) == "held":
            found.setdefault(json.dumps([one.key, one.messages]), one)
        if len(found) == count:
            break
    return list(found.values())


def part_on_wire(part: dict[str, Any], picture: dict[str, Any] | None) -> dict[str, Any]:
    if part["type"] != "image":
        return part
    data = base64.b64encode(png.encoded(pictures.plain_rows(picture))).decode()
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}}


def on_wire(message: dict[str, Any], picture: dict[str, Any] | None) -> dict[str, Any]:
    """A message of train.chat as OpenAI's clients write it."""
    sent = {key: value for key, value in message.items() if key != "worth"}
    if message.get("tool_calls"):
        sent["tool_calls"] = [one | {"function": one["function"] | {"arguments": json.dumps(one["function"]["arguments"])}} for one in message["tool_calls"]]
    if isinstance(message.get("content"), list):
        sent["content"] = [part_on_wire(part, picture) for part in message["content"]]
    elif message["role"] == "tool" and not isinstance(message["content"], str):
        sent["content"] = json.dumps(message["content"])
    return sent


def body_of(held: Held, number: int, is_greedy: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"messages": [on_wire(message, held.picture) for message in held.messages], "max_tokens": MOST_TOKENS}
    if held.tools:
        body["tools"] = held.tools
    return body | ({"temperature": 0} if is_greedy else {"seed": number})


def arguments_of(text: str) -> dict[str, Any]:
    """Those of a call; of one that was cut off its text, under no name."""
    try:
        return json.loads(text)
    except ValueError:
        return {"": text}


def answer_of(reply: dict[str, Any]) -> Answer:
    message = reply["choices"][0]["message"]
    calls = [(call["function"]["name"], arguments_of(call["function"]["arguments"])) for call in message.get("tool_calls") or []]
    return Answer(message.get("content") or "", calls)


def is_right(held: Held, answer: Answer) -> bool:
    """Judged by a process of its own: answers may be code, which is run and may never end."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nothing, stream)
            os.setpgid(0, 0)
            signal.alarm(JUDGE_S)
            resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
            os._exit(0 if held.right(answer) else 1)
        except BaseException:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    with contextlib.suppress(ProcessLookupError):  # whoever it started and left behind
        os.killpg(child, signal.SIGKILL)
    return status == 0


def answers(server: Server, name: str, helds: list[Held], at_once: int) -> list[Answer | Refused]:
    def ask(pair: tuple[int, Held]) -> Answer | Refused:
        try:
            return answer_of(server.asked("/v1/chat/completions", body_of(pair[1], pair[0], TASKS[name].is_greedy)))
        except Refused as error:
            return error

    found: list[Answer | Refused] = []
    with ThreadPoolExecutor(at_once) as pool:
        for answer in pool.map(ask, enumerate(helds)):
            found.append(answer)
            tell(f"{name}: {len(found)} of {len(helds)}")
    tell("")
    return found


def judged(held: Held, answer: Answer | Refused) -> Asked:
    if isinstance(answer, Refused):
        return Asked(held, Answer(""), False, str(answer))
    return Asked(held, answer, is_right(held, answer))


def tell(text: str) -> None:
    """What is going on, on a terminal alone."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def shown(message: dict[str, Any]) -> str:
    content = message.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    calls = [f"{call['function']['name']} {json.dumps(call['function']['arguments'], ensure_ascii=False)}" for call in message.get("tool_calls") or []]
    return f"  {message['role']}: " + " ".join(filter(None, [text, *calls])).replace("\n", "\n    ")


def show(asked: Asked) -> None:
    """A wrong answer with all that was asked."""
    for tool in asked.held.tools or []:
        print("  tool: " + json.dumps(tool["function"], ensure_ascii=False))
    if asked.held.picture:
        print("  picture: " + pictures.key_of(asked.held.picture))
    for message in asked.held.messages:
        print(shown(message))
    for name, arguments in asked.answer.calls:
        print(f"  → call {name} {json.dumps(arguments, ensure_ascii=False)}")
    if asked.failed or asked.answer.text or not asked.answer.calls:
        print("  → " + (asked.failed or asked.answer.text).replace("\n", "\n    "))
    print(flush=True)


def row_of(name: str, asked: list[Asked]) -> dict[str, Any]:
    right, bar = sum(one.is_right for one in asked), TASKS[name].bar
    return {"task": name, "right": right, "asked": len(asked), "failed": sum(bool(one.failed) for one in asked), "share": right / max(len(asked), 1), "bar": bar,
            "is_met": bar is None or right >= bar * len(asked)}


def print_row(row: dict[str, Any]) -> None:
    bar = "–" if row["bar"] is None else f"{row['bar']:.0%}"
    met = "–" if row["bar"] is None else "yes" if row["is_met"] else "no"
    print(f"{row['task']:16} {row['right']:5} of {row['asked']:<5} {row['share']:7.1%} {bar:>6}  {met}" + (f"  ({row['failed']} not answered)" if row["failed"] else ""), flush=True)


def run_tasks(server: Server, options: argparse.Namespace) -> list[dict[str, Any]]:
    print(f"{'task':16} {'right':14} {'share':>7} {'bar':>6}  met")
    rows = []
    for name in options.tasks:
        helds = exercises(name, options.count)
        asked = [judged(*pair) for pair in zip(helds, answers(server, name, helds, options.at_once))]
        rows.append(row_of(name, asked))
        print_row(rows[-1])
        for one in [one for one in asked if not one.is_right][:options.show_wrong]:
            show(one)
    return rows


def slice_misses(rows: list[dict[str, Any]]) -> list[str]:
    """Where fewer are right than a model that meets the bars can have by chance; tasks without a bar do not count."""
    rows = [row for row in rows if row["bar"] is not None]
    missed = [f"{row['task']}: {row['right']} of {row['asked']}" for row in rows if row["right"] < SLICE_TASK * row["asked"]]
    right, asked = sum(row["right"] for row in rows), sum(row["asked"] for row in rows)
    return missed + ([f"all together: {right} of {asked}"] if right < SLICE_ALL * asked else [])


def chosen_tasks(text: str) -> list[str]:
    names = text.split(",")
    wrong = [name for name in names if name not in TASKS]
    if wrong:
        raise argparse.ArgumentTypeError(f"no such task: {', '.join(wrong)}; there are {', '.join(TASKS)}")
    return names


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=PROJECT / "build/release/paceline")
    parser.add_argument("--model", type=pathlib.Path, default=PROJECT / "models/default")
    parser.add_argument("--url", help="a server that runs already, instead of one of our own")
    parser.add_argument("--count", type=int, default=200, help="exercises of each task")
    parser.add_argument("--tasks", type=chosen_tasks, default=list(TASKS), help="separated by commas: " + ",".join(TASKS))
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--show-wrong", type=int, default=0, metavar="N", help="so many wrong answers of each task, with what was asked")
    parser.add_argument("--speculation", action="store_true", help="tokens per verify and what drafts save, instead of the tasks")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="the table once more")
    ends = parser.add_mutually_exclusive_group()
    ends.add_argument("--strict", action="store_true", help="exit code 1 where a bar is missed")
    ends.add_argument("--slice", action="store_true", help="exit code 1 where few exercises show that something is broken")
    options = parser.parse_args()
    if options.speculation and (options.url or options.slice):
        parser.error("--speculation starts servers of its own, and has no slice")
    return options


def main() -> int:
    options = parsed()
    if options.speculation:
        from train import program_speculation
        rows = program_speculation.run(options)
    elif options.url:
        rows = run_tasks(Server(options.url), options)
    else:
        with started(options.program, options.model) as server:
            rows = run_tasks(server, options)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    missed = slice_misses(rows) if options.slice else [row for row in rows if not row["is_met"]] if options.strict else []
    if options.slice and missed:
        print("too few right: " + "; ".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
