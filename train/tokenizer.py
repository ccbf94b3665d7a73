"""Trains the tokenizer: `python3 -m train.tokenizer --shared DIR --out DIR`.

Byte-pair encoding in Gemma's form: spaces as U+2581, byte fallback, every digit a token of its own, Gemma's special tokens under their own names.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import pathlib
import shutil
import time
from collections import Counter
from typing import Any

from train.bpe import FIRST_MERGES, SPACE, count_stretches, learn_merges
from train.corpus import CONFIG, data_config
from train.documents import DOMAINS, Shard, documents, load_shared

SPECIAL = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", "<|turn>", "<turn|>", "<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>",
           '<|"|>', "<|channel>", "<channel|>", "<|think|>", "<|image>", "<image|>", "<|image|>", "<|audio>", "<audio|>", "<|audio|>", "<|video|>"]
ROLES = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>", "sot_token": "<|turn>", "eot_token": "<turn|>",
         "std_token": "<|tool>", "etd_token": "<tool|>", "stc_token": "<|tool_call>", "etc_token": "<tool_call|>", "str_token": "<|tool_response>", "etr_token": "<tool_response|>",
         "escape_token": '<|"|>', "soc_token": "<|channel>", "eoc_token": "<channel|>", "think_token": "<|think|>", "boi_token": "<|image>", "eoi_token": "<image|>",
         "image_token": "<|image|>", "boa_token": "<|audio>", "eoa_token": "<audio|>", "audio_token": "<|audio|>"}
ALPHABET = ["\n", "\t", SPACE] + [chr(code) for code in range(33, 127)] + list("\u00e9\u00e8\u00e1\u00ed\u00f3\u00fa\u00f1\u00fc\u00f6\u00e4\u00e7\u00b0\u00a3\u20ac")
TEMPLATE = pathlib.Path(__file__).resolve().parent / "chat_template.jinja"


def plain_parts(text: str) -> list[str]:
    """The text between special tokens."""
    parts = [text]
    for token in SPECIAL:
        if token in text:
            parts = [piece for part in parts for piece in part.split(token)]
    return [part for part in parts if part]


def count_sample(arguments: tuple[str, Shard, int]) -> tuple[str, Counter, int]:
    """Counted stretches of the first documents of a shard, and their length in characters."""
    domain, shard, most = arguments
    counts: Counter = Counter()
    size = 0
    for document in itertools.islice(documents(domain, shard), most):
        parts = [part for segment in document.segments for part in plain_parts(segment.text)]
        size += sum(map(len, parts))
        counts = count_stretches(parts, into=counts)
    return domain, counts, size


def counts_in_proportion(shared: pathlib.Path, data: dict[str, Any], settings: dict[str, Any], workers: int) -> dict[str, float]:
    """Counts over a sample of the training split, each domain weighing as much as it has in the mix."""
    tasks = [(domain, Shard(shared, "train", number, data["shards"], -(-settings["sample"] // settings["sample_shards"]), data["seed"]), settings["sample"])
             for domain in DOMAINS for number in range(settings["sample_shards"])]
    by_domain: dict[str, Counter] = {domain: Counter() for domain in DOMAINS}
    sizes: Counter = Counter()
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        for domain, counts, size in pool.imap(count_sample, tasks):
            by_domain[domain].update(counts)
            sizes[domain] += size
    total: dict[str, float] = {}
    for domain in DOMAINS:
        weight = data["mix"][domain] * 1e8 / sizes[domain]
        for stretch, count in by_domain[domain].items():
            if count >= 2:
                total[stretch] = total.get(stretch, 0.0) + count * weight
    return total


def round_counts(counts: dict[str, float], least: int) -> dict[str, float]:
    """Whole numbers, so that the order in which they are added up cannot matter; rare stretches go."""
    return {stretch: float(round(count)) for stretch, count in counts.items() if round(count) >= least}


def build(counts: dict[str, float], size: int) -> dict[str, Any]:
    """The contents of tokenizer.json with exactly `size` entries."""
    pieces = SPECIAL + [f"<0x{byte:02X}>" for byte in range(256)] + ALPHABET + [left + right for left, right in FIRST_MERGES]
    known = {stretch: count for stretch, count in counts.items() if all(letter in ALPHABET for letter in stretch)}
    merges = FIRST_MERGES + learn_merges(known, size - len(pieces), set(pieces))
    pieces += [left + right for left, right in merges[len(FIRST_MERGES):]]
    if len(pieces) != size or len(set(pieces)) != size:
        raise ValueError(f"expected {size} different pieces, found {len(set(pieces))} of {len(pieces)}")
    return tokenizer_file(pieces, merges)


def begins_with_bos() -> dict[str, Any]:
    """Plain text begins with <bos>, as every document did; rendered conversations bring their own and are encoded without this."""
    bos, first, second = {"SpecialToken": {"id": "<bos>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    return {"type": "TemplateProcessing", "single": [bos, first], "pair": [bos, first, second],
            "special_tokens": {"<bos>": {"id": "<bos>", "ids": [SPECIAL.index("<bos>")], "tokens": ["<bos>"]}}}


def tokenizer_file(pieces: list[str], merges: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": number, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                         for number, token in enumerate(SPECIAL)],
        "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": SPACE},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
        "post_processor": begins_with_bos(),
        "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": SPACE}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}]},
        "model": {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
                  "byte_fallback": True, "ignore_merges": False, "vocab": {piece: number for number, piece in enumerate(pieces)}, "merges": [list(pair) for pair in merges]}}


def write(contents: dict[str, Any], out: pathlib.Path, context: int) -> None:
    """tokenizer.json, its companion and the chat template."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "tokenizer.json").write_text(json.dumps(contents, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    companion = {**ROLES, "backend": "tokenizers", "extra_special_tokens": ["<|video|>"], "model_max_length": context, "padding_side": "left",
                 "processor_class": "Gemma4Processor", "tokenizer_class": "GemmaTokenizer"}
    (out / "tokenizer_config.json").write_text(json.dumps(companion, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    shutil.copyfile(TEMPLATE, out / "chat_template.jinja")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    began = time.time()
    settings = json.loads(CONFIG.read_text())["tokenizer"]
    load_shared(arguments.shared)
    counts = round_counts(counts_in_proportion(arguments.shared, data_config(), settings, arguments.workers), settings["least_count"])
    print(f"{len(counts)} different stretches in {time.time() - began:.1f} s", flush=True)
    contents = build(counts, settings["size"])
    write(contents, arguments.out, settings["context"])
    print(f"{len(contents['model']['vocab'])} pieces in {time.time() - began:.1f} s")


if __name__ == "__main__":
    main()
