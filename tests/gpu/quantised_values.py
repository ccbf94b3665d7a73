#!/usr/bin/env python3
"""What compressed-tensors and torch make of the folders that the tests write, against the numbers that the tests expect.

    PACELINE_KEEP_QUANTISED=/tmp/kept build/release/proof_test --gtest_filter='*HaveTheLogits*'
    python3 tests/gpu/quantised_values.py /tmp/kept

Needs torch, safetensors and compressed-tensors; no GPU. Every folder has `quantised/` and `plain/`, the same weights in
float32. Integers and FP8 must be equal; NVFP4 may be off by a rounding, as the library divides the scale first.
"""
import importlib
import pkgutil
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file

import compressed_tensors


def library(name):
    """The library's function of that name, wherever this version keeps it."""
    for module in pkgutil.walk_packages(compressed_tensors.__path__, "compressed_tensors."):
        try:
            found = getattr(importlib.import_module(module.name), name, None)
        except Exception:  # a part of it that needs something else
            continue
        if found is not None:
            return found
    sys.exit(f"compressed-tensors has no {name}")


UNPACK_INTEGERS = library("unpack_from_int32")
UNPACK_FP4 = library("unpack_fp4_from_uint8")


def spread(scale, shape):
    """A scale for each number: of all, of a row, of groups of a row, of blocks."""
    scale = scale.to(torch.float32)
    if scale.numel() == 1:
        return scale.reshape(1, 1).expand(shape)
    if scale.dim() == 1:
        scale = scale[:, None]
    high = 1 if scale.shape[0] == shape[0] else 128
    wide = 128 if high == 128 else shape[1] // scale.shape[1]
    return scale.repeat_interleave(high, 0)[: shape[0]].repeat_interleave(wide, 1)[:, : shape[1]]


def integers(tensors, module, shape):
    packed = tensors[module + ".weight_packed"]
    bits = packed.shape[1] * 32 // shape[1]
    codes = UNPACK_INTEGERS(packed, bits, torch.Size(shape)).to(torch.float32)
    scale = tensors[module + ".weight_scale"].to(torch.float32)
    zero = torch.zeros_like(scale)
    if module + ".weight_zero_point" in tensors:
        zero = UNPACK_INTEGERS(tensors[module + ".weight_zero_point"], bits, torch.Size(scale.shape), 0).float()
    if module + ".weight_g_idx" in tensors:
        of = tensors[module + ".weight_g_idx"].long()
        return (codes - zero[:, of]) * scale[:, of]
    return (codes - spread(zero, shape)) * spread(scale, shape)


def nvfp4(tensors, module, shape):
    divides = module + ".weight_packed" in tensors
    codes = UNPACK_FP4(tensors[module + (".weight_packed" if divides else ".weight")], *shape, dtype=torch.float32)
    scale = tensors[module + ".weight_scale"].to(torch.float32)
    if divides:
        return codes * spread(scale / tensors[module + ".weight_global_scale"], shape)
    return codes * spread(scale * tensors[module + ".weight_scale_2"], shape)


def fp8(tensors, module, shape):
    return tensors[module + ".weight"].to(torch.float32) * spread(tensors[module + ".weight_scale"], shape)


def values(tensors, module, shape):
    """The module's numbers and how far they may be off, or None where the library has no say."""
    packed, weight = tensors.get(module + ".weight_packed"), tensors.get(module + ".weight")
    if packed is not None and packed.dtype == torch.int32:
        return integers(tensors, module, shape), 0.0
    if packed is not None or module + ".weight_scale_2" in tensors:
        return nvfp4(tensors, module, shape), 3e-7
    if weight is not None and weight.dtype == torch.float8_e4m3fn:
        return fp8(tensors, module, shape), 0.0
    return None


def expected(plain, module):
    """The same in float32; experts stand in one tensor there."""
    if module + ".weight" in plain:
        return plain[module + ".weight"]
    before, _, rest = module.partition("experts.")
    expert, _, name = rest.partition(".")
    if name == "down_proj":
        return plain[before + "experts.down_proj"][int(expert)]
    both = plain[before + "experts.gate_up_proj"][int(expert)]
    half = both.shape[0] // 2
    return both[:half] if name == "gate_proj" else both[half:]


def check(folder):
    tensors = load_file(folder / "quantised" / "model.safetensors")
    plain = load_file(folder / "plain" / "model.safetensors")
    modules = {name.rsplit(".weight", 1)[0] for name in tensors if name.endswith(".weight_scale")}
    wrong = 0
    for module in sorted(modules):
        want = expected(plain, module)
        found = values(tensors, module, tuple(want.shape))
        if found is None:
            continue
        off = ((found[0] - want).abs() / want.abs().clamp_min(1e-30)).max().item()
        if off > found[1]:
            print(f"{folder.name}: {module} is off by {off:.1e} of itself")
            wrong += 1
    print(f"{folder.name}: {len(modules) - wrong} of {len(modules)} modules agree")
    return wrong == 0


def main():
    folders = [f for f in sorted(Path(sys.argv[1]).iterdir()) if (f / "quantised").is_dir()]
    results = [check(folder) for folder in folders]
    sys.exit(0 if results and all(results) else 1)


main()
