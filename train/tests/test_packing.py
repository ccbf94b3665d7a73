"""Packing of documents into rows, and the endless order they are read in. Needs NumPy."""
import unittest

import numpy as np

from train.packing import documents_of, draw, endless, pack, place


class Packing(unittest.TestCase):
    def test_documents_stay_whole_and_apart(self):
        texts = [[2] + [10 + i] * (5 + i % 7) for i in range(50)]
        documents = documents_of(texts, [1] * 50)
        rows = pack([documents], [(0, i) for i in range(50)], 32)
        for row, offset, length, (_, number) in rows.places:
            self.assertEqual(rows.tokens[row, offset:offset + length].tolist(), texts[number])
            self.assertEqual(len(set(rows.doc[row, offset:offset + length])), 1)
            self.assertEqual(rows.learn[row, offset:offset + length].tolist(), [0] + [1] * (length - 1))
        self.assertEqual(int((rows.doc > 0).sum()), sum(map(len, texts)))

    def test_little_is_wasted(self):
        lengths = np.random.default_rng(0).integers(20, 400, 2000).tolist()
        _, rows = place(lengths, 4096, 1 << 30)
        self.assertLess(rows * 4096, sum(lengths) * 1.05)

    def test_long_documents_are_cut_and_pictures_found(self):
        documents = documents_of([[2] * 100, [2, 9, 9, 5]], [0, 0])
        rows = pack([documents], [(0, 0), (0, 1)], 64, image_token=9)
        self.assertEqual(int((rows.tokens == 2).sum()), 65)
        row, offset, number = rows.images[0]
        self.assertEqual((rows.tokens[row, offset], number), (9, 1))

    def test_every_epoch_reads_everything_once(self):
        order = np.concatenate([endless(10, 3, first, 7) for first in range(0, 70, 7)])
        for epoch in range(7):
            self.assertEqual(sorted(order[epoch * 10:epoch * 10 + 10]), list(range(10)))
        self.assertEqual(draw([documents_of([[1, 2]] * 9, [0] * 9)], [1.0], 5, 2, 10), draw([documents_of([[1, 2]] * 9, [0] * 9)], [1.0], 5, 2, 10))


if __name__ == "__main__":
    unittest.main()
