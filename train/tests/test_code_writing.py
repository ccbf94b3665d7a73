"""Code does what its task says: it runs, its loop gives the same, its asserts hold, and held-out tasks are other tasks."""

from __future__ import annotations

import copy
import random
import unittest

from train import code_tasks_classes, code_writing
from train.code_classics import classic
from train.code_parts import NUMBER_CHANGES, NUMBER_TESTS, WORD_TESTS
from train.documents import HELD_TASKS
from train.held import Answer
from train.split import split_of


class CodeTest(unittest.TestCase):
    def test_every_family_runs_and_loops_agree(self) -> None:
        rng = random.Random(1)
        for make, _ in code_writing.FAMILIES + [(classic, 1)]:
            for _ in range(150):
                task = make(rng)
                code = code_writing.code_of(task, task.name, task.body, False)
                cases = code_writing.ran(code, task.name, task, rng, 3)
                self.assertTrue(cases, (task.what, code))
                if task.loop:
                    space: dict = {}
                    exec(code_writing.code_of(task, task.name, task.loop, False), space)
                    for arguments, result in cases:
                        self.assertEqual(result, space[task.name](*copy.deepcopy(arguments)), task.what)

    def test_answers_run_with_their_asserts(self) -> None:
        rng = random.Random(5)
        for _ in range(1500):
            question, answer, _ = code_writing.exercise(rng)
            exec(code_writing.code_in(answer), {})
            self.assertNotIn("\0", question + answer)

    def test_parts_mean_what_they_say(self) -> None:
        """Some parts against what one would write by hand."""
        tests = {one.key: one.code for one in NUMBER_TESTS}
        self.assertEqual([x for x in range(-30, 31) if eval(tests["two_digit"])], [x for x in range(-30, 31) if len(str(abs(x))) == 2])
        self.assertEqual([x for x in range(-9, 9) if eval(tests["odd"])], [-9, -7, -5, -3, -1, 1, 3, 5, 7])
        self.assertTrue(all(str(x).endswith("3") == eval(tests["ending"].replace("{e}", "3")) for x in range(-50, 50)))
        changes = {one.key: one.code for one in NUMBER_CHANGES}
        self.assertEqual([eval(changes["digit_sums"]) for x in (407, -12)], [11, 3])
        words = {one.key: one.code for one in WORD_TESTS}
        self.assertEqual([x for x in ("level", "cat", "Anna") if eval(words["palindrome"])], ["level"])

    def test_equal_words_mean_equal_code(self) -> None:
        rng = random.Random(3)
        known: dict[str, tuple] = {}
        for _ in range(20000):
            task = code_writing.composed(rng)
            self.assertEqual(known.setdefault(task.what, (task.parameters, task.body)), (task.parameters, task.body), task.what)

    def test_a_held_task_is_never_trained_on_in_other_words(self) -> None:
        rng = random.Random(6)
        for _ in range(3000):
            _, _, key = code_writing.exercise(rng)
            if "classic" not in key:
                self.assertFalse(any(letter == "\n" for letter in key))
        keys = {code_writing.composed(rng).key for _ in range(20000)}
        self.assertGreater(len(keys), 6000)
        self.assertGreater(sum(split_of(key, HELD_TASKS) == "held" for key in keys), 300)

    def test_requests_differ(self) -> None:
        rng = random.Random(7)
        asked = [code_writing.exercise(rng)[0] for _ in range(5000)]
        self.assertGreater(len(set(asked)), 0.97 * len(asked))

    def test_held_exercises_run_the_answer(self) -> None:
        rng, again = random.Random(8), random.Random(8)
        for _ in range(25):
            held = code_writing.held_code(rng)
            if again.random() < 0.05:
                answer = code_writing.fenced(code_tasks_classes.made(again).code)
            else:
                task = code_writing.composed(again)
                _, answer, _ = code_writing.asked(task, again)
                code_writing.ran(code_writing.code_in(answer), code_writing.functions_in(code_writing.code_in(answer))[-1], task, again, 12)
            self.assertTrue(held.right(Answer(answer)), (held.messages, answer))
            self.assertFalse(held.right(Answer(answer.replace("return ", "return 1, "))) and "return" in answer)
            self.assertFalse(held.right(Answer("I can't.")))

    def test_endless_code_is_wrong_in_time(self) -> None:
        self.assertFalse(code_writing.passes("while True:\n    pass", [], 1.0))
        self.assertTrue(code_writing.passes("def f():\n    return 0.1 + 0.2", ["assert _same(f(), 0.3)"]))
        self.assertFalse(code_writing.passes("def f():\n    return (1, 2)", ["assert _same(f(), [1, 2])"]))

    def test_classes_pass_their_checks(self) -> None:
        rng = random.Random(9)
        for _ in range(200):
            made = code_tasks_classes.made(rng)
            exec(made.code + "\n" + "\n".join(made.checks), {})


if __name__ == "__main__":
    unittest.main()
