"""The DFlash drafter: config, weights, and whole blocks of drafts at many places of packed rows at once."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from train.attention import attend
from train.batches import Batch
from train.draft_loss import draft_loss
from train.model import TEXT, Weights, embed, initial, of_layer, rms, rotate, split_heads


def block_config(size: dict, target: dict) -> dict:
    """config.json of the drafter for a target's config.json."""
    text = target["text_config"]
    return {
        "architectures": ["DFlashDraftModel"], "model_type": "qwen3", "dtype": "bfloat16", "attention_bias": False, "hidden_act": "silu",
        "hidden_size": text["hidden_size"], "num_hidden_layers": size["layers"], "num_attention_heads": size["heads"],
        "num_key_value_heads": size["kv_heads"], "head_dim": size["head_dim"], "intermediate_size": size["ffn"], "rms_norm_eps": 1e-6,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "max_position_embeddings": text["max_position_embeddings"],
        "layer_types": ["sliding_attention"] * (size["layers"] - 1) + ["full_attention"], "use_sliding_window": True,
        "sliding_window": text["sliding_window"], "vocab_size": text["vocab_size"], "num_target_layers": text["num_hidden_layers"],
        "block_size": size["block"], "dflash_config": {"mask_token_id": target["audio_token_id"], "target_layer_ids": size["taps"]},
    }


def inner(config: dict, name: str):
    """A value that may stand in either place."""
    return config.get("dflash_config", {}).get(name, config.get(name))


def block_weight_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    hidden, ffn, width = config["hidden_size"], config["intermediate_size"], config["head_dim"]
    shapes: dict[str, tuple[int, ...]] = {"fc.weight": (hidden, len(inner(config, "target_layer_ids")) * hidden),
                                          "hidden_norm.weight": (hidden,), "norm.weight": (hidden,)}
    heads, groups = config["num_attention_heads"] * width, config["num_key_value_heads"] * width
    for i in range(config["num_hidden_layers"]):
        at = f"layers.{i}."
        for name, shape in (("input_layernorm", (hidden,)), ("post_attention_layernorm", (hidden,)), ("self_attn.q_norm", (width,)),
                            ("self_attn.k_norm", (width,)), ("self_attn.q_proj", (heads, hidden)), ("self_attn.k_proj", (groups, hidden)),
                            ("self_attn.v_proj", (groups, hidden)), ("self_attn.o_proj", (hidden, heads)), ("mlp.gate_proj", (ffn, hidden)),
                            ("mlp.up_proj", (ffn, hidden)), ("mlp.down_proj", (hidden, ffn))):
            shapes[f"{at}{name}.weight"] = shape
    return shapes


def initial_block(config: dict, seed: int, device: str) -> Weights:
    """Random matrices, and norms that let everything through: scores are scaled here, unlike the target's."""
    weights = initial(block_weight_shapes(config), seed, device)
    return {name: torch.ones_like(value) if value.dim() == 1 else value for name, value in weights.items()}


