"""Batches for the GPU: packed text and picture rows made ahead by worker processes, and the tensors a step needs."""
from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from train.packing import Documents, Rows, draw, load_documents, load_specs, pack

SOFT_TOKENS = 64  # of a 384 x 384 picture


@dataclass
class Batch:
    """One step's tensors. soft_at holds the flat places of the pictures' soft tokens; those past the end are not used."""
    tokens: torch.Tensor
    doc: torch.Tensor
    seen: torch.Tensor
    pic: torch.Tensor
    learn: torch.Tensor
    soft_at: torch.Tensor
    picture_ids: list[int]

    def targets(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The next tokens [B, T] and their weights: 0 at a document's end and where nothing is to be learnt."""
        following = torch.roll(self.tokens, -1, 1)
        same = (torch.roll(self.doc, -1, 1) == self.doc) & (self.doc > 0)
        weight = torch.roll(self.learn, -1, 1) * same
        weight[:, -1] = 0
        return following, weight


def joined(parts: list[Rows]) -> Rows:
    """Rows of several packings below one another."""
    images, above = [], 0
    for part in parts:
        images.append(part.images + np.array([above, 0, 0]))
        above += len(part.tokens)
    return Rows(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("tokens", "doc", "learn")), np.concatenate(images))


def to_batch(rows: Rows, image_token: int, pictures: int, device: str, join: np.ndarray | None = None) -> Batch:
    """Tensors of packed rows with room for so many pictures; rows marked in join let their documents see each other."""
    move = lambda array, dtype: torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True).to(dtype)
    tokens = move(rows.tokens.astype(np.int32), torch.int64)
    doc = move(rows.doc, torch.int32)
    seen = doc
    if join is not None and join.any():
        seen = torch.where(move(join, torch.bool)[:, None], (doc > 0).int(), doc)
    images = rows.images[:pictures]
    soft = np.full((pictures, SOFT_TOKENS), rows.tokens.size, np.int64)
    if len(images):
        soft[:len(images)] = (images[:, 0] * rows.tokens.shape[1] + images[:, 1])[:, None] + np.arange(SOFT_TOKENS)
    return Batch(tokens, doc, seen, torch.where(tokens == image_token, doc, torch.zeros_like(doc)), move(rows.learn, torch.float32),
                 move(soft.reshape(-1), torch.int64), [int(i) for i in images[:, 2]])


@lru_cache(maxsize=None)
def corpus(folder: str, split: str, names: tuple[str, ...]) -> list[Documents]:
    return [load_documents(Path(folder) / split / f"{name}.npz") for name in names]


def make_part(folder: str, plan: dict, part: int) -> tuple[Rows, Rows]:
    """The part-th stretch of text rows and of picture rows."""
    names = tuple(n for n in plan["mix"] if n != "pictures")
    text = corpus(folder, "train", names)
    total = sum(plan["mix"][n] for n in names)
    shares = [plan["mix"][n] / total for n in names]
    length, steps = plan["row_length"], plan["steps_per_part"]
    text_rows, picture_rows = plan["text_rows"] * steps, plan["picture_rows"] * steps
    rows = pack(text, draw(text, shares, plan["seed"], part, int(text_rows * length * 1.03)), length, text_rows)
    pictures = corpus(folder, "train", ("pictures",))
    order = draw(pictures, [1.0], plan["seed"] + 1, part, int(picture_rows * length * 1.1))
    picture = pack(pictures, order, length, picture_rows, plan["image_token"], plan["pictures_per_row"])
    rows.places, picture.places = [], []
    return rows, picture


def slice_rows(rows: Rows, first: int, last: int) -> Rows:
    images = rows.images[(rows.images[:, 0] >= first) & (rows.images[:, 0] < last)] - np.array([first, 0, 0])
    return Rows(rows.tokens[first:last], rows.doc[first:last], rows.learn[first:last], images)


def training_batches(folder: str, plan: dict, steps: int, device: str, join_from: int, join_share: float,
                     workers: int) -> Iterator[Batch]:
    """The batches of a run, in an order that the plan's seed alone decides."""
    per_part = plan["steps_per_part"]
    parts = -(-steps // per_part)
    random = np.random.default_rng(plan["seed"])
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) if workers else None
    ahead = {}
    try:
        for part in range(parts):
            for number in range(part, min(part + max(workers, 1), parts)):
                if pool and number not in ahead:
                    ahead[number] = pool.submit(make_part, folder, plan, number)
            text, picture = ahead.pop(part).result() if pool else make_part(folder, plan, part)
            for inside in range(min(per_part, steps - part * per_part)):
                a, b = plan["text_rows"], plan["picture_rows"]
                rows = joined([slice_rows(text, inside * a, inside * a + a), slice_rows(picture, inside * b, inside * b + b)])
                step = part * per_part + inside
                join = (random.random(a + b) < join_share) & (np.arange(a + b) < a) if step >= join_from else None
                yield to_batch(rows, plan["image_token"], b * plan["pictures_per_row"], device, join)
    finally:
        if pool:
            pool.shutdown(wait=False, cancel_futures=True)


class Pictures:
    """The pictures of a split, kept as numbers on the device and drawn when asked for."""

    def __init__(self, path: Path, device: str, compiled: bool = False, most: int | None = None):
        from train.pictures import draw_torch, specs_to_arrays
        specs = load_specs(path)[:most]
        self.count, self.device = len(specs), device
        self.arrays = [torch.from_numpy(array).to(device) for array in specs_to_arrays(specs)]
        self.draw = torch.compile(draw_torch, dynamic=False) if compiled else draw_torch

    def get(self, numbers: list[int], count: int) -> torch.Tensor:
        """uint8 [count, 384, 384, 3]; the places past the numbers repeat picture 0."""
        index = torch.zeros(count, dtype=torch.int64)
        index[:len(numbers)] = torch.tensor(numbers, dtype=torch.int64)
        index = index.to(self.device, non_blocking=True)
        return self.draw(*(array[index] for array in self.arrays))
