"""Reads and writes safetensors without the library, in shards of a chosen size."""
from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import torch

TYPES = {"BF16": torch.bfloat16, "F32": torch.float32, "F16": torch.float16, "I64": torch.int64, "U8": torch.uint8}


def read_shard(path: Path) -> dict[str, torch.Tensor]:
    """All tensors of one file; U32 comes back as int32."""
    raw = path.read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    tensors = {}
    for name, entry in json.loads(raw[8:8 + size]).items():
        if name == "__metadata__":
            continue
        first, last = entry["data_offsets"]
        data = bytearray(raw[8 + size + first:8 + size + last])
        if entry["dtype"] == "U32":
            tensors[name] = torch.from_numpy(np.frombuffer(data, np.int32).reshape(entry["shape"]).copy())
        else:
            tensors[name] = torch.frombuffer(data, dtype=TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def read_folder(folder: Path) -> dict[str, torch.Tensor]:
    """All tensors of a checkpoint folder."""
    tensors: dict[str, torch.Tensor] = {}
    for path in sorted(folder.glob("*.safetensors")):
        tensors.update(read_shard(path))
    return tensors


def write_shard(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    """One file of bfloat16 tensors, the data aligned to 8 bytes."""
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    parts, at = [], 0
    for name, value in tensors.items():
        data = value.detach().cpu().bfloat16().contiguous().view(torch.int16).numpy().tobytes()
        header[name] = {"dtype": "BF16", "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        parts.append(data)
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))


def write_folder(folder: Path, tensors: dict[str, torch.Tensor], shard_bytes: int) -> None:
    """model.safetensors, or numbered shards with their index."""
    shards: list[dict[str, torch.Tensor]] = [{}]
    filled = 0
    for name in sorted(tensors):
        size = 2 * tensors[name].numel()
        if filled + size > shard_bytes and shards[-1]:
            shards.append({})
            filled = 0
        shards[-1][name] = tensors[name]
        filled += size
    if len(shards) == 1:
        write_shard(folder / "model.safetensors", shards[0])
        return
    index = {"metadata": {"total_size": 2 * sum(t.numel() for t in tensors.values())}, "weight_map": {}}
    for number, shard in enumerate(shards):
        file = f"model-{number + 1:05d}-of-{len(shards):05d}.safetensors"
        write_shard(folder / file, shard)
        index["weight_map"].update({name: file for name in shard})
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