def block_rope(config: dict, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin [.., head size] in float32."""
    width = config["head_dim"]
    frequency = config["rope_parameters"]["rope_theta"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angle = positions[..., None].double() * frequency.to(positions.device)
    angle = torch.cat([angle, angle], -1)
    return angle.cos().float(), angle.sin().float()


def keys_of(z: torch.Tensor, w: Weights, groups: int, cos: torch.Tensor, sin: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    key = rms(split_heads(z @ w["self_attn.k_proj.weight"].T, groups), w["self_attn.k_norm.weight"])
    return rotate(key, cos, sin), split_heads(z @ w["self_attn.v_proj.weight"].T, groups)


def attend_densely(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """As attend, without scores that are kept where there is a GPU."""
    if not q.is_cuda:
        return attend(q, k, v, mask)
    groups = q.shape[1] // k.shape[1]
    return F.scaled_dot_product_attention(q, k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1), attn_mask=mask, scale=1.0)


def block_layer(x, w, heads: int, groups: int, cos, sin, context, context_cos, context_sin, mask):
    """One layer of block rows over the keys and values of the context and of the block itself."""
    key, value = keys_of(context, w, groups, context_cos, context_sin)
    z = rms(x, w["input_layernorm.weight"])
    own_key, own_value = keys_of(z, w, groups, cos, sin)
    q = rotate(rms(split_heads(z @ w["self_attn.q_proj.weight"].T, heads), w["self_attn.q_norm.weight"]), cos, sin)
    attended = attend_densely(q * q.shape[-1] ** -0.5, torch.cat([key, own_key], 2), torch.cat([value, own_value], 2), mask)
    x = x + attended.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1) @ w["self_attn.o_proj.weight"].T
    z = rms(x, w["post_attention_layernorm.weight"])
    return x + (F.silu(z @ w["mlp.gate_proj.weight"].T) * (z @ w["mlp.up_proj.weight"].T)) @ w["mlp.down_proj.weight"].T


class BlockMasks:
    """Who sees whom: context before the block's first place, in the same document, and the block's own rows behind it."""

    def __init__(self, rows: int, length: int, places: int, size: int, window: int, device: str):
        self.shape, self.device, self.size = (rows, places * size, length + places * size), device, size
        queries = torch.arange(places * size, device=device)
        row = queries % size
        start = length + queries - row  # where a query's own block begins among the keys
        # numbers of documents by key and by query, and the place at which a query's block begins; blocks themselves are of no document
        doc = self.doc = torch.full((rows, self.shape[2]), -1, dtype=torch.int32, device=device)
        asking = self.asking = torch.zeros(rows, places * size, dtype=torch.int32, device=device)
        first = self.first = torch.zeros(rows, places * size, dtype=torch.int32, device=device)

        def rule(sliding: bool):
            def sees(b, q, k):
                own = (k >= start[q]) & (k < start[q] + size)
                before = (k < first[b, q]) & (doc[b, k] == asking[b, q])
                if sliding:
                    own, before = own & (k <= start[q] + row[q]), before & (first[b, q] + row[q] - k < window)
                return own | before
            return sees

        self.rules = {"sliding_attention": rule(True), "full_attention": rule(False)}

    def update(self, doc: torch.Tensor, at: torch.Tensor) -> dict[str, torch.Tensor]:
        """Bool masks [rows, 1, queries, keys] by layer kind."""
        self.doc[:, :doc.shape[1]] = doc
        self.asking.copy_(doc.gather(1, at).repeat_interleave(self.size, 1))
        self.first.copy_(at.repeat_interleave(self.size, 1))
        b, q, k = (torch.arange(n, device=self.device) for n in self.shape)
        return {kind: rule(b[:, None, None], q[None, :, None], k[None, None])[:, None] for kind, rule in self.rules.items()}


class BlockRun:
    """Blocks at some places of packed rows: row 0 holds the token that stands at the place, the others are to guess those behind it."""

    def __init__(self, config: dict, target_config: dict, rows: int, length: int, places: int, device: str):
        self.config, self.places, self.size = config, places, config["block_size"]
        self.taps = inner(config, "target_layer_ids")
        self.mask_token = inner(config, "mask_token_id")
        self.softcap = target_config["text_config"]["final_logit_softcapping"]
        self.masks = BlockMasks(rows, length, places, self.size, config["sliding_window"], device)
        self.rope = block_rope(config, torch.arange(length + self.size, device=device))

    def proposals(self, weights: Weights, embedded: torch.Tensor, streams: dict[int, torch.Tensor], doc: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        """Normed outputs [B, places, block, hidden]; embedded [B, places, block, hidden] are the target's scaled rows."""
        rows, places = at.shape
        taken = torch.cat([streams[i] for i in self.taps], -1) @ weights["fc.weight"].T
        context = rms(taken, weights["hidden_norm.weight"])
        cos, sin = self.rope
        length = doc.shape[1]
        masks = self.masks.update(doc, at)
        positions = (at[..., None] + torch.arange(self.size, device=at.device)).reshape(rows, -1)
        own_cos, own_sin = cos[positions][:, None], sin[positions][:, None]
        x = embedded.reshape(rows, places * self.size, -1)
        for i, kind in enumerate(self.config["layer_types"]):
            x = block_layer(x, of_layer(weights, "", i), self.config["num_attention_heads"], self.config["num_key_value_heads"], own_cos, own_sin,
                           context, cos[:length], sin[:length], masks[kind])
        return rms(x, weights["norm.weight"]).reshape(rows, places, self.size, -1)

    def chosen(self, batch: Batch, weight: torch.Tensor) -> torch.Tensor:
        """Places [B, places], in order, behind which there is something to learn and before which something stands."""
        started = torch.roll(batch.doc, 1, 1) == batch.doc
        started[:, 0] = False
        score = torch.rand(weight.shape, device=weight.device) + (weight > 0) + started.int()
        return score.topk(self.places, -1).indices.sort(-1).values

    def losses(self, weights: Weights, target: Weights, batch: Batch, hidden: torch.Tensor, streams: dict[int, torch.Tensor], discount: float, hard: float):
        """The loss over all rows of all blocks and each row's agreement with the target's likeliest token."""
        weight = batch.targets()[1].clamp_max(1)  # to drafters every token is worth the same
        at, length = self.chosen(batch, weight), batch.tokens.shape[1]
        ahead = at[..., None] + torch.arange(1, self.size, device=at.device)  # where the guessed tokens stand
        inside = ahead.clamp_max(length - 1)
        flat = lambda values, places: values.gather(1, places.reshape(len(at), -1)).reshape(places.shape)
        same = (flat(batch.doc, inside) == flat(batch.doc, at)[..., None]) & (ahead < length)
        same = same & (flat(torch.roll(batch.doc, 1, 1), at) == flat(batch.doc, at))[..., None] & (at > 0)[..., None]
        worth = flat(weight, inside - 1) * same
        tokens = torch.full((*at.shape, self.size), self.mask_token, device=at.device)
        tokens[..., 0] = flat(batch.tokens, at)
        y = self.proposals(weights, embed(target, tokens), streams, batch.seen, at)[..., 1:, :]
        before = (inside - 1).reshape(len(at), -1)
        wanted = hidden.gather(1, before[..., None].expand(-1, -1, hidden.shape[-1])).reshape(y.shape)
        table = target[TEXT + "embed_tokens.weight"]
        loss, agreement = draft_loss(y, table, self.softcap, wanted, table, self.softcap, worth, hard)
        total = worth.sum((0, 1)).clamp_min(1)
        scale = discount ** torch.arange(self.size - 1, device=at.device)
        return (loss.sum((0, 1)) / total * scale).sum() / scale.sum(), (agreement.sum((0, 1)) / total).detach()
