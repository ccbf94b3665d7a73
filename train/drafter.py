"""The MTP drafter: config, weights, one draft step for all positions at once, and all steps along packed rows."""
from __future__ import annotations

import torch

from train.attention import PackedMasks, attend
from train.batches import Batch
from train.draft_loss import draft_loss
from train.model import (TEXT, Weights, embed, finish_layer, layer_heads, layer_queries, of_layer, rms, rope_tables, text_config,
                         text_weight_shapes)

MODEL = "model."


def drafter_config(size: dict, target: dict) -> dict:
    """config.json of the assistant for a target's config.json."""
    text = target["text_config"]
    kinds = ["sliding_attention"] * (size["layers"] - 1) + ["full_attention"]
    last = len(text["layer_types"]) - 1
    merged = {**size, "head_dim": text["head_dim"], "kv_heads": text["num_key_value_heads"],
              "global_head_dim": layer_heads(text, last)[2], "global_kv_heads": layer_heads(text, last)[1],
              "context": text["max_position_embeddings"], "window": text["sliding_window"]}
    return {
        "architectures": ["Gemma4AssistantForCausalLM"], "model_type": "gemma4_assistant", "dtype": "bfloat16",
        "backbone_hidden_size": text["hidden_size"], "centroid_intermediate_top_k": size.get("top_centroids", 8),
        "num_centroids": size.get("centroids", 0) or 128, "use_ordered_embeddings": size.get("centroids", 0) > 0,
        "tie_word_embeddings": True,
        "text_config": text_config(merged, text["vocab_size"], kinds, size["layers"], None),
    }


def drafter_weight_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the assistant's tensors."""
    hidden, backbone = config["text_config"]["hidden_size"], config["backbone_hidden_size"]
    shapes = text_weight_shapes(config["text_config"], MODEL)
    shapes["pre_projection.weight"] = (hidden, 2 * backbone)
    shapes["post_projection.weight"] = (backbone, hidden)
    return shapes


def drafter_layer(x, w, heads: int, cos, sin, key, value, mask):
    """One layer of queries over the target's keys and values."""
    z = rms(x, w["input_layernorm.weight"])
    return finish_layer(x, attend(layer_queries(z, w, heads, cos, sin), key, value, mask), w)


def draft_step(config: dict, weights: Weights, embedded: torch.Tensor, hidden: torch.Tensor, shared, rope, masks,
               layer_fn=drafter_layer) -> tuple[torch.Tensor, torch.Tensor]:
    """One repeat at every position: the target's (scaled) embedding of the token and the state, both [B, T, backbone], give the
    normed output [B, T, hidden], which the head scores, and the next state."""
    text = config["text_config"]
    x = torch.cat([embedded, hidden], -1) @ weights["pre_projection.weight"].T
    for i, kind in enumerate(text["layer_types"]):
        key, value = shared[kind]
        x = layer_fn(x, of_layer(weights, MODEL, i), layer_heads(text, i)[0], *rope[kind], key, value, masks[kind])
    y = rms(x, weights[MODEL + "norm.weight"])
    return y, y @ weights["post_projection.weight"].T


class DrafterRun:
    """All draft steps at every position of packed rows, along the text that stands there."""

    def __init__(self, config: dict, target_config: dict, rows: int, length: int, device: str, compiled: bool):
        self.config = config
        self.softcap = target_config["text_config"]["final_logit_softcapping"]
        wrap = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
        self.layer, self.loss = wrap(drafter_layer), wrap(draft_loss)
        self.masks = PackedMasks(rows, length, target_config["text_config"]["sliding_window"], device, drafting=True)
        self.rope = rope_tables(config["text_config"], torch.arange(length, device=device))

    def steps(self, weights: Weights, target: Weights, batch: Batch, hidden: torch.Tensor, shared, depth: int):
        """Yields each draft step's normed output; step j at place i has read tokens up to i + j and guesses token i + j + 1."""
        masks = self.masks.update(batch.seen, batch.pic)
        state = torch.roll(hidden, 1, 1)
        for j in range(depth):
            embedded = embed(target, torch.roll(batch.tokens, -j, 1))
            y, state = draft_step(self.config, weights, embedded, state, shared, self.rope, masks, self.layer)
            yield y

    def losses(self, weights: Weights, target: Weights, batch: Batch, hidden: torch.Tensor, shared, depth: int, discount: float, hard: float):
        """The loss over all steps and each step's agreement with the target's likeliest token."""
        total, agreements, scale = 0.0, [], 0.0
        weight = batch.targets()[1].clamp_max(1)  # to drafters every token is worth the same
        started = torch.roll(batch.doc, 1, 1) == batch.doc  # a document's first token has nothing before it
        started[:, 0] = False
        for j, y in enumerate(self.steps(weights, target, batch, hidden, shared, depth)):
            # the place i + j must lie in the same document, and what follows it be worth learning
            same = torch.roll(batch.doc, -j, 1) == batch.doc
            if j:
                same[:, -j:] = False
            here = torch.roll(weight, -j, 1) * same * started
            loss, agreement = self.loss(y, weights[MODEL + "embed_tokens.weight"], None, torch.roll(hidden, -j, 1),
                                        target[TEXT + "embed_tokens.weight"], self.softcap, here, hard)
            count = here.sum().clamp_min(1)
            total = total + discount ** j * loss.sum() / count
            scale += discount ** j
            agreements.append((agreement.sum() / count).detach())
        return total / scale, torch.stack(agreements)
