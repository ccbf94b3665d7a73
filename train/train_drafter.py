"""Trains the MTP drafter against the shipped form of the target: `python3 -m train.train_drafter --corpus DIR --target FILE --out DIR`."""
from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from train.attention import PackedMasks
from train.batches import Batch, Pictures, corpus, to_batch, training_batches
from train.drafter import MODEL, draft_step, drafter_config, drafter_layer, drafter_weight_shapes
from train.generation import Generator
from train.model import TEXT, Weights, computing, embed, head_logits, initial, is_fixed, rope_tables
from train.optimiser import Optimiser, learning_factor
from train.packing import Documents, documents_of, draw, endless, pack
from train.target import PackedTarget, load_weights, save_weights

HERE = Path(__file__).parent


def stop_ids(config: dict) -> list[int]:
    return list(config["eos_token_id"])


def banned_ids(config: dict) -> list[int]:
    """Placeholders that are never generated."""
    return [config[n] for n in ("audio_token_id", "boa_token_id", "eoa_token_index", "boi_token_id", "image_token_id",
                                "eoi_token_id", "video_token_id")] + [0]


def own_texts(config: dict, weights: Weights, folder: str, mix: dict[str, float], settings: dict, device: str) -> list[Documents]:
    """Texts the target writes itself from the beginnings of training documents, half of them greedy, half at temperature 1."""
    names = tuple(n for n in mix if n != "pictures")
    sources = corpus(folder, "train", names)
    total = sum(mix[n] for n in names)
    batch, length = settings["own_batch"], settings["own_length"]
    generator = Generator(config["text_config"], weights, batch, length, device, banned_ids(config))
    random = np.random.default_rng(settings["seed"])
    found = []
    for round_number in range(settings["own_rounds"]):
        prompts = []
        for number, name in enumerate(names):
            count = max(1, round(batch * mix[name] / total))
            for i in endless(sources[number].count, settings["seed"] + number, round_number * count, count):
                tokens, learn = sources[number].get(int(i))
                tokens, learn = tokens[:length * 3 // 5], learn[:length * 3 // 5]
                places = np.flatnonzero(learn[:max(8, len(tokens) * 2 // 3)])
                places = places[places >= 2]
                if len(places) == 0:
                    continue
                # half begin where the text to be written begins, half anywhere in its first part
                cut = int(places[0]) if random.random() < 0.5 else int(random.choice(places))
                prompts.append([int(t) for t in tokens[:cut]])
        random.shuffle(prompts)
        prompts = prompts[:batch]
        temperature = [0.0 if i % 2 == 0 else 1.0 for i in range(len(prompts))]
        written = generator.run(prompts, length, stop_ids(config), temperature)
        texts = [p + t for p, t in zip(prompts, written)]
        found.append(documents_of(texts, [len(p) for p in prompts]))
    return found


def own_batches(found: list[Documents], rows: int, length: int, steps: int, seed: int, image_token: int, device: str) -> Iterator[Batch]:
    """Packed rows of the target's own texts, read again and again in new orders."""
    every = [(d, i) for d, documents in enumerate(found) for i in range(documents.count)]
    done, epoch = 0, 0
    while done < steps:
        order = np.random.default_rng([seed, epoch]).permutation(len(every))
        packed = pack(found, [every[i] for i in order], length)
        for first in range(0, len(packed.tokens) - rows + 1, rows):
            part = type(packed)(packed.tokens[first:first + rows], packed.doc[first:first + rows], packed.learn[first:first + rows],
                                packed.images)
            yield to_batch(part, image_token, 0, device)
            done += 1
            if done >= steps:
                return
        epoch += 1


def draft_loss(y: torch.Tensor, table: torch.Tensor, target_hidden: torch.Tensor, target_table: torch.Tensor, softcap: float,
               weight: torch.Tensor, hard: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Cross-entropy against the target's distribution, mixed with its likeliest token; and how often the two agree."""
    logits = (y @ table.T).float()
    logs = logits - logits.logsumexp(-1, keepdim=True)
    wanted = head_logits(target_hidden, target_table, softcap)
    best = wanted.argmax(-1)
    soft = -(wanted.softmax(-1) * logs).sum(-1)
    sharp = -logs.gather(-1, best[..., None])[..., 0]
    total = weight.sum().clamp_min(1)
    loss = ((1 - hard) * soft + hard * sharp) * weight
    return loss.sum() / total, ((logits.argmax(-1) == best) * weight).sum() / total


class DrafterRun:
    """All draft steps at every position of packed rows, along the text that stands there."""

    def __init__(self, config: dict, target_config: dict, rows: int, length: int, device: str, compiled: bool):
        self.config = config
        self.softcap = target_config["text_config"]["final_logit_softcapping"]
        wrap = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
        self.layer, self.loss = wrap(drafter_layer), wrap(draft_loss)
        self.masks = PackedMasks(rows, length, target_config["text_config"]["sliding_window"], device, drafting=True)
        self.rope = rope_tables(config["text_config"], torch.arange(length, device=device))

    def steps(self, weights: Weights, target: Weights, batch: Batch, hidden: torch.Tensor, shared, depth: int):
        """Yields each draft step's normed output; step j at place i has read tokens up to i + j and guesses token i + j + 1."""
        masks = self.masks.update(batch.seen, batch.pic)
        state = torch.roll(hidden, 1, 1)
        for j in range(depth):
            embedded = embed(target, torch.roll(batch.tokens, -j, 1))
            y, state = draft_step(self.config, weights, embedded, state, shared, self.rope, masks, self.layer)
            yield y

    def losses(self, weights: Weights, target: Weights, batch: Batch, hidden: torch.Tensor, shared, depth: int, discount: float, hard: float):
        """The loss over all steps and each step's agreement with the target's likeliest token."""
        total, agreements, scale = 0.0, [], 0.0
        _, weight = batch.targets()
        started = torch.roll(batch.doc, 1, 1) == batch.doc  # a document's first token has nothing before it
        started[:, 0] = False
        for j, y in enumerate(self.steps(weights, target, batch, hidden, shared, depth)):
            # the place i + j must lie in the same document, and what follows it be worth learning
            same = torch.roll(batch.doc, -j, 1) == batch.doc
            if j:
                same[:, -j:] = False
            here = torch.roll(weight, -j, 1) * same * started
            loss, agreement = self.loss(y, weights[MODEL + "embed_tokens.weight"], torch.roll(hidden, -j, 1),
                                        target[TEXT + "embed_tokens.weight"], self.softcap, here, hard)
            total = total + discount ** j * loss
            scale += discount ** j
            agreements.append(agreement.detach())
        return total / scale, torch.stack(agreements)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True, help="target.pt of train_target")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, help="instead of the config's")
    parser.add_argument("--phase", default="drafter", help="which of the config's phases to run")
    parser.add_argument("--start", type=Path, help="drafter.pt to go on from")
    parser.add_argument("--rounds", type=int, help="rounds of own texts, instead of the config's")
    parser.add_argument("--config", type=Path, default=HERE / "config.json")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--workers", type=int, default=4)
    return parser.parse_args()


def main() -> None:
    args = arguments()
    settings = json.loads(args.config.read_text())
    phases, ship, target_phases = settings["phases"][args.phase], settings["export"], settings["phases"]["target"]
    steps = args.steps or phases["steps"]
    if args.rounds:
        phases["own_rounds"] = args.rounds
    device, gpu = args.device, args.device.startswith("cuda")
    dtype = torch.bfloat16 if gpu else torch.float32
    torch.manual_seed(phases["seed"])
    started = time.time()
    target_config, target_weights = load_weights(args.target, device)
    with torch.no_grad():
        target = computing(target_weights, dtype, ship["target_bits"], ship["target_group"])
    config = drafter_config(settings["drafter"], target_config)
    weights = initial(drafter_weight_shapes(config), phases["seed"], device)
    if args.start:
        weights = load_weights(args.start, device)[1]
    params = {n: w.requires_grad_(True) for n, w in weights.items() if not is_fixed(n)}
    print(f"drafter: {sum(w.numel() for w in weights.values()) / 1e6:.2f} M parameters", flush=True)
    rows, length = phases["rows"], target_phases["row_length"]
    mix, image_token = settings["data"]["mix"], target_config["image_token_id"]
    first_steps = int(phases["corpus_share"] * steps)
    model = PackedTarget(target_config, rows, length, device, gpu)
    run = DrafterRun(config, target_config, rows, length, device, gpu)
    optimiser = Optimiser(params, phases)
    plan = {**target_phases, "seed": phases["seed"], "mix": mix, "image_token": image_token, "text_rows": rows - 1, "picture_rows": 1}
    pictures = Pictures(args.corpus / "train" / "pictures.jsonl", device, gpu)

    def batches() -> Iterator[Batch]:
        yield from training_batches(str(args.corpus), plan, first_steps, device, steps, 0.0, args.workers)
        began = time.time()
        found = own_texts(target_config, target, str(args.corpus), settings["eval"]["drafter_mix"], phases, device)
        print(f"own texts: {sum(len(f.tokens) for f in found) / 1e6:.1f} M tokens in {time.time() - began:.1f} s", flush=True)
        yield from own_batches(found, rows, length, steps - first_steps, phases["seed"], image_token, device)

    log = (args.out / f"{args.phase}.jsonl").open("w")
    quantised_from = int(phases["quantised_from"] * steps)
    recent, since = [], time.time()
    for step, batch in enumerate(batches()):
        with torch.no_grad():
            hidden, shared = model.hidden(target, batch, pictures)
        ready = computing(weights, dtype, ship["drafter_bits"] if step >= quantised_from else 0, ship["drafter_group"])
        loss, agreement = run.losses(ready, target, batch, hidden, shared, phases["depth"], phases["discount"], phases["hard"])
        loss.backward()
        optimiser.step(learning_factor(step, steps, phases["warmup"], phases["flat"]))
        recent.append(torch.cat([loss.detach()[None], agreement]))
        if step % 20 == 19 or step == steps - 1:
            mean = torch.stack(recent).mean(0).tolist()
            speed = len(recent) * batch.tokens.numel() / (time.time() - since)
            recent, since = [], time.time()
            row = {"step": step + 1, "seconds": round(time.time() - started, 1), "loss": round(mean[0], 4),
                   "agreement": [round(a, 3) for a in mean[1:]], "tokens_per_second": round(speed)}
            log.write(json.dumps(row) + "\n")
            log.flush()
            if step % 100 == 99 or step < 100 or step == steps - 1:
                print(row, flush=True)
    save_weights(args.out / "drafter.pt", config, weights)
    print(f"done after {time.time() - started:.1f} s", flush=True)


if __name__ == "__main__":
    main()
