"""Python functions put together from parts, each checked by running it. The key of a task is the task itself, so what is held out is another task and not another wording."""

from __future__ import annotations

import ast
import copy
import random
import re
import subprocess
import sys
from typing import Any, Callable

from train import code_requests as ask_for
from train import code_tasks_classes, code_tasks_data, code_tasks_sequences, code_tasks_steps, words
from train.code_classics import classic
from train.code_parts import Task
from train.held import Answer, Held

FAMILIES: list[tuple[Callable[[random.Random], Task], int]] = [
    (code_tasks_sequences.over_numbers, 20), (code_tasks_sequences.over_words, 12), (code_tasks_sequences.over_characters, 6), (code_tasks_sequences.quantified, 6), (code_tasks_sequences.grouped, 7), (code_tasks_steps.chained, 14),
    (code_tasks_steps.conditional, 7), (code_tasks_steps.formula, 5), (code_tasks_steps.measured, 4), (code_tasks_steps.formatted, 5), (code_tasks_data.entries, 6), (code_tasks_data.records, 9), (code_tasks_data.two_lists, 5),
    (code_tasks_data.tables, 3), (code_tasks_data.neighbours, 4), (code_tasks_data.dates, 2)]
OTHER_NAMES = {"numbers": ["nums", "values", "xs", "data", "items", "lst", "a"], "words": ["strings", "items", "lst", "tokens"], "text": ["s", "string", "sentence", "value"], "n": ["number", "num", "x", "value"], "items": ["values", "lst", "data", "elements"], "data": ["d", "mapping", "table", "entries"],
               "rows": ["matrix", "grid", "table"], "strings": ["items", "lst", "texts"], "names": ["people", "lst"], "values": ["items", "numbers"]}
FREE_NAMES = ["process", "select", "compute", "pick", "collect", "transform", "work", "f", "solve", "g", "func", "my_function", "helper", "run", "task", "answer", "result_of", "calc", "apply", "build", "handle", "convert", "analyse", "do_it", "solution"]


def indented(body: str, depth: int = 1) -> str:
    return "\n".join("    " * depth + line for line in body.split("\n"))


def composed(rng: random.Random) -> Task:
    return rng.choices([make for make, _ in FAMILIES], weights=[weight for _, weight in FAMILIES])[0](rng)


def with_other_names(task: Task, rng: random.Random) -> Task:
    """The task with a parameter called otherwise."""
    name = task.parameters[0]
    other = rng.choice(OTHER_NAMES.get(name, [name]))
    used = set(re.findall(r"\w+", task.body + " " + (task.loop or ""))) | set(task.parameters)
    if other in used or len(re.findall(rf'"[^"]*\b{name}\b[^"]*"', task.body)) or re.search(rf"\b{name}\b", task.what):
        return task
    body, loop = (re.sub(rf"(?<!\.)\b{name}\b", other, code) if code else code for code in (task.body, task.loop))
    return task._replace(parameters=[other] + task.parameters[1:], body=body, loop=loop)


