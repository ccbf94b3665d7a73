"""Which examples are kept from training: decided by a hash of what is asked, so no question is on both sides."""

from __future__ import annotations

import hashlib
import random

SPLITS = ("train", "held")


def stable_hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def split_of(key: str, held_in: int) -> str:
    """One of `held_in` keys is held out."""
    return "held" if stable_hash(key) % held_in == 0 else "train"


def rng_of(*parts: object) -> random.Random:
    """A generator that depends on the names and numbers given, not on the process."""
    return random.Random(stable_hash("/".join(str(part) for part in parts)))
