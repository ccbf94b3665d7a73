"""Writes the Hugging Face folders: `python3 -m train.export --run DIR --tokenizer DIR --out DIR`."""
from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from train.target import load_weights, special_ids
from train.weights_io import write_folder

HERE = Path(__file__).parent
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def image_processor() -> dict:
    return {"do_convert_rgb": True, "do_normalize": False, "do_rescale": True, "do_resize": True, "image_mean": [0.0, 0.0, 0.0],
            "image_processor_type": "Gemma4ImageProcessor", "image_std": [1.0, 1.0, 1.0], "max_soft_tokens": 70, "patch_size": 16,
            "pooling_kernel_size": 3, "resample": 3, "rescale_factor": 1 / 255}


def processor() -> dict:
    """processor_config.json: pictures get at most 70 soft tokens, as in training."""
    return {"image_processor": image_processor(), "image_seq_length": 70, "processor_class": "Gemma4Processor"}


def export_target(run: Path, tokenizer: Path, out: Path, shard_bytes: int) -> None:
    config, weights = load_weights(run / "target.pt", "cpu")
    ids = special_ids(tokenizer)
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "config.json", config)
    write_json(out / "generation_config.json", {
        "bos_token_id": 2, "do_sample": True, "eos_token_id": [ids["<eos>"], ids["<turn|>"], ids["<|tool_response>"]], "pad_token_id": 0,
        "temperature": 0.7, "top_k": 64, "top_p": 0.95})
    write_json(out / "processor_config.json", processor())
    write_json(out / "preprocessor_config.json", image_processor())
    for name in TOKENIZER_FILES:
        if (tokenizer / name).exists():
            shutil.copy(tokenizer / name, out / name)
    write_folder(out, weights, shard_bytes)


def export_drafter(run: Path, out: Path, shard_bytes: int) -> None:
    config, weights = load_weights(run / "drafter.pt", "cpu")
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "config.json", config)
    write_json(out / "generation_config.json", {"bos_token_id": 2, "eos_token_id": 1, "pad_token_id": 0, "num_assistant_tokens": 4,
                                                "num_assistant_tokens_schedule": "constant", "assistant_confidence_threshold": 0.0})
    write_folder(out, weights, shard_bytes)


def export_dflash(run: Path, out: Path, shard_bytes: int) -> None:
    config, weights = load_weights(run / "dflash.pt", "cpu")
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / "config.json", config)
    write_folder(out, weights, shard_bytes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--drafters", action="store_true", help="only these: those of drafter.pt and dflash.pt that are there")
    args = parser.parse_args()
    shard_bytes = json.loads((HERE / "config.json").read_text())["export"]["shard_bytes"]
    if not args.drafters:
        export_target(args.run, args.tokenizer, args.out / "target", shard_bytes)
    for file, name, write in (("drafter.pt", "assistant", export_drafter), ("dflash.pt", "dflash", export_dflash)):
        if (args.run / file).exists():
            write(args.run, args.out / name, shard_bytes)
    print(f"{args.out}: " + ", ".join(sorted(folder.name for folder in args.out.iterdir())))


if __name__ == "__main__":
    main()
