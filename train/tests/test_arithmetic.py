"""Sums are worked out rightly, asked for in many ways, and kept apart by what is calculated."""

from __future__ import annotations

import random
import re
import unittest

from train import arithmetic
from train.held import Answer
from train.split import rng_of

STEP = re.compile(r"(?<![\w.(])((?:-?\d+ [-+x] )+-?\d+) = (-?\d+)(?=[,.\n]| is too much)")


class ArithmeticTest(unittest.TestCase):
    def test_every_step_holds(self) -> None:
        rng = random.Random(1)
        steps = 0
        for _ in range(5000):
            question, answer, _, value = arithmetic.exercise(rng)
            for left, right in STEP.findall(answer):
                steps += 1
                self.assertEqual(int(eval(left.replace("x", "*"))), int(right), (question, answer))
            if value is not None:
                self.assertTrue(answer.endswith(f"The answer is {value}."), answer)
        self.assertGreater(steps, 10000)

    def test_results_are_what_python_calculates(self) -> None:
        rng = random.Random(2)
        for _ in range(3000):
            op = rng.choice("+-x/")
            a, b = arithmetic.operands(op, rng)
            told = arithmetic.ANSWER.findall(arithmetic.WORK[op](a, b))[-1]
            if op == "/":
                whole, _, rest = told.partition(" remainder ")
                self.assertEqual(a, int(whole) * b + int(rest or 0))
                self.assertLess(int(rest or 0), b)
            else:
                self.assertEqual(int(told), {"+": a + b, "-": a - b, "x": a * b}[op])

    def test_a_guess_is_too_much_or_right(self) -> None:
        for b in range(13, 100):
            for left in range(b, 10 * b):
                guessed = [int(one) for one in re.findall(r"(\d) x", arithmetic.tried(left, b))]
                self.assertTrue(all(one * b > left for one in guessed))
                self.assertEqual(guessed, list(range(left // b + len(guessed), left // b, -1)))
                self.assertLessEqual(len(guessed), 5)

    def test_written_digits_are_those_of_the_result(self) -> None:
        rng = random.Random(3)
        for _ in range(3000):
            a, b = rng.randint(0, 99999), rng.randint(0, 99999)
            written = [re.search(r"write (\d)|= (\d+)\.", line) for line in arithmetic.addition_steps(a, b)]
            digits = "".join(found.group(1) or found.group(2) for found in reversed(written) if found)
            self.assertTrue(str(a + b).endswith(digits), (a, b))
            a, b = max(a, b), min(a, b)
            digits = "".join(line[-2] for line in reversed(arithmetic.subtraction_steps(a, b)))
            self.assertEqual(int(digits), a - b)

    def test_questions_differ(self) -> None:
        rng = random.Random(4)
        asked = [arithmetic.exercise(rng)[0] for _ in range(20000)]
        self.assertGreater(len(set(asked)), 0.97 * len(asked))

    def test_the_key_is_what_is_calculated(self) -> None:
        self.assertEqual(arithmetic.key_of("+", 3, 5), arithmetic.key_of("+", 5, 3))
        self.assertNotEqual(arithmetic.key_of("-", 3, 5), arithmetic.key_of("-", 5, 3))

    def test_held_exercises_know_right_from_wrong(self) -> None:
        for make, op in ((arithmetic.held_sum, "+"), (arithmetic.held_difference, "-"), (arithmetic.held_product, "x"), (arithmetic.held_division, "/")):
            rng = rng_of("held", op)
            for _ in range(50):
                held = make(rng)
                a, _, b = held.key.removeprefix("arithmetic ").split(" ")
                worked = arithmetic.WORK[op](int(a), int(b))
                self.assertTrue(held.right(Answer(worked)), (held.messages, worked))
                self.assertFalse(held.right(Answer(worked.replace("answer is ", "answer is 1"))))
                self.assertFalse(held.right(Answer("")))


if __name__ == "__main__":
    unittest.main()
