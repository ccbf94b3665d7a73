"""Gemma 4 as plain functions of a dictionary of tensors under their Hugging Face names: configs, initial weights, the text model's forward."""
from __future__ import annotations

import math

import torch

from train.attention import attend
from train.quantisation import fake_quantised, is_quantised

Weights = dict[str, torch.Tensor]
TEXT = "model.language_model."
ROPE = {
    "full_attention": {"partial_rotary_factor": 0.25, "rope_theta": 1000000.0, "rope_type": "proportional"},
    "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"},
}


def text_config(size: dict, vocab: int, layer_types: list[str], shared: int, softcap: float | None) -> dict:
    """The text section of a Hugging Face config."""
    layers = len(layer_types)
    digits = len(str(layers - 1))
    return {
        "model_type": "gemma4_text", "attention_bias": False, "attention_dropout": 0.0, "attention_k_eq_v": True,
        "bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0, "enable_moe_block": False,
        "final_logit_softcapping": softcap, "head_dim": size["head_dim"], "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": size["hidden"], "hidden_size_per_layer_input": 0, "initializer_range": 0.02,
        "intermediate_size": size["ffn"], "layer_types": layer_types, "max_position_embeddings": size["context"],
        "moe_intermediate_size": None, "num_attention_heads": size["heads"], "num_experts": None,
        "num_hidden_layers": layers, "num_key_value_heads": size["kv_heads"], "num_kv_shared_layers": shared,
        "per_layer_config": {
            str(i).zfill(digits): {"head_dim": size["global_head_dim"], "num_key_value_heads": size["global_kv_heads"]}
            for i, kind in enumerate(layer_types) if kind == "full_attention"
        },
        "rms_norm_eps": 1e-6, "rope_parameters": ROPE, "sliding_window": size["window"], "tie_word_embeddings": True,
        "top_k_experts": None, "use_bidirectional_attention": None, "use_cache": True, "use_double_wide_mlp": False,
        "vocab_size": vocab, "vocab_size_per_layer_input": 0,
    }


def target_config(size: dict, ids: dict[str, int]) -> dict:
    """config.json of the target; ids maps special tokens' names to their numbers."""
    kinds = ["full_attention" if i % 6 == 5 else "sliding_attention" for i in range(size["layers"])]
    text = text_config(size, size["vocab"], kinds, 0, size["softcap"])
    text["use_bidirectional_attention"] = "vision"
    vision = size["vision"]
    return {
        "architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "dtype": "bfloat16",
        "audio_config": None, "audio_token_id": ids["<|audio|>"], "boa_token_id": ids["<|audio>"],
        "eoa_token_index": ids["<audio|>"], "boi_token_id": ids["<|image>"], "image_token_id": ids["<|image|>"],
        "eoi_token_id": ids["<image|>"], "video_token_id": ids["<|video|>"], "bos_token_id": 2, "pad_token_id": 0,
        "eos_token_id": [1, ids["<turn|>"], ids["<|tool_response>"]], "initializer_range": 0.02, "tie_word_embeddings": True,
        "text_config": text,
        "vision_config": {
            "model_type": "gemma4_vision", "attention_bias": False, "attention_dropout": 0.0,
            "head_dim": vision["head_dim"], "hidden_activation": "gelu_pytorch_tanh", "hidden_size": vision["hidden"],
            "initializer_range": 0.02, "intermediate_size": vision["ffn"], "max_position_embeddings": 131072,
            "num_attention_heads": vision["heads"], "num_hidden_layers": vision["layers"],
            "num_key_value_heads": vision["heads"], "patch_size": 16, "pooling_kernel_size": 3,
            "position_embedding_size": vision["positions"], "rms_norm_eps": 1e-6,
            "rope_parameters": {"rope_theta": 100.0, "rope_type": "axial"}, "standardize": True,
            "use_clipped_linears": False,
        },
    }


def layer_heads(config: dict, layer: int) -> tuple[int, int, int]:
    """Query heads, KV heads and head size of one layer."""
    special = {int(k): v for k, v in (config.get("per_layer_config") or {}).items()}.get(layer, {})
    return (config["num_attention_heads"], special.get("num_key_value_heads", config["num_key_value_heads"]),
            special.get("head_dim", config["head_dim"]))


