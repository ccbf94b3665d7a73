"""Packs documents into rows of one length: whole documents side by side, little padding, the same rows for the same seed."""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

OPEN_ROWS = 24


@dataclass
class Documents:
    """One domain's documents, one after another."""
    tokens: np.ndarray
    starts: np.ndarray
    learn: np.ndarray

    @property
    def count(self) -> int:
        return len(self.starts) - 1

    def get(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        first, last = self.starts[number], self.starts[number + 1]
        return self.tokens[first:last], self.learn[first:last]


def load_documents(path: Path) -> Documents:
    data = np.load(path)
    return Documents(data["tokens"], data["starts"], data["learn"])


def load_specs(path: Path) -> list[dict]:
    with path.open() as lines:
        return [json.loads(line) for line in lines]


def documents_of(texts: list[list[int]], prompts: list[int]) -> Documents:
    """Documents of token lists, of which the first prompts[i] tokens are not to be learnt."""
    starts = np.concatenate([[0], np.cumsum([len(t) for t in texts])]).astype(np.int64)
    learn = np.ones(int(starts[-1]), np.uint8)
    for start, prompt in zip(starts, prompts):
        learn[start:start + prompt] = 0
    return Documents(np.concatenate([np.asarray(t, np.uint16) for t in texts]), starts, learn)


@dataclass
class Rows:
    """Packed rows; doc numbers the documents of a row from 1 (0: padding); images lists (row, first image token, document)."""
    tokens: np.ndarray
    doc: np.ndarray
    learn: np.ndarray
    images: np.ndarray
    places: list = field(default_factory=list)  # (row, offset, length, (domain, document)), in the order given


def place(lengths: list[int], row_length: int, per_row: int) -> tuple[list[tuple[int, int]], int]:
    """Best fit over a few open rows: (row, offset) of each document, and how many rows there are."""
    spots, rows = [], 0
    open_rows: list[list[int]] = []  # [space left, row, documents]
    for length in lengths:
        best = None
        for candidate in open_rows:
            if candidate[0] >= length and candidate[2] < per_row and (best is None or candidate[0] < best[0]):
                best = candidate
        if best is None:
            if len(open_rows) >= OPEN_ROWS:
                open_rows.remove(min(open_rows, key=lambda r: (r[2] < per_row, r[0])))
            best = [row_length, rows, 0]
            rows += 1
            open_rows.append(best)
        spots.append((best[1], row_length - best[0]))
        best[0] -= length
        best[2] += 1
    return spots, rows


def pack(domains: list[Documents], order: list[tuple[int, int]], row_length: int, most_rows: int | None = None,
         image_token: int = -1, per_row: int = 1 << 30) -> Rows:
    """Rows of the documents named in order as (domain, document); documents longer than a row are cut."""
    lengths = [min(int(domains[d].starts[i + 1] - domains[d].starts[i]), row_length) for d, i in order]
    spots, count = place(lengths, row_length, per_row)
    count = min(count, most_rows) if most_rows is not None else count
    rows = Rows(np.zeros((count, row_length), np.uint16), np.zeros((count, row_length), np.int16),
                np.zeros((count, row_length), np.uint8), np.zeros((0, 3), np.int64))
    numbers = np.zeros(count, np.int64)
    images = []
    for (d, i), (row, offset), length in zip(order, spots, lengths):
        if row >= count:
            continue
        tokens, learn = domains[d].get(i)
        numbers[row] += 1
        rows.tokens[row, offset:offset + length] = tokens[:length]
        rows.learn[row, offset:offset + length] = learn[:length]
        rows.doc[row, offset:offset + length] = numbers[row]
        rows.places.append((row, offset, length, (d, i)))
        if image_token >= 0:
            found = np.flatnonzero(tokens[:length] == image_token)
            if len(found):
                images.append((row, offset + int(found[0]), i))
    if images:
        rows.images = np.array(images, np.int64)
    return rows


def endless(count: int, seed: int, first: int, number: int) -> np.ndarray:
    """Positions first .. first + number of an endless shuffled reading of count documents, a new order every epoch."""
    parts, at = [], first
    while number > 0:
        epoch, inside = divmod(at, count)
        order = np.random.default_rng([seed, epoch]).permutation(count)[inside:inside + number]
        parts.append(order)
        at += len(order)
        number -= len(order)
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def draw(domains: list[Documents], shares: list[float], seed: int, part: int, tokens: int) -> list[tuple[int, int]]:
    """The part-th stretch of about so many tokens: each domain gets its share, documents shuffled together."""
    chosen = []
    for number, (documents, share) in enumerate(zip(domains, shares)):
        each = max(1, round(share * tokens * documents.count / len(documents.tokens)))
        chosen += [(number, int(i)) for i in endless(documents.count, seed * 1000 + number, part * each, each)]
    order = np.random.default_rng([seed, part, 7]).permutation(len(chosen))
    return [chosen[i] for i in order]
