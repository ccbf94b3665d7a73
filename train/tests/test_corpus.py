"""The corpus: pieces become tokens with their marks, and nothing held out is trained on."""

from __future__ import annotations

import json
import os
import pathlib
import random
import tempfile
import unittest

import numpy as np

from train import corpus, documents, tasks
from train.bpe import PlainEncoder
from train.chat import Segment
from train.documents import Document, Shard
from train.split import split_of
from train.tests.test_tokenizer import small_tokenizer

SHARED = pathlib.Path(os.environ.get("PACELINE_SHARED", pathlib.Path(__file__).resolve().parents[2].parent / "shared"))
NOWHERE = pathlib.Path("/nowhere")
GENERATED = ("json", "pictures", "memory", "languages", "unknown")


class CorpusTest(unittest.TestCase):
    def setUp(self) -> None:
        self.encoder = PlainEncoder(small_tokenizer())

    def test_learn_marks_follow_the_pieces(self) -> None:
        found = [Document([Segment("<bos>ab", 0), Segment("cd<eos>", 3)]), Document([Segment("<bos>", 0), Segment("x" * 50, 1)])]
        encoded = corpus.encode_documents(found, self.encoder, 20)
        self.assertEqual(20, encoded.lengths[1])
        first = encoded.learn[:encoded.lengths[0]].tolist()
        self.assertEqual(sorted(first), first)
        self.assertEqual(2, encoded.tokens[0])
        self.assertEqual(1, encoded.tokens[encoded.lengths[0] - 1])

    def test_a_written_domain_can_be_read(self) -> None:
        job = corpus.Job("pictures", Shard(NOWHERE, "train", 0, 1, 12, 1), 2048)
        encoded = corpus.encode_shard(job, self.encoder, batch=5)
        with tempfile.TemporaryDirectory() as folder:
            count, size = corpus.write_domain(pathlib.Path(folder), "pictures", [encoded])
            read = np.load(pathlib.Path(folder) / "pictures.npz")
            self.assertEqual((12, size), (len(read["starts"]) - 1, read["starts"][-1]))
            self.assertEqual(np.uint16, read["tokens"].dtype)
            image = self.encoder.special["<|image|>"]
            for begin, end in zip(read["starts"], read["starts"][1:]):
                self.assertEqual(64, int((read["tokens"][begin:end] == image).sum()))
            specs = [json.loads(line) for line in (pathlib.Path(folder) / "pictures.jsonl").read_text().splitlines()]
            self.assertEqual(12, len(specs))
            self.assertEqual(count, 12)

    def test_shards_are_the_same_each_time_and_differ(self) -> None:
        for domain in GENERATED:
            first = list(documents.documents(domain, Shard(NOWHERE, "train", 0, 4, 5, 1)))
            self.assertEqual(first, list(documents.documents(domain, Shard(NOWHERE, "train", 0, 4, 5, 1))))
            self.assertNotEqual(first, list(documents.documents(domain, Shard(NOWHERE, "train", 1, 4, 5, 1))))

    def test_nothing_that_is_held_out_is_in_a_conversation(self) -> None:
        shard = Shard(NOWHERE, "train", 0, 1, 5, 1)
        held = next(str(number) for number in range(1000) if split_of(str(number), documents.HELD_TASKS) == "held")
        trained = next(str(number) for number in range(1000) if split_of(str(number), documents.HELD_TASKS) == "train")
        self.assertTrue(shard.are_wanted([trained, trained]))
        self.assertFalse(shard.are_wanted([trained, held]))
        self.assertTrue(shard._replace(split="held").are_wanted([held, trained]))
        self.assertFalse(shard._replace(split="held").are_wanted([trained, held]))

    def test_long_conversations_ask_for_their_beginning(self) -> None:
        rng = random.Random(1)
        for _ in range(5):
            messages = documents.far_apart(Shard(NOWHERE, "train", 0, 1, 5, 1), [], rng, 8000)
            self.assertGreater(sum(len(message["content"]) for message in messages), 8000)
            self.assertEqual(["user", "assistant"] * (len(messages) // 2), [message["role"] for message in messages])

    def test_held_out_examples_are_held_out(self) -> None:
        for task in tasks.TASKS:
            held = {example.identity() for example in tasks.examples(task, 30)}
            trained = {example.identity() for example in tasks.examples(task, 300, "train")}
            self.assertEqual(30, len(held))
            self.assertFalse(held & trained)
        self.assertEqual({"held", "train"}, {split_of(str(number), 20) for number in range(200)})

    def test_expected_answers_score_and_others_do_not(self) -> None:
        from train import chat
        for task in tasks.TASKS:
            for example in tasks.examples(task, 40):
                if task == "arithmetic":
                    right = f"Ones: 1.\nThe answer is {example.expected}.<turn|>"
                elif task == "json":
                    right = json.dumps(example.expected) + "<turn|>"
                elif task == "tools":
                    right = chat.format_call(example.expected["name"], example.expected["arguments"]) + "<|tool_response>"
                else:
                    right = example.expected + "<turn|>"
                self.assertTrue(tasks.score(example, right), right)
                self.assertFalse(tasks.score(example, "The answer is -777."))
                self.assertFalse(tasks.score(example, ""))
                self.assertTrue(example.prompt().endswith("<|turn>model\n"))

    def test_the_mix_is_whole(self) -> None:
        config = corpus.data_config()
        self.assertEqual(set(documents.DOMAINS), set(config["mix"]))
        self.assertAlmostEqual(1.0, sum(config["mix"].values()))
        self.assertEqual(set(config["mix"]), set(config["why"]))

    def test_shared_documents_end_as_in_use(self) -> None:
        if not (SHARED / "data").exists():
            raise unittest.SkipTest("no shared data here")
        for domain in documents.DOMAINS:
            count = 0
            for document in documents.documents(domain, Shard(SHARED, "held", 0, 4, 20, 1)):
                count += 1
                self.assertTrue(document.segments[0].text.startswith("<bos>") and not document.segments[0].learn)
                self.assertTrue(document.segments[-1].learn)
                if domain != "prose":
                    self.assertTrue(document.segments[-1].text.endswith(("<turn|>", "<|tool_response>")), document)
            self.assertGreater(count, 10, domain)
        for domain in tasks.PROMPT_DOMAINS:
            found = tasks.prompts(domain, 16, SHARED)
            self.assertEqual(16, len(found), domain)

    def test_prompts_can_do_without_the_shared_sets(self) -> None:
        for domain in tasks.PROMPT_DOMAINS:
            self.assertEqual(16, len(set(tasks.made_prompts(domain, 16))), domain)


if __name__ == "__main__":
    unittest.main()