def text_weight_shapes(config: dict, prefix: str) -> dict[str, tuple[int, ...]]:
    """Names and shapes of a text model's tensors; a model whose layers all share KV has queries only."""
    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {prefix + "embed_tokens.weight": (config["vocab_size"], hidden),
                                          prefix + "norm.weight": (hidden,)}
    for i, kind in enumerate(config["layer_types"]):
        heads, groups, width = layer_heads(config, i)
        at = f"{prefix}layers.{i}."
        for norm in ("input", "post_attention", "pre_feedforward", "post_feedforward"):
            shapes[f"{at}{norm}_layernorm.weight"] = (hidden,)
        shapes[at + "layer_scalar"] = (1,)
        shapes[at + "self_attn.q_proj.weight"] = (heads * width, hidden)
        shapes[at + "self_attn.q_norm.weight"] = (width,)
        shapes[at + "self_attn.o_proj.weight"] = (hidden, heads * width)
        if config["num_kv_shared_layers"] == 0:
            shapes[at + "self_attn.k_proj.weight"] = (groups * width, hidden)
            shapes[at + "self_attn.k_norm.weight"] = (width,)
            if kind == "sliding_attention":
                shapes[at + "self_attn.v_proj.weight"] = (groups * width, hidden)
        for name, shape in (("gate", (ffn, hidden)), ("up", (ffn, hidden)), ("down", (hidden, ffn))):
            shapes[f"{at}mlp.{name}_proj.weight"] = shape
    return shapes


def initial(shapes: dict[str, tuple[int, ...]], seed: int, device: str) -> Weights:
    """Random matrices, and norms such that attention starts flat (scale 1 has no 1/sqrt(d)) and branches start small."""
    random = torch.Generator().manual_seed(seed)
    weights: Weights = {}
    for name, shape in shapes.items():
        if name.endswith(("q_norm.weight", "k_norm.weight")):
            value = torch.full(shape, shape[0] ** -0.25)
        elif "post_" in name and "layernorm" in name:
            value = torch.full(shape, 0.4)
        elif name.endswith("std_bias"):
            value = torch.zeros(shape)
        elif len(shape) == 1:
            value = torch.ones(shape)
        elif name.endswith("position_embedding_table"):
            value = torch.randn(shape, generator=random) * 0.2
        else:
            value = torch.randn(shape, generator=random) * shape[-1] ** -0.5
        weights[name] = value.to(device)
    return weights


def is_fixed(name: str) -> bool:
    """Buffers of the reference: kept at their initial values."""
    return name.endswith(("layer_scalar", "std_bias", "std_scale"))


