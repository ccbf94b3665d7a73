"""The whole target over packed rows: pictures in, text layers, loss; and the config that goes with a tokenizer."""
from __future__ import annotations

import json
from pathlib import Path

import torch

from train.attention import PackedMasks
from train.batches import Batch, Pictures
from train.model import (TEXT, Weights, embed, head_logits, initial, rope_tables, target_config, text_forward, text_layer,
                         text_weight_shapes)
from train.vision import patches_of, vision_forward, vision_layer, vision_weight_shapes


def special_ids(tokenizer: Path) -> dict[str, int]:
    """Numbers of the added tokens of a tokenizer folder."""
    data = json.loads((tokenizer / "tokenizer.json").read_text())
    return {entry["content"]: entry["id"] for entry in data["added_tokens"]}


def target_weight_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    text = config["text_config"]
    return {**text_weight_shapes(text, TEXT), **vision_weight_shapes(config["vision_config"], text["hidden_size"])}


def new_target(size: dict, tokenizer: Path, seed: int, device: str) -> tuple[dict, Weights]:
    config = target_config(size, special_ids(tokenizer))
    return config, initial(target_weight_shapes(config), seed, device)


def save_weights(path: Path, config: dict, weights: Weights) -> None:
    torch.save({"config": config, "weights": {n: w.detach().cpu() for n, w in weights.items()}}, path)


def load_weights(path: Path, device: str) -> tuple[dict, Weights]:
    data = torch.load(path, map_location=device)
    return data["config"], data["weights"]


def token_loss(hidden: torch.Tensor, table: torch.Tensor, softcap: float, targets: torch.Tensor) -> torch.Tensor:
    """Cross-entropy at every position."""
    logits = head_logits(hidden, table, softcap)
    return logits.logsumexp(-1) - logits.gather(-1, targets[..., None])[..., 0]


class PackedTarget:
    """Runs a target over rows of one shape, compiled where there is a GPU."""

    def __init__(self, config: dict, rows: int, length: int, device: str, compiled: bool):
        self.config, self.text = config, config["text_config"]
        wrap = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
        self.layer, self.vision_layer, self.loss = wrap(text_layer), wrap(vision_layer), wrap(token_loss)
        self.masks = PackedMasks(rows, length, self.text["sliding_window"], device)
        self.rope = rope_tables(self.text, torch.arange(length, device=device))

    def inputs(self, weights: Weights, batch: Batch, pixels: torch.Tensor | None) -> torch.Tensor:
        """Scaled embeddings with the pictures' soft tokens in their places."""
        x = embed(weights, batch.tokens)
        if pixels is None or not len(pixels):
            return x
        soft = vision_forward(self.config["vision_config"], weights, patches_of(pixels), pixels.shape[2] // 16, self.vision_layer)
        flat = torch.cat([x.reshape(-1, x.shape[-1]), x.new_zeros(1, x.shape[-1])])
        flat = flat.index_copy(0, batch.soft_at, soft.reshape(-1, x.shape[-1]))
        return flat[:-1].reshape(x.shape)

    def hidden(self, weights: Weights, batch: Batch, pictures: Pictures | None, streams: dict[int, torch.Tensor] | None = None):
        """The state after the final norm [B, T, hidden] and the last keys and values of each kind; into `streams` what each layer puts out."""
        count = len(batch.soft_at) // 64
        pixels = pictures.get(batch.picture_ids, count) if pictures is not None and batch.picture_ids else None
        masks = self.masks.update(batch.seen, batch.pic)
        return text_forward(self.text, weights, self.inputs(weights, batch, pixels), self.rope, masks, self.layer, streams=streams)

    def losses(self, weights: Weights, batch: Batch, pictures: Pictures | None) -> tuple[torch.Tensor, torch.Tensor]:
        """Each position's loss and its weight."""
        targets, weight = batch.targets()
        hidden, _ = self.hidden(weights, batch, pictures)
        return self.loss(hidden, weights[TEXT + "embed_tokens.weight"], self.text["final_logit_softcapping"], targets), weight
