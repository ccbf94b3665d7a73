"""Texts that the target writes itself, for its drafters to learn from."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from train.batches import Batch, corpus, to_batch
from train.generation import Generator
from train.model import Weights
from train.packing import Documents, documents_of, endless, pack

# Texts that mostly run to the most tokens allowed; the others end after a few dozen, and are written by themselves.
LONG = ("prose", "stories", "chat", "code", "functions")
# A batch is done when all but so many of its texts have ended; the rest are cut there.
LEFT_OPEN = 0.05


def stop_ids(config: dict) -> list[int]:
    return list(config["eos_token_id"])


def banned_ids(config: dict) -> list[int]:
    """Placeholders that are never generated."""
    return [config[n] for n in ("audio_token_id", "boa_token_id", "eoa_token_index", "boi_token_id", "image_token_id",
                                "eoi_token_id", "video_token_id")] + [0]


def beginning(tokens: np.ndarray, learn: np.ndarray, longest: int, random: np.random.Generator) -> list[int] | None:
    """A document up to where the model's part begins, or, half of the time, to anywhere in the first part of it."""
    tokens, learn = tokens[:longest], learn[:longest]
    places = np.flatnonzero(learn[:max(8, len(tokens) * 2 // 3)])
    places = places[places >= 2]
    if len(places) == 0:
        return None
    cut = int(places[0]) if random.random() < 0.5 else int(random.choice(places))
    return [int(t) for t in tokens[:cut]]


def own_texts(config: dict, weights: Weights, folder: str, mix: dict[str, float], settings: dict, device: str) -> list[Documents]:
    """Texts the target writes itself from the beginnings of training documents, half of them greedy, half at temperature 1."""
    batch, length = settings["own_batch"], settings["own_length"]
    generator = Generator(config["text_config"], weights, batch, length, device, banned_ids(config))
    random = np.random.default_rng(settings["seed"])
    found = []
    for is_long, rounds in ((True, settings["own_rounds"]), (False, settings["own_short_rounds"])):
        names = tuple(n for n in mix if n != "pictures" and (n in LONG) == is_long)
        sources, total = corpus(folder, "train", names), sum(mix[n] for n in names)
        for round_number in range(rounds):
            prompts = []
            for number, name in enumerate(names):
                count = max(1, round(batch * mix[name] / total))
                for i in endless(sources[number].count, settings["seed"] + number, round_number * count, count):
                    prompts.append(beginning(*sources[number].get(int(i)), length * 3 // 5, random))
            prompts = [prompt for prompt in prompts if prompt]
            random.shuffle(prompts)
            prompts = prompts[:batch]
            temperature = [0.0 if i % 2 == 0 else 1.0 for i in range(len(prompts))]
            written = generator.run(prompts, length, stop_ids(config), temperature, left_open=LEFT_OPEN)
            found.append(documents_of([p + t for p, t in zip(prompts, written)], [len(p) for p in prompts]))
    return found


def own_batches(found: list[Documents], rows: int, length: int, steps: int, seed: int, image_token: int, device: str) -> Iterator[Batch]:
    """Packed rows of the target's own texts, read again and again in new orders."""
    every = [(d, i) for d, documents in enumerate(found) for i in range(documents.count)]
    done, epoch = 0, 0
    while done < steps:
        order = np.random.default_rng([seed, epoch]).permutation(len(every))
        packed = pack(found, [every[i] for i in order], length)
        for first in range(0, len(packed.tokens) - rows + 1, rows):
            part = type(packed)(packed.tokens[first:first + rows], packed.doc[first:first + rows], packed.learn[first:first + rows],
                                packed.images)
            yield to_batch(part, image_token, 0, device)
            done += 1
            if done >= steps:
                return
        epoch += 1
