"""Reads the shared text sets, cleans them, and puts their rows into one form: texts or conversations."""

from __future__ import annotations

import json
import lzma
import pathlib
import re
from functools import lru_cache
from typing import Any, Iterator

from train.arithmetic import worked_out
from train.words import BOYS, GIRLS

PLAIN = str.maketrans({"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u2026": "...", "\u2013": "-", "\u2014": "-", "\u00a0": " ",
                       "\u2009": " ", "\u202f": " ", "\u200b": None, "\ufeff": None, "\r": None, "\u00b4": "'", "\u2212": "-", "\u00d7": "x", "\u2022": "-"})
# Small talk that contradicts what the model says about itself, or that it should not repeat.
LEFT_OUT_TOPICS = {"ai", "botprofile", "gossip", "psychology", "humor", "politics", "emotion", "coding", "conversations"}
LEFT_OUT_ANSWERS = {"Oh, I don't have a name.", "People made me out of code and a dash of ingenuity.", "I'm a bot who was created by humans.", "BFFs!", "I like you lots!",
                    "I heart you too!", "You're pretty neat.", "Pretty much this.", "I'm here to chat and to try to help out.", "Swing and a miss.", "Okay.", "No way."}
MARKUP = re.compile(r"<\|?[a-z_\"]+\|?>")
MAX_CHARS = 6000


def clean(text: str) -> str:
    """Typewriter quotes and dashes, no odd spaces."""
    if not text.isascii() or "\r" in text:
        text = text.translate(PLAIN)
    if " \n" in text or "\t\n" in text:
        text = re.sub(r"[ \t]+\n", "\n", text)
    if "\n\n\n" in text:
        text = re.sub(r"\n{3,}", "\n\n", text)
    return text.strip()


def is_plain(text: str) -> bool:
    """English enough: hardly any character beyond ASCII, and nothing that looks like the chat format's own tokens."""
    few = text.isascii() or sum(ord(letter) > 126 for letter in text) * 100 <= len(text)
    return few and not ("<" in text and MARKUP.search(text))


