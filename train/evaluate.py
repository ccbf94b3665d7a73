"""Measures a target and its drafter: `python3 -m train.evaluate --corpus DIR --tokenizer DIR --run DIR`; writes eval.json and eval.md."""
from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from train import chat, tasks
from train.acceptance import measure
from train.batches import Batch, Pictures, joined, slice_rows, to_batch
from train.drafter import DrafterRun
from train.generation import Generator
from train.model import Weights, computing, embed
from train.own_texts import banned_ids
from train.packing import Rows, documents_of, load_documents, pack
from train.pictures import render_batch_torch
from train.target import PackedTarget, load_weights, special_ids
from train.vision import patches_of, vision_forward

HERE = Path(__file__).parent
ACCEPTANCE_DOMAINS = ("prose", "chat", "code", "json", "arithmetic", "tools", "copying")


def stops_of(ids: dict[str, int]) -> list[int]:
    return [ids["<eos>"], ids["<turn|>"], ids["<|tool_response>"]]


@torch.no_grad()
def held_out_loss(model: PackedTarget, weights: Weights, folder: Path, domain: str, rows: int, most: int, length: int, image_token: int,
                  per_row: int, device: str) -> tuple[float, int]:
    """Mean loss over a domain's held-out documents, and how many tokens that is."""
    documents = load_documents(folder / f"{domain}.npz")
    packed = pack([documents], [(0, i) for i in range(documents.count)], length, most, image_token, per_row if domain == "pictures" else 1 << 30)
    pictures = Pictures(folder / "pictures.jsonl", device) if domain == "pictures" else None
    total = torch.zeros(2, device=device, dtype=torch.float64)
    for first in range(0, len(packed.tokens), rows):
        part = slice_rows(packed, first, min(first + rows, len(packed.tokens)))
        missing = rows - len(part.tokens)
        if missing:
            blank = np.zeros((missing, length), np.uint16)
            part = joined([part, Rows(blank, blank.astype(np.int16), blank.astype(np.uint8), np.zeros((0, 3), np.int64))])
        batch = to_batch(part, image_token, rows * per_row if pictures else 0, device)
        loss, weight = model.losses(weights, batch, pictures)
        total += torch.stack([(loss * weight).sum().double(), weight.sum().double()])
    return float(total[0] / total[1].clamp_min(1)), int(total[1])


class Answerer:
    """Answers held-out tasks greedily with one set of weights."""

    def __init__(self, config: dict, weights: Weights, tokenizer, ids: dict[str, int], device: str, length: int):
        self.config, self.weights, self.tokenizer, self.ids, self.device, self.length = config, weights, tokenizer, ids, device, length

    def prompt_ids(self, example) -> list[int]:
        text = chat.render_prompt(example.messages, example.tools)
        if example.picture is not None:
            text = chat.expand_images(text, 64)
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    @torch.no_grad()
    def answer(self, examples: list, new_tokens: int) -> list[str]:
        prompts = [self.prompt_ids(e)[-(self.length - new_tokens):] for e in examples]
        generator = Generator(self.config["text_config"], self.weights, len(prompts), self.length, self.device, banned_ids(self.config))
        pic = inputs = None
        if examples[0].picture is not None:
            pic, inputs = self.picture_inputs(prompts, [e.picture for e in examples])
        written = generator.run(prompts, new_tokens, stops_of(self.ids), [0.0] * len(prompts), pic, inputs)
        return [self.tokenizer.decode([t for t in text if t not in stops_of(self.ids)], skip_special_tokens=False) for text in written]

    def picture_inputs(self, prompts: list[list[int]], specs: list) -> tuple[torch.Tensor, torch.Tensor]:
        """Where image tokens stand, and the embeddings with the pictures' soft tokens in place."""
        size = max(len(p) for p in prompts)
        tokens = torch.tensor([p + [0] * (size - len(p)) for p in prompts], device=self.device)
        pic = (tokens == self.config["image_token_id"]).int()
        x = embed(self.weights, tokens)
        for first in range(0, len(specs), 50):
            pixels = render_batch_torch(specs[first:first + 50], self.device)
            soft = vision_forward(self.config["vision_config"], self.weights, patches_of(pixels), 24)
            x[first:first + 50][pic[first:first + 50] > 0] = soft.reshape(-1, x.shape[-1])
        return pic, x


