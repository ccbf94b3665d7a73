"""What a drafter's guesses are held against: the target's own distribution at the same place."""
from __future__ import annotations

import torch

from train.model import head_logits


def draft_loss(y: torch.Tensor, table: torch.Tensor, draft_cap: float | None, target_hidden: torch.Tensor, target_table: torch.Tensor,
               softcap: float, weight: torch.Tensor, hard: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy against the target's distribution, mixed with its likeliest token, and how often the two agree; each place by itself,
    times its weight."""
    logits = head_logits(y, table, draft_cap)
    logs = logits - logits.logsumexp(-1, keepdim=True)
    wanted = head_logits(target_hidden, target_table, softcap)
    best = wanted.argmax(-1)
    soft = -(wanted.softmax(-1) * logs).sum(-1)
    sharp = -logs.gather(-1, best[..., None])[..., 0]
    return ((1 - hard) * soft + hard * sharp) * weight, (logits.argmax(-1) == best) * weight
