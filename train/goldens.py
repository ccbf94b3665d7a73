"""What transformers computes with the exported folders, in float32: `python3 -m train.goldens --export DIR --packed DIR --out DIR`.

golden-bf16.json: 20 prompts with 64 greedy tokens each; golden-q4.json: the same on the weights that the packed folder holds;
both with the 10 pictures of tests/default_model/pictures.json, whose PNG files stand beside them. min_gap is the smallest distance between best and second logit on the way."""
from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch

from train import chat, png, tasks
from train.pictures import render
from train.quantisation import unpacked
from train.weights_io import read_folder

HERE = Path(__file__).parent
# Always the same ones: documents and tests show them.
PICTURES = HERE.parent / "tests/default_model/pictures.json"
PROMPTS = (("prose", 6), ("chat", 4), ("code", 3), ("json", 3), ("arithmetic", 2), ("tools", 2))


def write_processor(folder: Path) -> str:
    """processor_config.json as transformers itself writes it."""
    from transformers import AutoProcessor, AutoTokenizer
    from transformers.models.gemma4 import Gemma4AudioFeatureExtractor, Gemma4ImageProcessor, Gemma4Processor, Gemma4VideoProcessor
    made = Gemma4Processor(feature_extractor=Gemma4AudioFeatureExtractor(), image_processor=Gemma4ImageProcessor(max_soft_tokens=70),
                           tokenizer=AutoTokenizer.from_pretrained(folder), video_processor=Gemma4VideoProcessor(max_soft_tokens=70), image_seq_length=70)
    aside = folder.parent / "processor"
    made.save_pretrained(aside)
    (folder / "processor_config.json").write_text((aside / "processor_config.json").read_text())
    (folder / "preprocessor_config.json").unlink(missing_ok=True)
    return type(AutoProcessor.from_pretrained(folder)).__name__


@torch.no_grad()
def greedy(model, ids: list[int], count: int, stops: list[int], more: dict) -> tuple[list[int], float]:
    """So many likeliest tokens, the stop token included, and the smallest gap."""
    tokens = torch.tensor([ids], device=model.device)
    found, gap, past = [], float("inf"), None
    for _ in range(count):
        out = model(input_ids=tokens, past_key_values=past, use_cache=True, **more)
        past, more = out.past_key_values, {}
        best, place = out.logits[0, -1].float().topk(2)
        gap = min(gap, float(best[0] - best[1]))
        found.append(int(place[0]))
        if found[-1] in stops:
            break
        tokens = place[:1][None]
    return found, gap


def picture_inputs(processor, example, ids: list[int], image_token: int, device) -> dict:
    made = processor(images=[render(example.picture)], return_tensors="pt")
    assert int(made["num_soft_tokens_per_image"][0]) == ids.count(image_token) == 64
    kinds = torch.tensor([[int(t == image_token) for t in ids]], device=device)
    return {"pixel_values": made["pixel_values"].to(device), "image_position_ids": made["image_position_ids"].to(device),
            "mm_token_type_ids": kinds}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--export", type=Path, required=True)
    parser.add_argument("--packed", type=Path, required=True, help="what `paceline quantize` made of it")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--few", type=int)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    from tokenizers import Tokenizer
    from transformers import AutoModelForImageTextToText, AutoTokenizer
    from transformers.models.gemma4 import Gemma4ImageProcessor
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    folder = args.export / "target"
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        print("AutoProcessor:", write_processor(folder), flush=True)
    except Exception as error:  # the folder stays usable with its tokenizer and image processor alone
        print("AutoProcessor fails:", repr(error)[:600], flush=True)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    automatic = AutoTokenizer.from_pretrained(folder)
    generation = json.loads((folder / "generation_config.json").read_text())
    ship = json.loads((HERE / "config.json").read_text())["export"]
    model, loading = AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    print(type(model).__name__, {k: list(v)[:5] for k, v in loading.items() if v}, flush=True)
    model = model.to(args.device).eval()
    processor = Gemma4ImageProcessor(max_soft_tokens=70)
    prompts = [(domain, text) for domain, count in PROMPTS for text in tasks.prompts(domain, count)][:args.few]
    examples = [tasks.Example("pictures", one["messages"], None, one["picture"], one["expected"]) for one in json.loads(PICTURES.read_text())][:args.few]
    for name in ("bf16", f"q{ship['target_bits']}"):
        if name != "bf16":
            packed = unpacked(read_folder(args.packed), ship["target_bits"])
            with torch.no_grad():
                for key, value in model.named_parameters():
                    if key in packed:
                        value.copy_(packed.pop(key))
            assert not packed, f"matrices of the packed folder that the model does not have: {list(packed)[:3]}"
        report: dict = {"weights": name, "transformers": __import__("transformers").__version__, "dtype": "float32", "prompts": [], "images": []}
        for domain, text in prompts:
            ids = tokenizer.encode(text, add_special_tokens=False).ids
            assert automatic.encode(text, add_special_tokens=False) == ids, "AutoTokenizer differs"
            found, gap = greedy(model, ids, 64, generation["eos_token_id"], {})
            report["prompts"].append({"domain": domain, "text": text, "ids": ids, "greedy": found, "output": tokenizer.decode(found, skip_special_tokens=False), "min_gap": gap})
        for number, example in enumerate(examples):
            (args.out / f"picture{number}.png").write_bytes(png.encoded([row.tobytes() for row in render(example.picture)]))
            ids = tokenizer.encode(chat.expand_images(chat.render_prompt(example.messages, example.tools), 64), add_special_tokens=False).ids
            more = picture_inputs(processor, example, ids, model.config.image_token_id, args.device)
            found, gap = greedy(model, ids, 64, generation["eos_token_id"], more)
            report["images"].append({"file": f"picture{number}.png", "max_soft_tokens": 70, "messages": example.messages, "expected": str(example.expected),
                                     "ids": ids, "greedy": found, "output": tokenizer.decode(found, skip_special_tokens=False), "min_gap": gap})
        (args.out / f"golden-{name}.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
        print(name, "first outputs:", [p["output"][:80] for p in report["prompts"][:3]], [i["output"] for i in report["images"][:3]], flush=True)
    if (args.export / "assistant").exists():
        from transformers import AutoModelForCausalLM
        assistant, loading = AutoModelForCausalLM.from_pretrained(args.export / "assistant", dtype=torch.float32, output_loading_info=True)
        print(type(assistant).__name__, {k: list(v)[:5] for k, v in loading.items() if v}, flush=True)


if __name__ == "__main__":
    main()
