"""The tokenizer's file has the right form, and its pieces keep digits, spaces and lines apart."""

from __future__ import annotations

import unittest

from train import tokenizer
from train.bpe import PlainEncoder, SPACE, count_stretches, learn_merges, stretches

TEXTS = ["Once upon a time there was a little girl.", "def add(a, b):\n    return a + b\n\nx = 12", '{"name": "Anna", "age": 31}', "It's the end. The end."] * 5
SIZE = 520


def small_tokenizer() -> dict:
    many = TEXTS + [f"{a}{b} {b}{a}" for a in ("alpha", "beta", "gamma", "delta", "omega") for b in ("one", "two", "three", "four", "five", "six", "seven")]
    return tokenizer.build(dict(count_stretches(many * 3)), SIZE)


class TokenizerTest(unittest.TestCase):
    def test_it_has_the_size_that_was_asked_for(self) -> None:
        vocab = small_tokenizer()["model"]["vocab"]
        self.assertEqual(SIZE, len(vocab))
        self.assertEqual(list(range(SIZE)), sorted(vocab.values()))
        self.assertEqual([0, 1, 2, 3], [vocab[name] for name in ("<pad>", "<eos>", "<bos>", "<unk>")])
        self.assertTrue(all(f"<0x{byte:02X}>" in vocab for byte in range(256)))

    def test_every_merge_is_of_known_pieces(self) -> None:
        model = small_tokenizer()["model"]
        for left, right in model["merges"]:
            self.assertTrue(left in model["vocab"] and right in model["vocab"] and left + right in model["vocab"], (left, right))

    def test_digits_stand_alone(self) -> None:
        model = small_tokenizer()["model"]
        self.assertFalse([piece for piece in model["vocab"] if len(piece) > 1 and not piece.startswith("<0x") and any(letter.isdigit() for letter in piece)])

    def test_texts_come_back(self) -> None:
        contents = small_tokenizer()
        encoder = PlainEncoder(contents)
        names = {number: piece for piece, number in contents["model"]["vocab"].items()}
        for text in TEXTS + ["<bos><|turn>user\nHi<turn|>\n", "     five spaces\n\n\n\tx"]:
            found = "".join(names[number] for number in encoder.encode(text)).replace(SPACE, " ")
            self.assertEqual(text, found)

    def test_indentation_is_one_piece(self) -> None:
        contents = small_tokenizer()
        ids = PlainEncoder(contents).encode("\n    return\n        x")
        self.assertIn(contents["model"]["vocab"][SPACE * 4], ids)
        self.assertIn(contents["model"]["vocab"][SPACE * 8], ids)

    def test_unknown_letters_fall_back_to_bytes(self) -> None:
        contents = small_tokenizer()
        self.assertEqual([contents["model"]["vocab"][f"<0x{byte:02X}>"] for byte in "\u6f22".encode()], PlainEncoder(contents).encode("\u6f22"))

    def test_stretches_cover_the_text(self) -> None:
        for text in TEXTS + ["a_b __x  y\t\tz \u6f22\u5b57!?"]:
            self.assertEqual(text.replace(" ", SPACE), "".join(stretches(text)))

    def test_the_most_frequent_pair_is_merged_first(self) -> None:
        self.assertEqual([("a", "b"), ("ab", "c")], learn_merges({"abc": 5.0, "abd": 2.0, "xy": 1.0}, 2, set()))

    def test_special_tokens_have_their_roles(self) -> None:
        self.assertLessEqual(set(tokenizer.ROLES.values()), set(tokenizer.SPECIAL))
        self.assertEqual(len(tokenizer.SPECIAL), len(set(tokenizer.SPECIAL)))


if __name__ == "__main__":
    unittest.main()