def computing(weights: Weights, dtype: torch.dtype, bits: int, group: int) -> Weights:
    """The weights a forward computes with: cast, and fake-quantised where bits is 4 or 8 (0: not), all matrices in one go."""
    ready = {}
    packed = [n for n, w in weights.items() if bits and is_quantised(n, w, group)]
    if packed:
        groups = [weights[n].numel() // group for n in packed]
        all_groups = torch.cat([weights[n].reshape(-1, group) for n in packed])
        parts = fake_quantised(all_groups, bits, group).to(dtype).split(groups)
        ready = {n: part.reshape(weights[n].shape) for n, part in zip(packed, parts)}
    return {n: ready[n] if n in ready else w.to(dtype) for n, w in weights.items()}


def rms(x: torch.Tensor, weight: torch.Tensor | None, eps: float = 1e-6) -> torch.Tensor:
    """RMSNorm in float32, back in x's type."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return (wide if weight is None else wide * weight.float()).to(x.dtype)


def gelu(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x, approximate="tanh")


def rope_tables(config: dict, positions: torch.Tensor) -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """cos and sin [.., head size] in float32 for both kinds of layer."""
    tables = {}
    for i, kind in enumerate(config["layer_types"]):
        if kind in tables:
            continue
        width = layer_heads(config, i)[2]
        rule = config["rope_parameters"][kind]
        count = width // 2 if rule["rope_type"] == "default" else int(rule["partial_rotary_factor"] * width // 2)
        frequency = torch.zeros(width // 2, dtype=torch.float64)
        frequency[:count] = rule["rope_theta"] ** (-torch.arange(0, 2 * count, 2, dtype=torch.float64) / width)
        angle = positions[..., None].double() * frequency.to(positions.device)
        angle = torch.cat([angle, angle], -1)
        tables[kind] = (angle.cos().float(), angle.sin().float())
    return tables


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """RoPE, rotate-half form; x [.., T, D]."""
    half = x.shape[-1] // 2
    wide = x.float()
    turned = torch.cat([-wide[..., half:], wide[..., :half]], -1)
    return (wide * cos + turned * sin).to(x.dtype)


def split_heads(x: torch.Tensor, heads: int) -> torch.Tensor:
    """[B, T, heads * D] to [B, heads, T, D]."""
    return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def layer_keys(z: torch.Tensor, w: Weights, groups: int, cos: torch.Tensor, sin: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values [B, groups, T, D] of a layer's normed input; where there is no v_proj, V is the raw K projection."""
    raw = split_heads(z @ w["self_attn.k_proj.weight"].T, groups)
    value = split_heads(z @ w["self_attn.v_proj.weight"].T, groups) if "self_attn.v_proj.weight" in w else raw
    return rotate(rms(raw, w["self_attn.k_norm.weight"]), cos, sin), rms(value, None)


def layer_queries(z: torch.Tensor, w: Weights, heads: int, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    return rotate(rms(split_heads(z @ w["self_attn.q_proj.weight"].T, heads), w["self_attn.q_norm.weight"]), cos, sin)


def finish_layer(x: torch.Tensor, attended: torch.Tensor, w: Weights) -> torch.Tensor:
    """From the heads' outputs [B, H, T, D] to the layer's output."""
    joined = attended.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)
    x = x + rms(joined @ w["self_attn.o_proj.weight"].T, w["post_attention_layernorm.weight"])
    z = rms(x, w["pre_feedforward_layernorm.weight"])
    wide = gelu(z @ w["mlp.gate_proj.weight"].T) * (z @ w["mlp.up_proj.weight"].T)
    x = x + rms(wide @ w["mlp.down_proj.weight"].T, w["post_feedforward_layernorm.weight"])
    return x * w["layer_scalar"]


def text_layer(x, w, heads: int, groups: int, cos, sin, mask):
    """One decoder layer; returns its output, keys and values."""
    z = rms(x, w["input_layernorm.weight"])
    key, value = layer_keys(z, w, groups, cos, sin)
    x = finish_layer(x, attend(layer_queries(z, w, heads, cos, sin), key, value, mask), w)
    return x, key, value


def of_layer(weights: Weights, prefix: str, layer: int) -> Weights:
    """One layer's weights under their short names."""
    start = f"{prefix}layers.{layer}."
    return {name[len(start):]: value for name, value in weights.items() if name.startswith(start)}


def embed(weights: Weights, tokens: torch.Tensor, prefix: str = TEXT) -> torch.Tensor:
    table = weights[prefix + "embed_tokens.weight"]
    scale = torch.tensor(math.sqrt(table.shape[1]), dtype=table.dtype).item()
    return torch.nn.functional.embedding(tokens, table) * scale


def text_forward(config: dict, weights: Weights, x: torch.Tensor, rope, masks, layer_fn=text_layer, prefix: str = TEXT,
                 streams: dict[int, torch.Tensor] | None = None):
    """From input embeddings [B, T, hidden] to the state after the final norm, and {kind: (keys, values)} of each kind's last layer;
    what comes out of every layer is put into `streams`."""
    shared = {}
    for i, kind in enumerate(config["layer_types"]):
        heads, groups, _ = layer_heads(config, i)
        x, key, value = layer_fn(x, of_layer(weights, prefix, i), heads, groups, *rope[kind], masks[kind])
        shared[kind] = (key, value)
        if streams is not None:
            streams[i] = x
    return rms(x, weights[prefix + "norm.weight"]), shared


def head_logits(hidden: torch.Tensor, table: torch.Tensor, softcap: float | None) -> torch.Tensor:
    logits = (hidden @ table.T).float()
    return softcap * torch.tanh(logits / softcap) if softcap else logits
