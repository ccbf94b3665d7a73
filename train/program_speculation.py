"""What drafts give, seen from outside the built program: tokens per verify at depth 4, and how much sooner greedy texts are there than without."""
from __future__ import annotations

import argparse
import time
from typing import Any

from train import tasks
from train.program import Server, started

DEPTH = 4
PROMPTS = 32
MOST_TOKENS = 128
# Tokens per verify that the shipped drafter is to reach.
BARS = {"prose": 2.9, "code": 3.6, "json": 4.0, "arithmetic": 3.6}


def prompt_ids(server: Server, text: str) -> list[int]:
    return server.asked("/tokenize", {"prompt": text, "add_special_tokens": False})["tokens"]


def told(server: Server, ids: list[int], more: dict[str, Any]) -> tuple[str, float, dict[str, Any]]:
    """A text, the seconds between its first piece and its end, and what it took."""
    text, first, last, usage = "", 0.0, 0.0, {}
    for piece in server.streamed("/v1/completions", {"prompt": ids, "max_tokens": MOST_TOKENS, "temperature": 0, **more}):
        last = time.monotonic()
        first = first or last
        text += "".join(choice["text"] for choice in piece["choices"])
        usage = piece.get("usage") or usage
    return text, last - first, usage


def at_depth(server: Server, prompts: list[list[int]]) -> dict[str, Any]:
    found = [told(server, ids, {})[2] for ids in prompts]
    tokens, rounds = (sum(count) for count in zip(*((usage["completion_tokens"], usage["speculative"]["rounds"]) for usage in found)))
    return {"tokens": tokens, "tokens_per_verify": tokens / rounds}


def beside_plain(server: Server, prompts: list[list[int]]) -> dict[str, Any]:
    """Each text with drafts and without, in turn; all of their seconds together."""
    drafted_s, plain_s, differ = 0.0, 0.0, 0
    for number, ids in enumerate(prompts):
        ways = [{"speculative": {"enabled": is_on}, "cache_salt": f"{is_on} {number}"} for is_on in (number % 2 == 0, number % 2 != 0)]
        found = {way["speculative"]["enabled"]: told(server, ids, way) for way in ways}
        drafted_s, plain_s = drafted_s + found[True][1], plain_s + found[False][1]
        differ += found[True][0] != found[False][0]
    return {"times_plain": plain_s / drafted_s, "differ": differ}


def print_row(row: dict[str, Any]) -> None:
    print(f"{row['task']:12} {row['tokens']:7} {row['tokens_per_verify']:14.2f} {row['bar']:5.1f}  {'yes' if row['is_met'] else 'no':3} {row['times_plain']:12.2f} {row['differ']:7}", flush=True)


def run(options: argparse.Namespace) -> list[dict[str, Any]]:
    texts = {domain: tasks.prompts(domain, min(options.count, PROMPTS)) for domain in BARS}
    with started(options.program, options.model) as server:
        prompts = {domain: [prompt_ids(server, text) for text in found] for domain, found in texts.items()}
        told(server, prompts["prose"][0], {})  # its weights have been read once
        timed = {domain: beside_plain(server, found) for domain, found in prompts.items()}
    with started(options.program, options.model, "--draft", str(options.model / "assistant"), "--depth", str(DEPTH)) as server:
        counted = {domain: at_depth(server, found) for domain, found in prompts.items()}
    print("prompts: " + ("held-out rows of the shared sets and made ones" if tasks.find_shared() else "made ones, since there are no shared sets here"))
    print(f"{'text':12} {'tokens':>7} {'tokens/verify':>14} {'bar':>5}  met {'auto ÷ plain':>12} {'differ':>7}")
    rows = [{"task": domain, "bar": bar, "is_met": counted[domain]["tokens_per_verify"] >= bar and not timed[domain]["differ"], **counted[domain], **timed[domain]} for domain, bar in BARS.items()]
    for row in rows:
        print_row(row)
    return rows
