"""What a drafter would have won along texts that stand: drafts at every place, then the rounds a decoder would make."""
from __future__ import annotations

import numpy as np
import torch

from train.batches import to_batch
from train.drafter import MODEL, DrafterRun
from train.model import Weights
from train.packing import Documents, Rows, pack
from train.target import PackedTarget


def rounds_of(accepted: np.ndarray, first: int, last: int, depth: int) -> tuple[int, int, np.ndarray]:
    """Walks one text whose newest token is at `first` and whose last is at `last`: tokens won, rounds made, and how often each
    position was accepted; accepted[i] says how many drafts at newest token i agree with the text."""
    at, tokens, rounds, by_position = first, 0, 0, np.zeros(depth)
    while at < last:
        kept = min(int(accepted[at]), last - at)
        by_position[:kept] += 1
        won = min(kept + 1, last - at)
        tokens += won
        rounds += 1
        at += won
    return tokens, rounds, by_position


@torch.no_grad()
def accepted_drafts(run: DrafterRun, model: PackedTarget, drafter: Weights, target: Weights, packed: Rows, rows: int, depth: int,
                    device: str) -> np.ndarray:
    """For every place of packed rows, how many of the drafts made there agree with the text."""
    found = np.zeros(packed.tokens.shape, np.int64)
    length = packed.tokens.shape[1]
    for first in range(0, len(packed.tokens), rows):
        real = min(rows, len(packed.tokens) - first)
        padded = [np.concatenate([a[first:first + real], np.zeros((rows - real, length), a.dtype)]) for a in
                  (packed.tokens, packed.doc, packed.learn)]
        batch = to_batch(Rows(*padded, np.zeros((0, 3), np.int64)), -1, 0, device)
        hidden, shared = model.hidden(target, batch, None)
        alive, count = torch.ones_like(batch.doc), torch.zeros_like(batch.doc)
        for j, y in enumerate(run.steps(drafter, target, batch, hidden, shared, depth)):
            guess = torch.cat([(part @ drafter[MODEL + "embed_tokens.weight"].T).argmax(-1)[None] for part in y])
            alive = alive * (guess == torch.roll(batch.tokens, -(j + 1), 1))
            count = count + alive
        found[first:first + real] = count[:real].cpu().numpy()
    return found


def measure(run: DrafterRun, model: PackedTarget, drafter: Weights, target: Weights, texts: Documents, prompts: list[int], rows: int,
            length: int, depth: int, device: str) -> dict:
    """Tokens per verify and acceptance by position over texts, of which the first prompts[i] tokens were given."""
    packed = pack([texts], [(0, i) for i in range(texts.count)], length)
    accepted = accepted_drafts(run, model, drafter, target, packed, rows, depth, device)
    tokens, rounds, by_position = 0, 0, np.zeros(depth)
    for row, offset, size, (_, number) in packed.places:
        first, last = prompts[number], size - 1
        if last <= first:
            continue
        won = rounds_of(accepted[row, offset:offset + size], first, last, depth)
        tokens, rounds, by_position = tokens + won[0], rounds + won[1], by_position + won[2]
    return {"tokens": tokens, "rounds": rounds, "tokens_per_verify": round(tokens / max(rounds, 1), 3),
            "accepted_by_position": [round(float(b / max(rounds, 1)), 3) for b in by_position]}
