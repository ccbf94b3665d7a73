"""A held-out exercise: what is asked, and whether an answer is right. Each generator makes its own; see train/program_tasks.py for who asks them."""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable


@dataclass
class Answer:
    """What the model said: its text, and its calls as (name, arguments)."""

    text: str
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)


@dataclass
class Held:
    """`key` decides the split, as for the documents of the same generator: what has a held-out key is never trained on."""

    key: str
    messages: list[dict[str, Any]]
    right: Callable[[Answer], bool]
    tools: list[dict[str, Any]] | None = None
    picture: dict[str, Any] | None = None