def invented_name(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(FREE_NAMES)
    if kind < 0.8:
        return f"{rng.choice(words.VERBS)}_{rng.choice(words.THINGS + words.ANIMALS)}"
    return words.invented_word(rng)


def code_of(task: Task, name: str, body: str, docstring: bool) -> str:
    head = f"def {name}({', '.join(task.parameters)}):\n"
    if docstring:
        head += f'    """{docstring_of(task.what)}"""\n'
    return head + indented(body.replace("{n}(", name + "(") if "classic" in task.key else body)


def docstring_of(what: str) -> str:
    text = ask_for.infinitive(what).replace('"', "'")
    return f"{text[0].upper()}{text[1:]}."


def ran(code: str, name: str, task: Task, rng: random.Random, count: int) -> list[tuple[tuple[Any, ...], Any]]:
    """Inputs, and what the function gives for them."""
    space: dict[str, Any] = {}
    exec(code, space)  # our own templates
    found = []
    for _ in range(count):
        arguments = task.inputs(rng)
        try:
            found.append((arguments, space[name](*copy.deepcopy(arguments))))
        except (ValueError, IndexError, ZeroDivisionError):  # the largest of nothing
            continue
    return found


def call_of(name: str, arguments: tuple[Any, ...]) -> str:
    return f"{name}({', '.join(repr(argument) for argument in arguments)})"


def fenced(code: str) -> str:
    return f"```python\n{code}\n```"


def asked(task: Task, rng: random.Random) -> tuple[str, str, str | None]:
    """A request for the task, the answer, and the name if the request gives one. Parameters are called otherwise only where the request says so."""
    if rng.random() < 0.4:
        renamed = with_other_names(task, rng)
        question, answer, name = request_for(renamed, rng)
        if re.search(rf"\b{renamed.parameters[0]}\b", question):
            return question, answer, name
    return request_for(task, rng)


def request_for(task: Task, rng: random.Random) -> tuple[str, str, str | None]:
    kind = rng.random()
    is_named = kind < 0.62 or task.parameters[0] not in ("numbers", "words", "text", "n", "items", "data", "rows", "strings", "names", "values", "date") or len(task.parameters) > 1
    name = (task.name if rng.random() < 0.6 else invented_name(rng)) if is_named else task.name
    wish, body, docstring = "", task.body, False
    dice = rng.random()
    if dice < 0.08:
        docstring = True
        code = code_of(task, name, body, True)
        head = code.split('"""\n')[0] + '"""'
        return ask_for.completion(head, rng), fenced(code), name
    if task.loop and dice < 0.2:
        wish, body = rng.choice(ask_for.LOOPED), task.loop
    elif dice < 0.25:
        wish, docstring = rng.choice(ask_for.DOCUMENTED), True
    code = code_of(task, name, body, docstring)
    if 0.85 < dice < 0.92 and is_named and not wish:
        shown = [f"{call_of(name, arguments)} returns {result!r}" for arguments, result in ran(code, name, task, rng, 1) if len(repr(arguments)) + len(repr(result)) < 110]
        wish = rng.choice([" For example, {}.", " Example: {}.", " For instance {}."]).format(shown[0]) if shown else ""
    if dice > 0.94:
        lines = [f"assert {call_of(name, arguments)} == {result!r}" for arguments, result in ran(code, name, task, rng, rng.randint(1, 3)) if len(repr(arguments)) + len(repr(result)) < 160]
        if lines:
            return ask_for.request(task.what, name if is_named else None, task.parameters, rng, rng.choice(ask_for.TESTED)), fenced(code + "\n\n" + "\n".join(lines)), name if is_named else None
    return ask_for.request(task.what, name if is_named else None, task.parameters, rng, wish), fenced(code), name if is_named else None


def exercise(rng: random.Random) -> tuple[str, str, str]:
    """A request, an answer with the code, and the key that decides the split. The functions everybody asks for are trained on in most wordings."""
    dice = rng.random()
    if dice < 0.08:
        made = code_tasks_classes.made(rng)
        return made.ask, fenced(made.code), made.key
    is_classic = dice < 0.24
    task = classic(rng) if is_classic else composed(rng)
    question, answer, _ = asked(task, rng)
    return question, answer, task.key + question if is_classic else task.key


def result_question(rng: random.Random) -> tuple[str, str, str]:
    """What a call gives."""
    while True:
        task = classic(rng) if rng.random() < 0.5 else composed(rng)
        code = code_of(task, task.name, task.body, False)
        found = ran(code, task.name, task, rng, 1)
        if found and len(repr(found[0])) < 90:
            call = call_of(task.name, found[0][0])
            ask = rng.choice(["What does {c} return?\n\n```python\n{f}\n```", "```python\n{f}\n```\nWhat is the result of {c}?", "What does this print?\n\n```python\n{f}\n\nprint({c})\n```", "{f}\n\nWhat does {c} give?"])
            shown = str(found[0][1]) if "print" in ask else repr(found[0][1])
            return ask.replace("{c}", call).replace("{f}", code), shown, task.key + call if "classic" in task.key else task.key


def code_in(answer: str) -> str:
    """The code of an answer: what stands in its first fence, or all of it."""
    found = re.search(r"```(?:python)?\n(.*?)(?:```|$)", answer, re.S)
    return found.group(1) if found else answer


SAME = """
def _same(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) < 1e-9 * max(1, abs(a), abs(b))
    if isinstance(a, (list, tuple)) and type(a) is type(b):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    return type(a) is type(b) and a == b
"""


def passes(code: str, checks: list[str], seconds: float = 10.0) -> bool:
    """Whether the code runs with the checks behind it, in a process of its own."""
    text = code + "\n" + SAME + "\n".join(checks) + "\nprint('all checks passed')\n"
    try:
        done = subprocess.run([sys.executable, "-I", "-c", text], capture_output=True, text=True, timeout=seconds, stdin=subprocess.DEVNULL)
    except (subprocess.TimeoutExpired, ValueError):
        return False
    return done.returncode == 0 and done.stdout.endswith("all checks passed\n")


def without_asserts(code: str) -> str:
    """The code without asserts of its own: what is judged is the function."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return code
    tree.body = [one for one in tree.body if not isinstance(one, ast.Assert)]
    return ast.unparse(tree)


def functions_in(code: str) -> list[str]:
    try:
        return [one.name for one in ast.parse(code).body if isinstance(one, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return []


def held_code(rng: random.Random) -> Held:
    """A task made from parts, asked for in any way; its code must give what ours gives."""
    if rng.random() < 0.05:
        made = code_tasks_classes.made(rng)
        return Held(made.key, [{"role": "user", "content": made.ask}], lambda answer: passes(code_in(answer.text), made.checks))
    task = composed(rng)
    question, answer, name = asked(task, rng)
    ours = functions_in(code_in(answer))[-1]
    cases = ran(code_in(answer), ours, task, rng, 12)

    def right(given: Answer) -> bool:
        code = without_asserts(code_in(given.text))
        called = [name] if name else functions_in(code)[-1:]
        return bool(called) and passes(code, [f"assert _same({call_of(called[0], arguments)}, {result!r})" for arguments, result in cases])

    return Held(task.key, [{"role": "user", "content": question}], right)
