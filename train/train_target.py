"""Trains the target: `python3 -m train.train_target --corpus DIR --tokenizer DIR --out DIR`."""
from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import torch

from train.batches import Pictures, training_batches
from train.model import computing, is_fixed
from train.optimiser import Optimiser, learning_factor
from train.packed_target import begin_with
from train.target import PackedTarget, new_target, save_weights

HERE = Path(__file__).parent


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--begin", type=Path, help="a packed folder whose weights are trained further, by `continued` of the config; else from nothing")
    parser.add_argument("--steps", type=int, help="instead of the config's")
    parser.add_argument("--early", type=int, default=-1, help="also write target-early.pt after so many steps, to try the later stages with")
    parser.add_argument("--config", type=Path, default=HERE / "config.json")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=6)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    settings = json.loads(args.config.read_text())
    phases, size, bits = settings["phases"]["target"], settings["target"], settings["export"]
    if args.begin:
        phases |= settings["continued"]["target"]
        settings["data"] |= settings["continued"]["data"]
    steps = args.steps or phases["steps"]
    device, gpu = args.device, args.device.startswith("cuda")
    torch.manual_seed(phases["seed"])
    torch.backends.cuda.matmul.allow_tf32 = True
    config, weights = new_target(size, args.tokenizer, phases["seed"], device)
    if args.begin:
        begin_with(args.begin, weights)
    args.out.mkdir(parents=True, exist_ok=True)
    params = {n: w for n, w in weights.items() if not is_fixed(n)}
    for p in params.values():
        p.requires_grad_(True)
    print(f"target: {sum(w.numel() for w in weights.values()) / 1e6:.2f} M parameters", flush=True)
    plan = {**phases, "mix": settings["data"]["mix"], "image_token": config["image_token_id"]}
    started = time.time()
    pictures = Pictures(args.corpus / "train" / "pictures.jsonl", device, gpu)
    print(f"{pictures.count} pictures in {time.time() - started:.1f} s", flush=True)
    model = PackedTarget(config, phases["text_rows"] + phases["picture_rows"], phases["row_length"], device, gpu)
    optimiser = Optimiser(params, phases)
    quantised_from, join_from = int(phases["quantised_from"] * steps), int(phases["join_from"] * steps)
    batches = training_batches(str(args.corpus), plan, steps, device, join_from, phases["join_share"], args.workers)
    log = (args.out / "target.jsonl").open("w")
    dtype = torch.bfloat16 if gpu else torch.float32
    recent, first_fast = [], None
    for step, batch in enumerate(batches):
        if step == 20:
            torch.cuda.synchronize() if gpu else None
            first_fast = time.time()
            print(f"first 20 steps done after {first_fast - started:.1f} s", flush=True)
        if step == args.early:
            save_weights(args.out / "target-early.pt", config, weights)
        if step == quantised_from:
            save_weights(args.out / "target-unquantised.pt", config, weights)
        ready = computing(weights, dtype, bits["target_bits"] if step >= quantised_from else 0, bits["target_group"])
        loss, weight = model.losses(ready, batch, pictures)
        mean = (loss * weight).sum() / weight.sum()
        mean.backward()
        optimiser.step(learning_factor(step, steps, phases["warmup"], phases["flat"]))
        text = phases["text_rows"]
        with torch.no_grad():
            recent.append(torch.stack([(loss[part] * weight[part]).sum() / weight[part].sum().clamp_min(1)
                                       for part in (slice(0, text), slice(text, None))]))
        if step % 20 == 19 or step == steps - 1:
            text_loss, picture_loss = torch.stack(recent).mean(0).tolist()
            recent = []
            rate = (step - 20) * batch.tokens.numel() / (time.time() - first_fast) if first_fast and step > 20 else 0
            row = {"step": step + 1, "seconds": round(time.time() - started, 1), "text": round(text_loss, 4),
                   "pictures": round(picture_loss, 4), "tokens_per_second": round(rate)}
            log.write(json.dumps(row) + "\n")
            log.flush()
            if step % 100 == 99 or step < 100 or step == steps - 1:
                print(row, flush=True)
    save_weights(args.out / "target.pt", config, weights)
    print(f"done after {time.time() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
