"""Pictures show what their spec says, and all ways of drawing give the same bytes."""

from __future__ import annotations

import json
import pathlib
import random
import unittest
import zlib

import numpy as np

from train import chat, picture_questions, pictures, png
from train.documents import HELD_TASKS
from train.held import Answer
from train.split import split_of


def drawn_from_arrays(grounds: np.ndarray, objects: np.ndarray, planes: np.ndarray) -> np.ndarray:
    """draw_torch() in NumPy, line by line."""
    axis = np.arange(pictures.SIDE, dtype=np.int32)
    pixels = np.broadcast_to(grounds[:, None, None, :].astype(np.uint8), (len(grounds), pictures.SIDE, pictures.SIDE, 3))
    for place in range(pictures.MAX_OBJECTS):
        one = objects[:, place]
        dx = axis[None, None, :] - one[:, 0, None, None]
        dy = axis[None, :, None] - one[:, 1, None, None]
        distance = dx * dx + dy * dy
        held = np.zeros_like(distance)
        for number in range(pictures.MAX_PLANES):
            a, b, c = (planes[:, place, number, part, None, None] for part in range(3))
            held = held + (a * dx + b * dy + c >= 0).astype(np.int32)
        inside = (held >= one[:, 2, None, None]) & (distance <= one[:, 3, None, None]) & (distance >= one[:, 4, None, None])
        pixels = np.where(inside[..., None], one[:, 5:8].astype(np.uint8)[:, None, None, :], pixels)
    return pixels


class PicturesTest(unittest.TestCase):
    def test_arrays_draw_the_same_bytes(self) -> None:
        rng = random.Random(1)
        specs = [pictures.spec(rng) for _ in range(24)]
        expected = np.stack([pictures.render(one) for one in specs])
        self.assertTrue(np.array_equal(expected, drawn_from_arrays(*pictures.specs_to_arrays(specs))))

    def test_plain_python_draws_the_same_bytes(self) -> None:
        rng = random.Random(6)
        for _ in range(24):
            one = pictures.spec(rng)
            self.assertEqual(pictures.render(one).tobytes(), b"".join(pictures.plain_rows(one)))

    def test_a_png_holds_the_rows(self) -> None:
        rows = pictures.plain_rows(pictures.spec(random.Random(7)))
        written = png.encoded(rows)
        begin = written.index(b"IDAT")
        size = int.from_bytes(written[begin - 4:begin], "big")
        self.assertEqual(b"".join(b"\0" + row for row in rows), zlib.decompress(written[begin + 4:begin + 4 + size]))

    def test_pictures_of_the_references_are_drawn_from_their_specs(self) -> None:
        folder = pathlib.Path(__file__).resolve().parents[2] / "tests/default_model"
        for number, one in enumerate(json.loads((folder / "pictures.json").read_text())):
            self.assertEqual((folder / f"picture{number}.png").read_bytes(), png.encoded(pictures.plain_rows(one["picture"])))
            self.assertEqual("held", split_of(pictures.key_of(one["picture"]), HELD_TASKS))

    def test_torch_draws_the_same_bytes(self) -> None:
        try:
            import torch
        except ImportError:
            raise unittest.SkipTest("no PyTorch here")
        rng = random.Random(2)
        specs = [pictures.spec(rng) for _ in range(24)]
        expected = np.stack([pictures.render(one) for one in specs])
        device = "cuda" if torch.cuda.is_available() else "cpu"
        self.assertTrue(np.array_equal(expected, pictures.render_batch_torch(specs, device).cpu().numpy()))

    def test_objects_lie_in_their_cells(self) -> None:
        rng = random.Random(3)
        for _ in range(60):
            spec = pictures.spec(rng)
            pixels = pictures.render(spec)
            shown = (pixels != np.array(spec["rgb"], np.uint8)).any(axis=2)
            cells = shown.reshape(3, pictures.CELL, 3, pictures.CELL).any(axis=(1, 3))
            self.assertEqual(sorted(one["place"] for one in spec["objects"]), sorted(np.array(pictures.PLACES)[cells.ravel()].tolist()))

    def test_shapes_differ_and_have_a_centre_unless_a_ring(self) -> None:
        areas = {}
        for shape in pictures.SHAPES:
            one = {"shape": shape, "colour": "red", "size": "large", "place": "middle", "rgb": [220, 30, 30], "x": 192, "y": 192, "r": 52}
            pixels = pictures.render({"background": "white", "rgb": [250, 250, 250], "objects": [one]})
            self.assertEqual(shape != "ring", tuple(pixels[192, 192]) == (220, 30, 30), shape)
            areas[shape] = int((pixels[..., 1] == 30).sum())
        self.assertEqual(len(areas), len(set(areas.values())), areas)
        self.assertTrue(all(1500 < area < 10000 for area in areas.values()), areas)

    def test_answers_are_about_the_picture(self) -> None:
        rng = random.Random(4)
        for _ in range(500):
            spec = pictures.spec(rng)
            question, answer = picture_questions.question(spec, rng)
            self.assertTrue(answer.endswith("."))
            if question == "How many shapes are there?":
                self.assertIn(str(len(spec["objects"])), answer)

    def test_pictures_stand_before_and_behind_the_text(self) -> None:
        for make, is_first in ((picture_questions.held_picture_first, True), (picture_questions.held_picture_behind, False)):
            held = make(random.Random(6))
            text = chat.render_prompt(held.messages)
            self.assertEqual(is_first, text.index("<|image|>") < text.index("?") if "?" in text else is_first)
            self.assertEqual(held.key, pictures.key_of(held.picture))
            self.assertFalse(held.right(Answer("A dog.")))

    def test_a_document_has_room_for_the_soft_tokens(self) -> None:
        rng = random.Random(5)
        spec = pictures.spec(rng)
        text = "".join(segment.text for segment in chat.render_document(picture_questions.conversation(spec, rng)))
        self.assertEqual(64, chat.expand_images(text, pictures.SOFT_TOKENS).count("<|image|>"))
        self.assertIn("<|image><|image|>", chat.expand_images(text, pictures.SOFT_TOKENS))

    def test_patches_are_row_major(self) -> None:
        pixels = np.arange(48 * 48 * 3, dtype=np.int64).reshape(48, 48, 3)
        cut = pictures.patches(pixels)
        self.assertEqual((9, 768), cut.shape)
        self.assertTrue(np.array_equal(cut[1].reshape(16, 16, 3), pixels[:16, 16:32]))


if __name__ == "__main__":
    unittest.main()
