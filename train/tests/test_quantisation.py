"""Fake quantisation against folders made by `paceline quantize`. Needs PyTorch, BF16=folder and QUANTISED=folder (BITS, GROUP)."""
import os
import unittest
from pathlib import Path

import numpy as np
import torch

from train.quantisation import affine_levels, dequantised, is_quantised
from train.weights_io import read_folder


@unittest.skipUnless("QUANTISED" in os.environ, "no quantised folder named")
class AgainstPaceline(unittest.TestCase):
    def test_every_level_and_scale(self):
        bits, group = int(os.environ.get("BITS", 4)), int(os.environ.get("GROUP", 64))
        plain, packed = read_folder(Path(os.environ["BF16"])), read_folder(Path(os.environ["QUANTISED"]))
        for name, weight in plain.items():
            if not is_quantised(name, weight, group):
                self.assertTrue(torch.equal(weight, packed[name]), name)
                continue
            base = name[:-len(".weight")]
            levels, scale, bias = affine_levels(weight.float(), bits, group)
            self.assertTrue(torch.equal(scale[..., 0], packed[base + ".scales"].float()), name)
            self.assertTrue(torch.equal(bias[..., 0], packed[base + ".biases"].float()), name)
            words = packed[name].numpy().view(np.uint32)
            shifts = np.arange(0, 32, bits, dtype=np.uint32)
            found = (words[..., None] >> shifts) & np.uint32((1 << bits) - 1)
            self.assertTrue(np.array_equal(found.reshape(levels.shape), levels.numpy().astype(np.uint32)), name)
            self.assertEqual(dequantised(weight.float(), bits, group).shape, weight.shape)


if __name__ == "__main__":
    unittest.main()
