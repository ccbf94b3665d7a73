"""A packed target as train_drafter reads it: `python3 -m train.packed_target FOLDER OUT.pt`, in floats as its reader computes with them."""
from __future__ import annotations

import json
import sys
from pathlib import Path

import torch

from train.quantisation import unpacked
from train.target import target_weight_shapes
from train.weights_io import read_folder


def packed_weights(folder: Path, wanted: dict[str, tuple[int, ...]] | None = None) -> tuple[dict, dict[str, torch.Tensor]]:
    """Config and weights of a folder that `paceline quantize` wrote; `wanted`: the shapes that are expected, for a target its own."""
    config = json.loads((folder / "config.json").read_text())
    bits = config.pop("quantization")["bits"]
    config.pop("quantization_config", None)
    tensors = read_folder(folder)
    weights = {**{name: value.float() for name, value in tensors.items() if value.dtype != torch.int32}, **unpacked(tensors, bits)}
    wanted = wanted or target_weight_shapes(config)
    for name, shape in wanted.items():
        if name not in weights or tuple(weights[name].shape) != tuple(shape):
            raise ValueError(f"{folder}: expected {name} of shape {shape}, found {tuple(weights[name].shape) if name in weights else 'none'}")
    return config, {name: weights[name] for name in wanted}


def begin_with(folder: Path, weights: dict[str, torch.Tensor]) -> None:
    """Gives weights of a model that is to be trained further the values that a packed folder has."""
    _, found = packed_weights(folder, {name: tuple(value.shape) for name, value in weights.items()})
    with torch.no_grad():
        for name, value in weights.items():
            value.copy_(found[name])


def main() -> None:
    config, weights = packed_weights(Path(sys.argv[1]))
    torch.save({"config": config, "weights": weights}, sys.argv[2])


if __name__ == "__main__":
    main()
