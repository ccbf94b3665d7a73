"""Byte-pair encoding in plain Python: learning merges from counted words, and encoding as the finished tokenizer does."""

from __future__ import annotations

import heapq
import re
from collections import Counter, defaultdict
from typing import Iterable

SPACE = "\u2581"
# The stretches inside which merges are learnt. No merge crosses their borders, so the finished tokenizer needs no
# splitting: a digit stands alone, pairs of spaces belong together, one space goes with what follows it.
STRETCH = re.compile(rf"\n+|\t+|[0-9]|(?:{SPACE}{SPACE})+|{SPACE}?[A-Za-z]+|{SPACE}?_+|{SPACE}?[^\sA-Za-z0-9_{SPACE}]+|{SPACE}|.", re.S)
# Merged before all others, so that indentation and blank lines always fall into the same pieces.
FIRST_MERGES = [("\n", "\n"), (SPACE, SPACE), (SPACE * 2, SPACE * 2), (SPACE * 4, SPACE * 4), (SPACE * 8, SPACE * 4)]

Merge = tuple[str, str]


def stretches(text: str) -> list[str]:
    return STRETCH.findall(text.replace(" ", SPACE))


def is_learnt_from(stretch: str) -> bool:
    """Newlines and runs of spaces have their merges from FIRST_MERGES."""
    return stretch[0] not in "\n\t" and not stretch.startswith(SPACE * 2) and len(stretch) > 1


class MergeLearner:
    """Finds the most frequent pair of neighbours again and again, keeping counts up to date word by word."""

    def __init__(self, counts: dict[str, float]) -> None:
        words = sorted((word, count) for word, count in counts.items() if is_learnt_from(word))
        self.words = [list(word) for word, _ in words]
        self.weights = [count for _, count in words]
        self.pair_counts: dict[Merge, float] = defaultdict(float)
        self.places: dict[Merge, set[int]] = defaultdict(set)
        for number, symbols in enumerate(self.words):
            for pair in zip(symbols, symbols[1:]):
                self.pair_counts[pair] += self.weights[number]
                self.places[pair].add(number)
        self.queue = [(-count, pair) for pair, count in self.pair_counts.items()]
        heapq.heapify(self.queue)

    def best(self) -> Merge | None:
        while self.queue:
            negative, pair = heapq.heappop(self.queue)
            count = self.pair_counts.get(pair, 0.0)
            if count <= 0.5:
                continue
            if -negative == count:
                return pair
            heapq.heappush(self.queue, (-count, pair))
        return None

    def apply(self, pair: Merge) -> None:
        joined = pair[0] + pair[1]
        changed: set[Merge] = set()
        for number in self.places.pop(pair, set()):
            symbols, weight = self.words[number], self.weights[number]
            for old in zip(symbols, symbols[1:]):
                self.pair_counts[old] -= weight
            merged: list[str] = []
            position = 0
            while position < len(symbols):
                if position + 1 < len(symbols) and symbols[position] == pair[0] and symbols[position + 1] == pair[1]:
                    merged.append(joined)
                    position += 2
                else:
                    merged.append(symbols[position])
                    position += 1
            self.words[number] = merged
            for new in zip(merged, merged[1:]):
                self.pair_counts[new] += weight
                self.places[new].add(number)
                if joined in new:
                    changed.add(new)
        self.pair_counts.pop(pair, None)
        for new in sorted(changed):
            heapq.heappush(self.queue, (-self.pair_counts[new], new))


def learn_merges(counts: dict[str, float], wanted: int, taken: set[str]) -> list[Merge]:
    """The first `wanted` merges whose results are not in `taken`, most frequent first."""
    learner = MergeLearner(counts)
    merges: list[Merge] = []
    while len(merges) < wanted:
        pair = learner.best()
        if pair is None:
            break
        learner.apply(pair)
        if pair[0] + pair[1] not in taken:
            taken.add(pair[0] + pair[1])
            merges.append(pair)
    return merges


def count_stretches(texts: Iterable[str], weight: float = 1.0, into: Counter | None = None) -> Counter:
    counts: Counter = Counter() if into is None else into
    own: Counter = Counter()
    for text in texts:
        own.update(stretches(text))
    for stretch, count in own.items():
        counts[stretch] += count * weight
    return counts


class PlainEncoder:
    """Encodes like the finished tokenizer; slow, for tests and for counting where the library is absent."""

    def __init__(self, tokenizer_json: dict) -> None:
        self.vocab: dict[str, int] = tokenizer_json["model"]["vocab"]
        self.ranks = {tuple(pair): rank for rank, pair in enumerate(tokenizer_json["model"]["merges"])}
        self.special = {token["content"]: token["id"] for token in tokenizer_json["added_tokens"]}
        longest_first = sorted(self.special, key=len, reverse=True)
        self.special_pattern = re.compile("(" + "|".join(re.escape(token) for token in longest_first) + ")")
        self.known: dict[str, list[int]] = {}

    def encode_stretch(self, stretch: str) -> list[int]:
        if stretch in self.known:
            return self.known[stretch]
        symbols = list(stretch)
        while len(symbols) > 1:
            ranked = [(self.ranks.get(pair, 1 << 30), place) for place, pair in enumerate(zip(symbols, symbols[1:]))]
            rank, place = min(ranked)
            if rank == 1 << 30:
                break
            symbols[place:place + 2] = [symbols[place] + symbols[place + 1]]
        ids: list[int] = []
        for symbol in symbols:
            if symbol in self.vocab:
                ids.append(self.vocab[symbol])
            else:
                ids += [self.vocab[f"<0x{byte:02X}>"] for byte in symbol.encode()]
        self.known[stretch] = ids
        return ids

    def encode(self, text: str) -> list[int]:
        ids: list[int] = []
        for part in self.special_pattern.split(text):
            if part in self.special:
                ids.append(self.special[part])
            elif part:
                for stretch in stretches(part):
                    ids += self.encode_stretch(stretch)
        return ids

    def encode_all(self, texts: list[str]) -> list[list[int]]:
        return [self.encode(text) for text in texts]
