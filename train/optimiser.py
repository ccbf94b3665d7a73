"""Muon for matrices inside the layers, AdamW for everything else, both with one learning-rate factor."""
from __future__ import annotations

import torch


def orthogonal(update: torch.Tensor, steps: int = 5) -> torch.Tensor:
    """The nearest half-orthogonal matrices, roughly, of a stack [N, rows, columns] with rows <= columns (Newton-Schulz, quintic)."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = update.bfloat16() if update.is_cuda else update
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    for _ in range(steps):
        gram = x @ x.transpose(-2, -1)
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.float()


class Optimiser:
    """Steps all parameters; `factor` scales every learning rate."""

    def __init__(self, params: dict[str, torch.Tensor], settings: dict):
        self.settings = settings
        matrices = [p for n, p in params.items() if p.dim() == 2 and ("layers." in n or "_projection" in n or n == "fc.weight")]
        chosen = {id(p) for p in matrices}
        rest = [p for p in params.values() if id(p) not in chosen]
        self.stacks: dict[tuple[int, int], list[tuple[torch.Tensor, bool]]] = {}
        for p in matrices:
            turned = p.shape[0] > p.shape[1]
            shape = (min(p.shape), max(p.shape))
            self.stacks.setdefault(shape, []).append((p, turned))
        self.momentum = {shape: torch.zeros(len(ps), *shape, device=ps[0][0].device) for shape, ps in self.stacks.items()}
        fused = {"fused": True} if rest[0].is_cuda else {}
        self.adam = torch.optim.AdamW(rest, lr=settings["adam_lr"], betas=(0.9, 0.95), eps=1e-10, weight_decay=0.0, **fused)

    @torch.no_grad()
    def step(self, factor: float) -> None:
        rate, decay, keep = self.settings["muon_lr"] * factor, self.settings["muon_decay"], 0.95
        for shape, entries in self.stacks.items():
            grads = torch.stack([p.grad.T if turned else p.grad for p, turned in entries])
            kept = self.momentum[shape]
            kept.lerp_(grads, 1 - keep)
            update = orthogonal(grads.lerp(kept, keep))
            for (p, turned), each in zip(entries, update):
                scale = max(1.0, p.shape[0] / p.shape[1]) ** 0.5
                p.mul_(1 - rate * decay).add_(each.T if turned else each, alpha=-rate * scale)
                p.grad = None
        for group in self.adam.param_groups:
            group["lr"] = self.settings["adam_lr"] * factor
        self.adam.step()
        self.adam.zero_grad(set_to_none=True)


def learning_factor(step: int, steps: int, warmup: int, flat: float) -> float:
    """Linear warm-up, flat for a share of the run, then linear to zero."""
    if step < warmup:
        return (step + 1) / warmup
    start = flat * steps
    return 1.0 if step < start else max(0.0, (steps - step) / (steps - start))
