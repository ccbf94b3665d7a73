"""Exercises are held out and differ, go over the wire as clients write them, and answers are judged even where they never end."""

from __future__ import annotations

import base64
import json
import pathlib
import random
import subprocess
import tempfile
import time
import unittest

from train import chat, pictures, png, program_tasks, tool_calls
from train.documents import HELD_TASKS
from train.held import Answer, Held
from train.split import split_of


def endless(answer: Answer) -> bool:
    while True:
        pass


def runs(pid: str) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


class ProgramTasksTest(unittest.TestCase):
    def test_exercises_are_held_out_and_differ(self) -> None:
        for name in program_tasks.TASKS:
            helds = program_tasks.exercises(name, 8)
            self.assertEqual(8, len(helds), name)
            self.assertEqual(8, len({json.dumps([one.key, one.messages]) for one in helds}), name)
            for one in helds:
                self.assertEqual("held", split_of(one.key, HELD_TASKS), name)
                self.assertIn(one.messages[-1]["role"], ("user", "tool"), name)
                self.assertEqual(one.picture is not None, "pictures" in name)
                self.assertFalse(program_tasks.is_right(one, Answer("")), name)

    def test_the_same_exercises_come_each_time(self) -> None:
        told = [[one.messages for one in program_tasks.exercises("json", 5)] for _ in range(2)]
        self.assertEqual(*told)

    def test_calls_go_over_the_wire_as_text(self) -> None:
        message = tool_calls.call_message("f", {"a": 1})
        sent = program_tasks.on_wire(message, None)
        self.assertEqual({"a": 1}, json.loads(sent["tool_calls"][0]["function"]["arguments"]))
        self.assertEqual({"a": 1}, message["tool_calls"][0]["function"]["arguments"])
        self.assertEqual('{"b": 2}', program_tasks.on_wire({"role": "tool", "content": {"b": 2}}, None)["content"])

    def test_a_picture_goes_as_png_in_its_place(self) -> None:
        spec = pictures.spec(random.Random(1))
        parts = [{"type": "text", "text": "What is this?"}, {"type": "image"}]
        sent = program_tasks.on_wire({"role": "user", "content": parts}, spec)["content"]
        self.assertEqual(parts[0], sent[0])
        data = sent[1]["image_url"]["url"].removeprefix("data:image/png;base64,")
        self.assertEqual(png.encoded(pictures.plain_rows(spec)), base64.b64decode(data))

    def test_answers_are_judged(self) -> None:
        held = Held("key", chat.conversation("?", "")[:1], lambda answer: answer.text == "yes")
        self.assertTrue(program_tasks.is_right(held, Answer("yes")))
        self.assertFalse(program_tasks.is_right(held, Answer("no")))
        for right in (lambda answer: 1 / 0, lambda answer: exit(0), lambda answer: [0] * (1 << 40)):
            self.assertFalse(program_tasks.is_right(Held("key", [], right), Answer("yes")))

    def test_what_never_ends_is_wrong(self) -> None:
        patience, program_tasks.JUDGE_S = program_tasks.JUDGE_S, 1
        try:
            self.assertFalse(program_tasks.is_right(Held("key", [], endless), Answer("yes")))
        finally:
            program_tasks.JUDGE_S = patience

    def test_nobody_is_left_behind(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "pid"
            starts = lambda answer: file.write_text(str(subprocess.Popen(["sleep", "600"]).pid)) > 0
            self.assertTrue(program_tasks.is_right(Held("key", [], starts), Answer("")))
            until = time.monotonic() + 30
            while runs(file.read_text()) and time.monotonic() < until:
                time.sleep(0.01)
            self.assertFalse(runs(file.read_text()))

    def test_a_slice_fails_where_one_task_or_all_are_poor(self) -> None:
        row = lambda right, bar=0.95: {"task": "sums", "right": right, "asked": 6, "bar": bar}
        self.assertEqual([], program_tasks.slice_misses([row(6)] * 5 + [row(3), row(0, None)]))
        self.assertEqual(["sums: 2 of 6"], program_tasks.slice_misses([row(6)] * 9 + [row(2)]))
        self.assertEqual(["all together: 20 of 24"], program_tasks.slice_misses([row(5)] * 4))


if __name__ == "__main__":
    unittest.main()