def rows(shared: pathlib.Path, name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(pathlib.Path(shared) / "data" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def pieces(text: str) -> list[str]:
    """The text, cut between paragraphs where it is long."""
    found: list[str] = []
    for paragraph in text.split("\n"):
        if found and len(found[-1]) + len(paragraph) < MAX_CHARS:
            found[-1] += "\n" + paragraph
        else:
            found.append(paragraph[:MAX_CHARS])
    return found


_more_stories: list[pathlib.Path] = []


def add_stories(path: pathlib.Path) -> None:
    """A file of further stories, one {"text": ...} a line, to be read with the generated ones. Call it before stories()."""
    _more_stories.append(path)


def generated_rows(shared: pathlib.Path) -> Iterator[dict[str, Any]]:
    yield from rows(shared, "stories/generated")
    for path in _more_stories:
        with open(path, encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.strip())


@lru_cache(maxsize=None)
def stories(shared: pathlib.Path) -> dict[str, list[str]]:
    """Texts by set, without doubles."""
    seen: set[int] = set()
    found: dict[str, list[str]] = {}
    for name in ("tinystories", "generated", "aesop", "children_books"):
        found[name] = []
        for row in generated_rows(shared) if name == "generated" else rows(shared, f"stories/{name}"):
            text = clean(row["text"])
            if name == "aesop":
                text = f"{row['title']}\n{text}" + (f"\nMoral: {clean(row['moral'])}" if row.get("moral") else "")
            mark = hash(text[:300])
            if len(text) < 60 or mark in seen or not is_plain(text):
                continue
            seen.add(mark)
            found[name].append(text)
    return found


SENTENCE = re.compile(r"(?<=[.!?])[\"']? +|\n+")
DOUBLED = re.compile(r"\b(\w{3,}) \1\b", re.I)
ODD = re.compile(r"[^\n -~]|[<>{}\[\]|_*#@\\\\/=~^]|https?:|\d{3}")
GRIM = re.compile(r"\b(die|dies|died|dead|death|kill\w*|murder\w*|blood\w*|gun|guns|suicide|drunk|beer|wine|cigar\w*|devil|hell|knife|shot|shoot|eaten|ate (?:him|her|them)|stab\w*|hate|hates|hated|stupid|ugly|fat|razor)\b", re.I)
BLEAK = re.compile(r"\b(never (?:got|saw|came|went|found|played)|all alone|was gone|were gone|cried|crying|too late|hurt|was sad|were sad|very sad|angry)\b", re.I)
SEX = {"girl": "she", "boy": "he", "princess": "she", "prince": "he", "king": "he", "queen": "she", "lady": "she", "man": "he", "woman": "she"}
NAMED_ONE = re.compile(r"\b(girl|boy|princess|prince|king|queen|lady|man|woman) (?:named|called) ([A-Z][a-z]+)")


def sentences(text: str) -> list[str]:
    return [one.strip(" \"'") for one in SENTENCE.split(text) if one.strip(" \"'")]


def is_steady(text: str) -> bool:
    """Whether who is named first stays in the story, as "she" or "he"."""
    named = NAMED_ONE.search(text[:300])
    if not named:
        return True
    kind, name = named.groups()
    if len(re.findall(rf"\b{name}\b", text)) < 3 or any(other != kind and other in SEX and one == name for other, one in NAMED_ONE.findall(text)):
        return False
    pronoun = re.search(r"\b(she|he)\b", text[named.end():named.end() + 120], re.I)
    return not pronoun or pronoun.group(1).lower() == SEX[kind] and not (name in GIRLS and SEX[kind] == "he" or name in BOYS and SEX[kind] == "she")


def is_told_well(text: str) -> bool:
    """Whether a story is one to learn from: whole, of plain letters, not too long, no sentence twice, few phrases again and again."""
    if not 250 < len(text) < 1900 or text[-1] not in ".!?\"" or not text[0].isupper() and text[0] != '"':
        return False
    if ODD.search(text) or GRIM.search(text) or DOUBLED.search(text) or BLEAK.search(text[-160:]) or text.count('"') % 2:
        return False
    said = [one.lower().rstrip(".!?") for one in sentences(text)]
    if len(said) < 5 or len(set(said)) < len(said) or max(map(len, said)) > 260:
        return False
    tokens = re.findall(r"[a-z']+", text.lower())
    fours = list(zip(tokens, tokens[1:], tokens[2:], tokens[3:]))
    return len(set(fours)) > 0.95 * len(fours) and is_steady(text)


WORD = re.compile(r"[a-z']+")


@lru_cache(maxsize=None)
def usual_pairs(shared: pathlib.Path) -> frozenset[tuple[str, str]]:
    """Neighbouring words of the stories that people wrote or chose."""
    found: set[tuple[str, str]] = set()
    for text in stories(shared)["tinystories"]:
        tokens = WORD.findall(text.lower())
        found.update(zip(tokens, tokens[1:]))
    return frozenset(found)


def usual_share(text: str, shared: pathlib.Path) -> float:
    """Which share of a story's neighbouring words also stand together elsewhere: low where a small model strung words together that do not go together."""
    tokens = WORD.findall(text.lower())
    known = usual_pairs(shared)
    return sum(pair in known for pair in zip(tokens, tokens[1:])) / max(1, len(tokens) - 1)


def cleaned_messages(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The conversation in plain letters, up to the model's last word; none if there is nothing to learn from it."""
    result = []
    for message in messages:
        message = dict(message)
        content = message.get("content")
        if isinstance(content, str):
            message["content"] = clean(content)
            if not is_plain(message["content"]):
                return None
        result.append(message)
    while result and result[-1]["role"] != "assistant":
        result.pop()
    if not result or result[0]["role"] == "assistant" or not all(one.get("content") or one.get("tool_calls") for one in result if one["role"] == "assistant"):
        return None
    return result


def first_turns(messages: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """As many turns as fit into `limit` characters."""
    total, kept = 0, []
    for message in messages:
        total += len(str(message.get("content") or "")) + len(json.dumps(message.get("tool_calls") or ""))
        if total > limit and kept:
            break
        kept.append(message)
    while kept and kept[-1]["role"] != "assistant":
        kept.pop()
    return kept


@lru_cache(maxsize=None)
def chats(shared: pathlib.Path) -> dict[str, list[list[dict[str, Any]]]]:
    """Conversations by set. Of the four voices one is taken, so that the same words get the same answer."""
    found: dict[str, list[list[dict[str, Any]]]] = {}
    seen: set[str] = set()
    for name in ("ms_personality_chat", "rasbt_instructions", "chatterbot", "self_instruct_human", "oasst_en_100", "topical_chat"):
        found[name] = []
        for row in rows(shared, f"chat/{name}"):
            if row.get("style", "Friendly") != "Friendly" or row.get("topic") in LEFT_OUT_TOPICS or row["messages"][-1]["content"] in LEFT_OUT_ANSWERS:
                continue
            messages = cleaned_messages(row["messages"])
            kept = first_turns(messages, 2400) if messages else []
            said = json.dumps(kept)
            if len(kept) >= 2 and said not in seen:
                seen.add(said)
                found[name].append(kept)
    return found


@lru_cache(maxsize=None)
def word_problems(shared: pathlib.Path) -> list[list[dict[str, Any]]]:
    """GSM8K's training part and SVAMP's problems."""
    found = [messages for row in rows(shared, "math/gsm8k_train") if (messages := cleaned_messages(row["messages"]))]
    for row in rows(shared, "math/word_problems"):
        if "SVAMP" not in row["source"]:
            continue
        equation = re.sub(r"(\d+)\.0\b", r"\1", row["equation"]).replace("*", "x").strip("() ")
        answer = row["answer"]
        shown = str(int(answer)) if float(answer).is_integer() else str(answer)
        if "(" in equation or ")" in equation:
            equation = re.sub(r"\(\s*(.*?)\s*\)", r"(\1)", equation)
            if equation.count("(") != equation.count(")"):
                continue
        two = re.fullmatch(r"(\d+) ([-+x/]) (\d+)", equation)
        worked = f"{equation} = {shown}.\nThe answer is {shown}."
        if two and int(answer) == answer and max(int(two[1]), int(two[3])) < 10000:
            worked = worked_out(two[2], int(two[1]), int(two[3]))
        found.append([{"role": "user", "content": clean(row["question"]).replace("$ ", "$")}, {"role": "assistant", "content": worked}])
    return found


@lru_cache(maxsize=None)
def functions(shared: pathlib.Path) -> list[list[dict[str, Any]]]:
    """Requests for a Python function with code that answers them."""
    found = []
    for row in rows(shared, "code/mbpp"):
        messages = cleaned_messages(row["messages"])
        if messages and len(messages[-1]["content"]) < 1500:
            found.append(messages)
    for row in rows(shared, "code/python_functions"):
        code, instruction = row["code"].replace("\r", ""), clean(row["instruction"]).split("\n")[0]
        if len(code) < 1500 and is_plain(code) and len(instruction) > 8:
            ask = f"Write a Python function {row['name']}: {instruction[0].lower()}{instruction[1:]}"
            found.append([{"role": "user", "content": ask}, {"role": "assistant", "content": f"```python\n{code.strip()}\n```"}])
    return found


@lru_cache(maxsize=None)
def questions(shared: pathlib.Path) -> list[list[dict[str, Any]]]:
    """Everyday questions: with choices, or to be answered with yes or no and why."""
    found = []
    for row in rows(shared, "facts/commonsenseqa"):
        choices = ", ".join(row["choices"])
        found.append([{"role": "user", "content": f"{clean(row['question'])}\nChoices: {clean(choices)}"}, {"role": "assistant", "content": clean(row["answer"])}])
    for row in rows(shared, "facts/strategyqa"):
        found.append([{"role": "user", "content": clean(row["question"])}, {"role": "assistant", "content": clean(row["target"])}])
    return [messages for messages in found if all(is_plain(message["content"]) and message["content"] for message in messages)]


def type_of(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"type": "array"}
    return {"type": "object"} if isinstance(value, dict) else {"type": "string"}


def shop_tools(conversations: list[list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Declarations for functions of which only calls are known."""
    parameters: dict[str, dict[str, Any]] = {}
    for messages in conversations:
        for message in messages:
            for call in message.get("tool_calls") or []:
                own = parameters.setdefault(call["function"]["name"], {})
                for key, value in (call["function"].get("arguments") or {}).items():
                    own.setdefault(key, type_of(value))
    return {name: {"type": "function", "function": {"name": name, "description": name.replace("_", " ").capitalize() + " of the coffee shop",
                                                    "parameters": {"type": "object", "properties": own}}} for name, own in parameters.items()}


Talk = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@lru_cache(maxsize=None)
def tool_talks(shared: pathlib.Path) -> dict[str, list[Talk]]:
    """Conversations with the tools that they may use."""
    found: dict[str, list[Talk]] = {"bfcl": [], "glaive": [], "coffee": []}
    for name, kind in (("bfcl_v4", "bfcl"), ("glaive_toolcall_300", "glaive")):
        for row in rows(shared, f"tools/{name}"):
            messages = cleaned_messages(row["messages"])
            tools = row.get("tools") or []
            if not messages or len(json.dumps(tools)) > 3500 or not is_plain(json.dumps(tools)):
                continue
            kept = first_turns(messages, 2500)
            if len(kept) >= 2:
                found[kind].append((kept, tools))
    coffee = [messages for row in rows(shared, "tools/taskmaster4_coffee") if (messages := cleaned_messages(row["messages"]))]
    declared = shop_tools(coffee)
    for messages in coffee:
        kept = first_turns(messages, 1800)
        used = sorted({call["function"]["name"] for message in kept for call in message.get("tool_calls") or []})
        if len(kept) >= 2 and used:
            found["coffee"].append((kept, [declared[name] for name in used]))
    return found
