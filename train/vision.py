"""The vision tower for square pictures of one size: patches in, soft tokens out."""
from __future__ import annotations

import math

import torch

from train.attention import attend
from train.model import Weights, finish_layer, of_layer, rms, split_heads

TOWER = "model.vision_tower."
PROJECTION = "model.embed_vision.embedding_projection.weight"


def vision_weight_shapes(config: dict, text_hidden: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tower's and the projector's tensors."""
    hidden, ffn, width = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    inner = config["num_attention_heads"] * width
    shapes: dict[str, tuple[int, ...]] = {
        TOWER + "patch_embedder.input_proj.weight": (hidden, 3 * config["patch_size"] ** 2),
        TOWER + "patch_embedder.position_embedding_table": (2, config["position_embedding_size"], hidden),
        TOWER + "std_bias": (hidden,), TOWER + "std_scale": (hidden,), PROJECTION: (text_hidden, hidden)}
    for i in range(config["num_hidden_layers"]):
        at = f"{TOWER}encoder.layers.{i}."
        for norm in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            shapes[f"{at}{norm}_layernorm.weight"] = (hidden,)
        for name, shape in (("q", (inner, hidden)), ("k", (inner, hidden)), ("v", (inner, hidden)), ("o", (hidden, inner))):
            shapes[f"{at}self_attn.{name}_proj.linear.weight"] = shape
        shapes[at + "self_attn.q_norm.weight"] = shapes[at + "self_attn.k_norm.weight"] = (width,)
        for name, shape in (("gate", (ffn, hidden)), ("up", (ffn, hidden)), ("down", (hidden, ffn))):
            shapes[f"{at}mlp.{name}_proj.linear.weight"] = shape
    return shapes


def patches_of(pictures: torch.Tensor, patch: int = 16) -> torch.Tensor:
    """uint8 [N, H, W, 3] to values 0..1 [N, patches, patch * patch * 3]: patches row-major, inside row, column, channel."""
    count, high, wide, _ = pictures.shape
    cut = pictures.reshape(count, high // patch, patch, wide // patch, patch, 3).permute(0, 1, 3, 2, 4, 5)
    return cut.reshape(count, -1, patch * patch * 3).float() / 255


def axial_tables(config: dict, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin [patches, head size] for the x half and the y half; positions [patches, 2] as (x, y)."""
    half = config["head_dim"] // 2
    base = config["rope_parameters"]["rope_theta"]
    frequency = base ** (-torch.arange(0, half, 2, dtype=torch.float64, device=positions.device) / half)
    angles = [positions[:, axis, None].double() * frequency for axis in range(2)]
    angle = torch.cat([angles[0], angles[0], angles[1], angles[1]], -1)
    return angle.cos().float(), angle.sin().float()


def rotate_axes(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    quarter = x.shape[-1] // 4
    a, b, c, d = x.float().split(quarter, -1)
    return (x.float() * cos + torch.cat([-b, a, -d, c], -1) * sin).to(x.dtype)


def vision_layer(x, w, heads: int, cos, sin):
    """One encoder layer over the patches of each picture."""
    z = rms(x, w["input_layernorm.weight"])
    q, k, v = (split_heads(z @ w[f"self_attn.{name}_proj.weight"].T, heads) for name in "qkv")
    q = rotate_axes(rms(q, w["self_attn.q_norm.weight"]), cos, sin)
    k = rotate_axes(rms(k, w["self_attn.k_norm.weight"]), cos, sin)
    return finish_layer(x, attend(q, k, rms(v, None), None), w)


def vision_forward(config: dict, weights: Weights, patches: torch.Tensor, columns: int, layer_fn=vision_layer) -> torch.Tensor:
    """Soft tokens [N, patches / 9, text hidden] of patches [N, patches, values]."""
    count, total, _ = patches.shape
    at = torch.arange(total, device=patches.device)
    positions = torch.stack([at % columns, at // columns], -1)
    cos, sin = axial_tables(config, positions)
    table = weights[TOWER + "patch_embedder.position_embedding_table"]
    x = (2 * (patches - 0.5)).to(table.dtype) @ weights[TOWER + "patch_embedder.input_proj.weight"].T
    x = x + table[0][positions[:, 0]] + table[1][positions[:, 1]]
    one = torch.ones(1, dtype=x.dtype, device=x.device)
    for i in range(config["num_hidden_layers"]):
        w = {name.replace(".linear.", "."): value for name, value in of_layer(weights, TOWER + "encoder.", i).items()}
        x = layer_fn(x, {**w, "layer_scalar": one}, config["num_attention_heads"], cos, sin)
    side, width = config["pooling_kernel_size"], x.shape[-1]
    x = x.reshape(count, total // columns // side, side, columns // side, side, width).float().mean((2, 4))
    x = x.reshape(count, -1, width) * math.sqrt(width)
    x = (x - weights[TOWER + "std_bias"].float()) * weights[TOWER + "std_scale"].float()
    return rms(x, None).to(table.dtype) @ weights[PROJECTION].T