def markdown(report: dict) -> str:
    """The report as tables."""
    lines = ["| loss, held out | " + " | ".join(report["loss"]) + " |", "|---" * (1 + len(report["loss"])) + "|"]
    for domain in next(iter(report["loss"].values())):
        lines.append(f"| {domain} | " + " | ".join(f"{table[domain]:.4f}" for table in report["loss"].values()) + " |")
    lines += ["", "| exact match | " + " | ".join(report["tasks"]) + " |", "|---" * (1 + len(report["tasks"])) + "|"]
    for task in next(iter(report["tasks"].values())):
        lines.append(f"| {task} | " + " | ".join(f"{table[task]:.1%}" for table in report["tasks"].values()) + " |")
    lines += ["", "| depth 4 | T | tokens per verify | accepted by position |", "|---|---|---|---|"]
    for domain, by_temperature in report["acceptance"].items():
        for temperature, entry in by_temperature.items():
            shown = ", ".join(f"{a:.2f}" for a in entry["accepted_by_position"])
            lines.append(f"| {domain} | {temperature} | {entry['tokens_per_verify']:.2f} | {shown} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True, help="folder with target.pt and drafter.pt")
    parser.add_argument("--config", type=Path, default=HERE / "config.json")
    parser.add_argument("--few", type=int, help="so many examples instead of all")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    from tokenizers import Tokenizer
    started = time.time()
    settings = json.loads(args.config.read_text())
    device, gpu = args.device, args.device.startswith("cuda")
    dtype = torch.bfloat16 if gpu else torch.float32
    ship, choices = settings["export"], settings["eval"]
    rows, length = settings["phases"]["drafter"]["rows"], settings["phases"]["target"]["row_length"]
    tokenizer = Tokenizer.from_file(str(args.tokenizer / "tokenizer.json"))
    ids = special_ids(args.tokenizer)
    config, master = load_weights(args.run / "target.pt", device)
    formats = {"bf16": 0, "q8": 8, "q4": 4}
    with torch.no_grad():
        ready = {name: computing(master, dtype, bits, ship["target_group"]) for name, bits in formats.items()}
    shipped = f"q{ship['target_bits']}"
    model = PackedTarget(config, rows, length, device, gpu)
    report: dict = {"loss": {}, "tasks": {}, "answers": {}, "acceptance": {}, "texts": {}}
    domains = [n for n in settings["data"]["mix"] if (args.corpus / "held" / f"{n}.npz").exists()]
    for name, weights in ready.items():
        report["loss"][name] = {
            domain: round(held_out_loss(model, weights, args.corpus / "held", domain, rows, choices["rows_per_domain"], length,
                                        config["image_token_id"], 40, device)[0], 4) for domain in domains}
    print(f"losses after {time.time() - started:.1f} s", json.dumps(report["loss"]), flush=True)
    for name in ("bf16", shipped):
        answerer = Answerer(config, ready[name], tokenizer, ids, device, 1024)
        report["tasks"][name] = {}
        for task in tasks.TASKS:
            examples = tasks.held_out(task)[:args.few]
            outputs = answerer.answer(examples, 160)
            right = [tasks.score(e, o) for e, o in zip(examples, outputs)]
            report["tasks"][name][task] = sum(right) / len(right)
            wrong = [(i, o) for i, (o, r) in enumerate(zip(outputs, right)) if not r][:4]
            report["answers"][f"{name} {task}"] = {
                "right": outputs[:2], "wrong": [{"expected": str(examples[i].expected), "got": o} for i, o in wrong]}
    print(f"tasks after {time.time() - started:.1f} s", json.dumps(report["tasks"]), flush=True)
    if (args.run / "drafter.pt").exists():
        draft_config, draft_master = load_weights(args.run / "drafter.pt", device)
        with torch.no_grad():
            drafter = computing(draft_master, dtype, ship["drafter_bits"], ship["drafter_group"])
        run = DrafterRun(draft_config, config, rows, length, device, gpu)
        prompts = []
        for domain in ACCEPTANCE_DOMAINS:
            texts = tasks.prompts(domain, args.few or choices["prompts_per_domain"])
            prompts += [(domain, tokenizer.encode(t, add_special_tokens=False).ids[:768]) for t in texts]
        generator = Generator(config["text_config"], ready[shipped], len(prompts), 1024, device, banned_ids(config))
        for temperature in (0.0, 1.0):
            written = generator.run([p for _, p in prompts], choices["new_tokens"], stops_of(ids), [temperature] * len(prompts))
            for domain in ACCEPTANCE_DOMAINS:
                mine = [(p, w) for (d, p), w in zip(prompts, written) if d == domain]
                texts = documents_of([p + w for p, w in mine], [len(p) for p, _ in mine])
                entry = measure(run, model, drafter, ready[shipped], texts, [len(p) for p, _ in mine], rows, length, choices["depth"], device)
                report["acceptance"].setdefault(domain, {})[f"{temperature:g}"] = entry
                if temperature == 0:
                    report["texts"][domain] = [tokenizer.decode(p + w, skip_special_tokens=False) for p, w in mine[:3]]
        print(f"acceptance after {time.time() - started:.1f} s", flush=True)
    (args.run / "eval.json").write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    (args.run / "eval.md").write_text(markdown(report))
    print(markdown(report), flush=True)


if __name__ == "__main__":
    main()
