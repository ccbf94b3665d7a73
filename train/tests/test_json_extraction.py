"""Records are JSON, in the shape that is asked for, and state what the text states."""

from __future__ import annotations

import json
import random
import re
import unittest

from train import json_extraction
from train.held import Answer
from train.words import number_name


class JsonTest(unittest.TestCase):
    def stated(self, value: object, question: str) -> bool:
        if isinstance(value, dict):
            return all(self.stated(one, question) for one in value.values())
        if isinstance(value, list):
            return all(self.stated(one, question) for one in value)
        if value is None or isinstance(value, bool):
            return True
        if isinstance(value, float):
            return str(value) in question or f"{value:,.2f}" in question
        if isinstance(value, int) and 0 <= value < 100 and number_name(value) in question:
            return True
        return str(value) in question or isinstance(value, int) and f"{value:,}" in question

    def test_records_are_json_that_the_text_states(self) -> None:
        rng = random.Random(2)
        for _ in range(6000):
            question, answer, record = json_extraction.exercise(rng)
            self.assertEqual(record, json.loads(answer))
            self.assertTrue(self.stated(record, question), (question, answer))
            self.assertIsNone(re.search(r"\{[svmncapPS]\}", question), question)

    def test_keys_stand_in_the_request(self) -> None:
        rng = random.Random(3)
        for _ in range(3000):
            question, _, record = json_extraction.extraction(rng)
            for key in record:
                self.assertTrue(key in question or key.replace("_", " ") in question, (question, record))

    def test_questions_differ(self) -> None:
        rng = random.Random(4)
        asked = [json_extraction.exercise(rng)[0] for _ in range(10000)]
        self.assertGreater(len(set(asked)), 0.99 * len(asked))

    def test_held_exercises_know_right_from_wrong(self) -> None:
        rng, again = random.Random(5), random.Random(5)
        for _ in range(500):
            held = json_extraction.held_json(rng)
            is_open = again.random() < 0.2
            make = json_extraction.open_extraction if is_open else json_extraction.extraction if again.random() < 0.6 else json_extraction.exercise
            question, answer, record = make(again)
            self.assertEqual(held.messages[0]["content"], question)
            self.assertEqual(held.key, json_extraction.key_of(question))
            self.assertTrue(held.right(Answer(answer)))
            self.assertFalse(held.right(Answer(answer[:-1])))
            self.assertFalse(held.right(Answer(json.dumps({"other": record}) if isinstance(record, list) else "{}")))

    def test_open_keys_may_be_called_otherwise(self) -> None:
        held = json_extraction.held_of("Make JSON of this: Anna is 31.", {"name": "Anna", "age": 31}, True)
        self.assertTrue(held.right(Answer('{"person": "Anna", "years": 31}')))
        self.assertFalse(held.right(Answer('{"name": "Anna", "age": 13}')))
        self.assertFalse(held.right(Answer('{"name": "Anna", "age": "31"}')))


if __name__ == "__main__":
    unittest.main()
