"""What the generators make is right: sums, records, calls, code, copies, and the same for the same seed."""

from __future__ import annotations

import json
import random
import re
import unittest

from train import arithmetic, chat, code_writing, copying, facts, json_extraction, story_requests, tool_calls


class GeneratorsTest(unittest.TestCase):
    def test_every_step_of_a_sum_holds(self) -> None:
        rng = random.Random(1)
        for _ in range(3000):
            question, answer, _, value = arithmetic.exercise(rng)
            for left, right in re.findall(r"(?<![\w.])((?:-?\d+ [-+x/] )+\d+) = (-?\d+)", answer):
                self.assertEqual(int(eval(left.replace("x", "*"))), int(right), (question, answer))
            if value is not None:
                self.assertTrue(answer.endswith(f"The answer is {value}."), answer)

    def test_all_two_digit_sums_end_in_their_result(self) -> None:
        for a in range(10, 100):
            for b in range(10, 100):
                self.assertTrue(arithmetic.add(a, b).endswith(f" {a + b}."))
                self.assertTrue(arithmetic.subtract(a, b).endswith(f" {a - b}."))
                written = [re.search(r"write (\d)|= (\d+)\.", line) for line in arithmetic.addition_steps(a, b)]
                digits = "".join(found.group(1) or found.group(2) for found in reversed(written) if found)
                self.assertTrue(str(a + b).endswith(digits), (a, b))

    def test_records_are_json_that_the_text_states(self) -> None:
        rng = random.Random(2)
        for _ in range(2000):
            question, answer, record = json_extraction.exercise(rng)
            self.assertEqual(record, json.loads(answer))
            values = record.values() if isinstance(record, dict) else []
            for value in values:
                if isinstance(value, str) or type(value) in (int, float):
                    self.assertIn(str(value), question)
            self.assertNotIn("{s}", question)
            self.assertNotIn("{v}", question)
            self.assertNotIn("|", question)

    def test_calls_are_declared_and_can_be_read_back(self) -> None:
        rng = random.Random(3)
        for _ in range(2000):
            messages, tools, name, arguments = tool_calls.call_exercise(rng)
            declared = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
            self.assertEqual(len(declared), len(tools))
            self.assertIn(name, declared)
            self.assertLessEqual(set(declared[name]["required"]), set(arguments))
            self.assertLessEqual(set(arguments), set(declared[name]["properties"]))
            self.assertEqual((name, arguments), tool_calls.parse_call(chat.format_call(name, arguments)))
            self.assertNotIn("{", messages[0]["content"])

    def test_broken_calls_are_no_calls(self) -> None:
        for text in ("", "Hello", "<|tool_call>call:f{a:<tool_call|>", '<|tool_call>call:f{a:<|"|>x}<tool_call|>', "<|tool_call>call:f{a:[1<tool_call|>", "<|tool_call>call:f{a:zz}<tool_call|>"):
            self.assertIsNone(tool_calls.parse_call(text), text)

    def test_conversations_with_tools_end_with_the_model(self) -> None:
        rng = random.Random(4)
        for _ in range(1000):
            messages, tools, _ = tool_calls.conversation(rng)
            last = chat.render_document(messages, tools)[-1]
            self.assertTrue(last.learn)
            self.assertTrue(last.text.endswith(("<turn|>", "<|tool_response>")))

    def test_code_runs_and_its_tests_hold(self) -> None:
        rng = random.Random(5)
        for _ in range(600):
            _, answer, _ = code_writing.exercise(rng)
            exec(answer.removeprefix("```python\n").removesuffix("\n```"), {})

    def test_copies_answer_something(self) -> None:
        rng = random.Random(6)
        passages = ["Lily went to the park. She saw a dog. The dog was big.\nLily was happy. They played all day."]
        for _ in range(2000):
            question, answer = copying.exercise(rng, passages)
            self.assertTrue(question.strip() and answer.strip())
        self.assertEqual(("a-b", "c"), ("-".join("ab"), "c"))

    def test_replacing_a_name_leaves_none_of_the_old(self) -> None:
        rng = random.Random(7)
        for _ in range(300):
            question, answer = copying.replace_name(rng, ["Lily went to the park. Tom saw Lily. Lily ran home with Tom."])
            self.assertNotEqual(question, answer)

    def test_facts_are_conversations(self) -> None:
        rng = random.Random(8)
        for _ in range(2000):
            messages = facts.exercise(rng)
            self.assertEqual(["user", "assistant"] * (len(messages) // 2), [message["role"] for message in messages])

    def test_stories_are_told_or_continued_whole(self) -> None:
        rng = random.Random(9)
        story = "Once upon a time there was a girl named Lily. She had a ball. She lost it. Tom found it. They played. They were happy. The end came. All slept."
        for _ in range(200):
            request, answer = story_requests.request(story, rng)
            self.assertTrue(story.endswith(answer))
            if answer != story:
                self.assertIn(story[:len(story) - len(answer)].strip(), request)

    def test_the_same_seed_gives_the_same(self) -> None:
        for make in (arithmetic.exercise, json_extraction.exercise, tool_calls.conversation, code_writing.exercise, facts.exercise):
            self.assertEqual(repr([make(random.Random(1)) for _ in range(3)]), repr([make(random.Random(1)) for _ in range(3)]))


if __name__ == "__main__":
    unittest.main()
