"""MLX's affine quantisation as `paceline quantize` computes it: levels, exact dequantised values, and the straight-through form for training."""
from __future__ import annotations

import torch

LEAST_SCALE = 1e-7


def affine_levels(weight: torch.Tensor, bits: int, group: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Levels [rows, groups, group] and the bfloat16-rounded scales and biases [rows, groups, 1] of a matrix, all in float32."""
    steps = float((1 << bits) - 1)
    grouped = weight.bfloat16().float().reshape(weight.shape[0], -1, group)
    low, high = grouped.amin(-1, keepdim=True), grouped.amax(-1, keepdim=True)
    low_is_larger = low.abs() > high.abs()
    step = ((high - low) / steps).clamp_min(LEAST_SCALE)
    edge = torch.where(low_is_larger, low, high)
    scale = torch.where(low_is_larger, step, -step)
    multiple = torch.round(edge / scale)
    fits = multiple != 0
    scale = torch.where(fits, edge / torch.where(fits, multiple, torch.ones_like(multiple)), scale)
    bias = torch.where(fits, edge, torch.zeros_like(edge))
    scale, bias = scale.bfloat16().float(), bias.bfloat16().float()
    levels = torch.round((grouped - bias) / scale).clamp(0, steps)
    return levels, scale, bias


def dequantised(weight: torch.Tensor, bits: int, group: int) -> torch.Tensor:
    """What a reader of the packed file computes with, in float32."""
    levels, scale, bias = affine_levels(weight, bits, group)
    return (levels * scale + bias).reshape(weight.shape)


def unpacked(tensors: dict[str, torch.Tensor], bits: int) -> dict[str, torch.Tensor]:
    """The matrices of a packed folder (weights_io.read_folder) by name, in float32: what its reader computes with."""
    matrices = {}
    for name, words in tensors.items():
        if words.dtype != torch.int32:
            continue
        stem = name.removesuffix(".weight")
        scales, biases = (tensors[f"{stem}.{part}"].float()[..., None] for part in ("scales", "biases"))
        shifts = torch.arange(0, 32, bits, dtype=torch.int64)
        levels = (words.to(torch.int64)[..., None] >> shifts & (1 << bits) - 1).reshape(words.shape[0], scales.shape[1], -1)
        matrices[name] = (levels.float() * scales + biases).reshape(words.shape[0], -1)
    return matrices


def fake_quantised(weight: torch.Tensor, bits: int, group: int) -> torch.Tensor:
    """The dequantised values, with the gradient passed straight through."""
    return weight + (dequantised(weight.detach(), bits, group) - weight.detach())


def is_quantised(name: str, weight: torch.Tensor, group: int) -> bool:
    """Which tensors `paceline quantize` packs: matrices named .weight outside the media parts."""
    media = any(part in name for part in ("vision_tower.", "embed_vision."))
    return weight.dim() == 2 and name.endswith(".weight") and not media and weight.shape[1] % group == 0
