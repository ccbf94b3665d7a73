"""DFlash blocks against the reference checkpoints' proposals, and what a run of them learns. Needs PyTorch and GOLDENS=folder."""
import json
import os
import unittest
from pathlib import Path

try:
    import torch
except ImportError:
    raise unittest.SkipTest("no PyTorch here")

from train.attention import dense_masks
from train.batches import Batch
from train.block_drafter import BlockRun, block_config, initial_block, inner
from train.model import TEXT, embed, head_logits, rope_tables, text_forward
from train.weights_io import read_folder

GOLDENS = Path(os.environ.get("GOLDENS", "../shared/goldens"))


def folder(path: Path):
    weights = {k: v.float() for k, v in read_folder(path).items()}
    return json.loads((path / "config.json").read_text()), weights


def read(config, weights, ids, prefix):
    """The state and every layer's output of a text."""
    tokens = torch.tensor([ids])
    doc = torch.zeros_like(tokens)
    streams = {}
    hidden, _ = text_forward(config, weights, embed(weights, tokens, prefix), rope_tables(config, torch.arange(len(ids))),
                             dense_masks(doc, doc, config["sliding_window"]), prefix=prefix, streams=streams)
    return hidden, streams


@unittest.skipUnless((GOLDENS / "dense/dflash.json").exists(), "no reference checkpoints here")
class Goldens(unittest.TestCase):
    def test_proposals(self):
        config, weights = folder(GOLDENS / "dense/target")
        draft_config, draft_weights = folder(GOLDENS / "dense/dflash")
        prompts = json.loads((GOLDENS / "dense/golden.json").read_text())["prompts"]
        table = weights["model.embed_tokens.weight"]
        compared = 0
        for prompt, want in zip(prompts, json.loads((GOLDENS / "dense/dflash.json").read_text())["prompts"]):
            ids = prompt["ids"] + prompt["greedy"]
            rows = [row for row in want["rows"] if row["min_gap"] > 1e-3 and row["length"] > 1 and row["length"] <= len(ids)]
            at = torch.tensor([[row["length"] - 1 for row in rows]])
            run = BlockRun(draft_config, {"text_config": config}, 1, len(ids), len(rows), "cpu")
            tokens = torch.full((1, len(rows), run.size), inner(draft_config, "mask_token_id"))
            tokens[0, :, 0] = torch.tensor(ids)[at[0]]
            _, streams = read(config, weights, ids, "model.")
            y = run.proposals(draft_weights, embed(weights, tokens, "model."), streams, torch.zeros(1, len(ids)), at)
            drafted = head_logits(y[0, :, 1:], table, 30.0).argmax(-1).tolist()
            for row, found in zip(rows, drafted):
                self.assertEqual(found[:len(row["drafted"])], row["drafted"])
                compared += 1
        self.assertGreater(compared, 50)


class Learning(unittest.TestCase):
    def test_loss_counts_what_follows_in_the_same_document(self):
        text = {"hidden_size": 64, "vocab_size": 40, "num_hidden_layers": 4, "max_position_embeddings": 64, "sliding_window": 16,
                "final_logit_softcapping": 30.0}
        target_config = {"text_config": text, "audio_token_id": 5}
        config = block_config({"layers": 2, "heads": 2, "kv_heads": 1, "head_dim": 32, "ffn": 64, "block": 4, "taps": [1, 2]}, target_config)
        weights = initial_block(config, 1, "cpu")
        torch.manual_seed(1)
        run = BlockRun(config, target_config, 1, 32, 30, "cpu")
        target = {TEXT + "embed_tokens.weight": torch.randn(40, 64)}
        tokens = torch.randint(6, 40, (1, 32))
        doc = torch.tensor([[1] * 20 + [2] * 12])
        batch = Batch(tokens, doc, doc, torch.zeros_like(doc), torch.ones(1, 32), torch.zeros(0), [])
        streams = {i: torch.randn(1, 32, 64) for i in range(4)}
        hidden = torch.randn(1, 32, 64)

        def losses(hidden):
            torch.manual_seed(2)
            return run.losses(weights, target, batch, hidden, streams, 0.8, 0.5)[0]

        first = losses(hidden)
        self.assertTrue(torch.isfinite(first))
        for w in weights.values():
            w.requires_grad_(True)
        losses(hidden).backward()
        self.assertTrue(all(w.grad is not None and torch.isfinite(w.grad).all() for w in weights.values()))
        # What the target thinks of a document's last token, or what stands in its first place of all, is nobody's guess.
        other = hidden.clone()
        other[0, 19] += 1
        other[0, 31] += 1
        self.assertEqual(float(losses(other).detach()), float(first))
        other[0, 10] += 1
        self.assertNotEqual(float(losses(other).detach()), float(first))


if __name__ == "__main__":
    unittest.main()
