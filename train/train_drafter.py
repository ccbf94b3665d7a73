"""Trains the drafters against the shipped form of the target: `python3 -m train.train_drafter --corpus DIR --target FILE --out DIR`."""
from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from train.batches import Batch, Pictures, training_batches
from train.block_drafter import BlockRun, block_config, initial_block
from train.drafter import DrafterRun, drafter_config, drafter_weight_shapes
from train.model import Weights, computing, initial, is_fixed
from train.optimiser import Optimiser, learning_factor
from train.own_texts import own_batches, own_texts
from train.packed_target import begin_with
from train.target import PackedTarget, load_weights, save_weights

HERE = Path(__file__).parent
KINDS = ("mtp", "dflash")
FILES = {"mtp": "drafter.pt", "dflash": "dflash.pt"}
FOLDERS = {"mtp": "assistant", "dflash": "drafters/dflash"}  # in a shipped model


class Student:
    """A drafter in training: its weights, their optimiser, and what it makes of a batch that the target has read."""

    def __init__(self, kind: str, config: dict, weights: Weights, losses: Callable, phases: dict, ship: dict, dtype: torch.dtype):
        self.kind, self.config, self.weights, self.losses = kind, config, weights, losses
        self.phases, self.ship, self.dtype, self.recent = phases, ship, dtype, []
        self.optimiser = Optimiser({n: w.requires_grad_(True) for n, w in weights.items() if not is_fixed(n)}, phases)
        print(f"{kind}: {sum(w.numel() for w in weights.values()) / 1e6:.2f} M parameters", flush=True)

    def step(self, number: int, steps: int, *seen) -> None:
        is_rounded = number >= int(self.phases["quantised_from"] * steps)
        ready = computing(self.weights, self.dtype, self.ship["drafter_bits"] if is_rounded else 0, self.ship["drafter_group"])
        loss, agreement = self.losses(ready, *seen)
        loss.backward()
        self.optimiser.step(learning_factor(number, steps, self.phases["warmup"], self.phases["flat"]))
        self.recent.append(torch.cat([loss.detach()[None], agreement]))

    def told(self) -> dict:
        """The loss and each draft's agreement since this was last asked."""
        mean = torch.stack(self.recent).mean(0).tolist()
        self.recent = []
        return {"loss": round(mean[0], 4), "agreement": [round(a, 3) for a in mean[1:]]}


def mtp_student(settings: dict, phases: dict, target_config: dict, target: Weights, rows: int, length: int, device: str, dtype: torch.dtype) -> Student:
    config = drafter_config(settings["drafter"], target_config)
    run = DrafterRun(config, target_config, rows, length, device, device.startswith("cuda"))

    def losses(weights, batch, hidden, shared, streams):
        return run.losses(weights, target, batch, hidden, shared, phases["depth"], phases["discount"], phases["hard"])

    return Student("mtp", config, initial(drafter_weight_shapes(config), phases["seed"], device), losses, phases, settings["export"], dtype)


def dflash_student(settings: dict, phases: dict, target_config: dict, target: Weights, rows: int, length: int, device: str, dtype: torch.dtype) -> Student:
    config = block_config(settings["dflash"], target_config)
    run = BlockRun(config, target_config, rows, length, phases["blocks"], device)

    def losses(weights, batch, hidden, shared, streams):
        return run.losses(weights, target, batch, hidden, streams, phases["discount"], phases["hard"])

    return Student("dflash", config, initial_block(config, phases["seed"], device), losses, phases, settings["export"], dtype)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True, help="target.pt of train_target")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--begin", type=Path, help="a folder as models/default whose drafters are trained further; else from nothing")
    parser.add_argument("--packed", action="store_true", help="the target's values are those of a packed file already (train.packed_target): they are not rounded again")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which drafters: mtp, dflash or both")
    parser.add_argument("--steps", type=int, help="instead of the config's")
    parser.add_argument("--rounds", type=int, help="rounds of own texts of either length, instead of the config's")
    parser.add_argument("--config", type=Path, default=HERE / "config.json")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=4)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    settings = json.loads(args.config.read_text())
    phases, ship, target_phases = settings["phases"]["drafter"], settings["export"], settings["phases"]["target"]
    if args.begin:
        phases |= settings["continued"]["drafter"]
        settings["data"] |= settings["continued"]["data"]
    steps = args.steps or phases["steps"]
    if args.rounds:
        phases["own_rounds"] = phases["own_short_rounds"] = args.rounds
    device, gpu = args.device, args.device.startswith("cuda")
    dtype = torch.bfloat16 if gpu else torch.float32
    torch.manual_seed(phases["seed"])
    started = time.time()
    target_config, target_weights = load_weights(args.target, device)
    with torch.no_grad():
        target = computing(target_weights, dtype, 0 if args.packed else ship["target_bits"], ship["target_group"])
    rows, length = phases["rows"], target_phases["row_length"]
    make = {"mtp": mtp_student, "dflash": dflash_student}
    students = [make[kind](settings, phases, target_config, target, rows, length, device, dtype) for kind in args.kinds.split(",")]
    for student in students if args.begin else ():
        begin_with(args.begin / FOLDERS[student.kind], student.weights)
    image_token, first_steps = target_config["image_token_id"], int(phases["corpus_share"] * steps)
    model = PackedTarget(target_config, rows, length, device, gpu)
    plan = {**target_phases, "seed": phases["seed"], "mix": settings["data"]["mix"], "image_token": image_token, "text_rows": rows - 1,
            "picture_rows": 1}
    pictures = Pictures(args.corpus / "train" / "pictures.jsonl", device, gpu)

    def batches() -> Iterator[Batch]:
        yield from training_batches(str(args.corpus), plan, first_steps, device, steps, 0.0, args.workers)
        began = time.time()
        found = own_texts(target_config, target, str(args.corpus), settings["eval"]["drafter_mix"], phases, device)
        print(f"own texts: {sum(len(f.tokens) for f in found) / 1e6:.1f} M tokens in {time.time() - began:.1f} s", flush=True)
        yield from own_batches(found, rows, length, steps - first_steps, phases["seed"], image_token, device)

    logs = {student.kind: (args.out / f"{Path(FILES[student.kind]).stem}.jsonl").open("w") for student in students}
    count, since = 0, time.time()
    for step, batch in enumerate(batches()):
        streams: dict[int, torch.Tensor] = {}
        with torch.no_grad():
            hidden, shared = model.hidden(target, batch, pictures, streams)
        for student in students:
            student.step(step, steps, batch, hidden, shared, streams)
        count += 1
        if step % 20 == 19 or step == steps - 1:
            told = {student.kind: student.told() for student in students}
            speed, count, since = round(count * batch.tokens.numel() / (time.time() - since)), 0, time.time()
            for kind, log in logs.items():
                row = {"step": step + 1, "seconds": round(time.time() - started, 1), **told[kind], "tokens_per_second": speed}
                log.write(json.dumps(row) + "\n")
                log.flush()
                if step % 100 == 99 or step < 100 or step == steps - 1:
                    print(kind, row, flush=True)
    for student in students:
        save_weights(args.out / FILES[student.kind], student.config, student.weights)
    print(f"done after {time.time() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
