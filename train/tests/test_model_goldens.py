"""The functional model against tiny reference checkpoints: logits, drafts and picture features. Needs PyTorch and GOLDENS=folder."""
import json
import os
import unittest
from pathlib import Path

import torch

from train.attention import dense_masks
from train.drafter import draft_step
from train.model import embed, head_logits, rope_tables, text_forward
from train.vision import vision_forward
from train.weights_io import read_folder, read_shard

GOLDENS = Path(os.environ.get("GOLDENS", "../shared/goldens"))


def folder(path: Path):
    weights = {k: v.float() for k, v in read_folder(path).items()}
    return json.loads((path / "config.json").read_text()), weights


@unittest.skipUnless(GOLDENS.exists(), "no reference checkpoints here")
class Goldens(unittest.TestCase):
    def run_text(self, config, weights, ids, prefix, pic=None):
        tokens = torch.tensor([ids])
        doc = torch.zeros_like(tokens)
        masks = dense_masks(doc, doc if pic is None else pic, config["sliding_window"])
        rope = rope_tables(config, torch.arange(len(ids)))
        return text_forward(config, weights, embed(weights, tokens, prefix), rope, masks, prefix=prefix)

    def test_text_and_drafts(self):
        config, weights = folder(GOLDENS / "dense/target")
        draft_config, draft_weights = folder(GOLDENS / "dense/assistant")
        golden = json.loads((GOLDENS / "dense/golden.json").read_text())
        want = read_shard(GOLDENS / "dense/golden.safetensors")
        drafts = json.loads((GOLDENS / "dense/drafts.json").read_text())
        table = weights["model.embed_tokens.weight"]
        for number, prompt in enumerate(golden["prompts"][:3]):
            hidden, _ = self.run_text(config, weights, prompt["ids"], "model.")
            logits = head_logits(hidden, table, 30.0)[0]
            self.assertLess((logits - want[f"prompt{number}.logits"]).abs().max().item(), 2e-4)
            full = prompt["ids"] + prompt["greedy"][:64]
            hidden, shared = self.run_text(config, weights, full, "model.")
            tokens = torch.tensor([full])
            masks = dense_masks(torch.zeros_like(tokens), torch.zeros_like(tokens), config["sliding_window"], drafting=True)
            rope = rope_tables(draft_config["text_config"], torch.arange(len(full)))
            state = torch.cat([torch.zeros_like(hidden[:, :1]), hidden[:, :-1]], 1)
            picked, rows = tokens, []
            for _ in range(7):
                y, state = draft_step(draft_config, draft_weights, embed(weights, picked, "model."), state, shared, rope, masks)
                picked = (y @ draft_weights["model.embed_tokens.weight"].T).argmax(-1)
                rows.append(picked[0])
            for row in drafts["prompts"][number]["rows"]:
                if row["min_gap"] > 1e-3 and row["length"] <= len(full):
                    self.assertEqual([int(r[row["length"] - 1]) for r in rows], row["drafted"])

    def test_picture_features(self):
        config, weights = folder(GOLDENS / "vlm/target")
        want = read_shard_any(GOLDENS / "vlm/golden.safetensors")
        for number in range(2):
            patches = want[f"image{number}.patches_u8"].float() / 255
            columns = int(want[f"image{number}.positions"][:, 0].max()) + 1
            got = vision_forward(config["vision_config"], weights, patches[None], columns)[0]
            self.assertLess((got - want[f"image{number}.features"]).abs().max().item(), 1e-4)


def read_shard_any(path: Path):
    from train import weights_io
    weights_io.TYPES["I32"] = torch.int32
    return read_shard(path)


if __name__ == "__main__":
    unittest.main()
