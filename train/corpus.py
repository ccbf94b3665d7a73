"""Writes the corpus as tokens: `python3 -m train.corpus --shared DIR --tokenizer DIR --out DIR [--small]`.

For each split and domain OUT/<split>/<domain>.npz holds `tokens`, `starts` and `learn`; pictures.jsonl has one spec per document.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import pathlib
import time
from typing import Any, NamedTuple, Protocol

import numpy as np

from train.bpe import PlainEncoder
from train.chat import Segment
from train.documents import DOMAINS, Document, Shard, documents, load_shared
from train.shared_data import add_stories
from train.split import SPLITS

CONFIG = pathlib.Path(__file__).resolve().parent / "config.json"


class Encoder(Protocol):
    """What turns texts into token ids, with the chat format's own tokens recognised and none added."""

    def encode_all(self, texts: list[str]) -> list[list[int]]: ...


class FileEncoder:
    """The tokenizer of a tokenizer.json."""

    def __init__(self, path: pathlib.Path) -> None:
        from tokenizers import Tokenizer

        self.tokenizer = Tokenizer.from_file(str(path))

    def encode_all(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts, add_special_tokens=False)]


def agrees_with_library(path: pathlib.Path, shared: pathlib.Path, seed: int) -> bool:
    """Whether the plain encoder, which is quick because it remembers words, gives what the library gives."""
    try:
        library = FileEncoder(path)
    except ImportError:
        print("the tokenizers library is absent; nothing to compare with", flush=True)
        return True
    texts = [segment.text for domain in DOMAINS for document in itertools.islice(documents(domain, Shard(shared, "held", 0, 4, 20, seed)), 60)
             for segment in document.segments]
    expected, found = library.encode_all(texts), PlainEncoder(json.loads(path.read_text(encoding="utf-8"))).encode_all(texts)
    equal = sum(one == other for one, other in zip(expected, found))
    print(f"{equal} of {len(texts)} texts encoded as the library does", flush=True)
    return equal == len(texts)


class Encoded(NamedTuple):
    """Documents one after another."""

    tokens: np.ndarray
    lengths: np.ndarray
    learn: np.ndarray
    pictures: list[dict[str, Any]]


class Job(NamedTuple):
    domain: str
    shard: Shard
    longest: int


def encode_documents(found: list[Document], encoder: Encoder, longest: int) -> Encoded:
    """Tokens of the documents, each cut at `longest`. The pieces of a document are encoded one by one, as in use:
    what the model says goes on behind a prompt that was encoded without it."""
    segments: list[Segment] = [segment for document in found for segment in document.segments]
    encoded = encoder.encode_all([segment.text for segment in segments])
    tokens: list[int] = []
    learn: list[int] = []
    lengths: list[int] = []
    position = 0
    for document in found:
        begin = len(tokens)
        for segment in document.segments:
            ids = encoded[position]
            position += 1
            tokens += ids
            learn += [segment.learn] * len(ids)
        del tokens[begin + longest:], learn[begin + longest:]
        lengths.append(len(tokens) - begin)
    shown = [document.picture for document in found if document.picture is not None]
    return Encoded(np.array(tokens, np.uint16), np.array(lengths, np.int64), np.array(learn, np.uint8), shown)


def joined(parts: list[Encoded]) -> Encoded:
    return Encoded(np.concatenate([part.tokens for part in parts]), np.concatenate([part.lengths for part in parts]),
                   np.concatenate([part.learn for part in parts]), [picture for part in parts for picture in part.pictures])


def encode_shard(job: Job, encoder: Encoder, batch: int = 1000) -> Encoded:
    parts: list[Encoded] = []
    waiting: list[Document] = []
    for document in documents(job.domain, job.shard):
        waiting.append(document)
        if len(waiting) == batch:
            parts.append(encode_documents(waiting, encoder, job.longest))
            waiting = []
    if waiting or not parts:
        parts.append(encode_documents(waiting, encoder, job.longest))
    return joined(parts)


def write_domain(folder: pathlib.Path, domain: str, parts: list[Encoded]) -> tuple[int, int]:
    """The domain's file; gives the numbers of documents and tokens."""
    whole = joined(parts)
    starts = np.concatenate([[0], np.cumsum(whole.lengths)]).astype(np.int64)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / f"{domain}.npz", tokens=whole.tokens, starts=starts, learn=whole.learn)
    if domain == "pictures":
        with open(folder / "pictures.jsonl", "w") as out:
            out.writelines(json.dumps(picture) + "\n" for picture in whole.pictures)
    return len(whole.lengths), len(whole.tokens)


def data_config(is_continued: bool = False) -> dict[str, Any]:
    """What config.json says of data; for a model that is trained further other documents."""
    settings = json.loads(CONFIG.read_text())
    config = settings["data"]
    if is_continued:
        other = settings["continued"]["data"]
        config |= {"seed": other["seed"], "mix": other["mix"], "generated": config["generated"] | other["generated"]}
    return config


def jobs_of(shared: pathlib.Path, config: dict[str, Any], small: bool) -> list[Job]:
    """All shards of all domains. Held-out sets are small; --small makes a hundredth of the training set."""
    jobs = []
    for split in SPLITS:
        for domain in DOMAINS:
            shards = config["shards"] if split == "train" else 4
            wanted = config["generated"].get(domain, 0) if split == "train" else config["held_generated"]
            used = max(1, shards // 16) if small and split == "train" else shards
            for number in range(used):
                count = -(-wanted // shards)
                if small:
                    count = max(10, count // 8)
                jobs.append(Job(domain, Shard(shared, split, number, shards, count, config["seed"]), config["longest"]))
    return jobs


_encoder: Encoder | None = None


def prepare_worker(tokenizer: pathlib.Path, with_library: bool) -> None:
    global _encoder
    _encoder = FileEncoder(tokenizer) if with_library else PlainEncoder(json.loads(tokenizer.read_text(encoding="utf-8")))


def run_job(job: Job) -> tuple[Job, Encoded]:
    assert _encoder is not None
    return job, encode_shard(job, _encoder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--tokenizer", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--small", action="store_true", help="a small part of everything, to try things out")
    parser.add_argument("--continued", action="store_true", help="for a model that is trained further: `continued` of the config")
    parser.add_argument("--more-stories", type=pathlib.Path, action="append", default=[], help="further stories, one {\"text\": ...} a line")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    began = time.time()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    for path in arguments.more_stories:
        add_stories(path)
    load_shared(arguments.shared)
    print(f"read the shared sets in {time.time() - began:.1f} s", flush=True)
    config = data_config(arguments.continued)
    tokenizer = arguments.tokenizer / "tokenizer.json"
    with_library = not agrees_with_library(tokenizer, arguments.shared, config["seed"])
    jobs = jobs_of(arguments.shared, config, arguments.small)
    finished: dict[tuple[str, str], list[Encoded]] = {}
    with multiprocessing.get_context("fork").Pool(arguments.workers, prepare_worker, (tokenizer, with_library)) as pool:
        for job, encoded in pool.imap(run_job, jobs):
            finished.setdefault((job.shard.split, job.domain), []).append(encoded)
    total = 0
    for (split, domain), parts in finished.items():
        count, size = write_domain(arguments.out / split, domain, parts)
        total += size
        learnt = sum(int((part.learn > 0).sum()) for part in parts)
        print(f"{split} {domain}: {count} documents, {size} tokens, {learnt} of them learnt", flush=True)
    print(f"{total} tokens in {time.time() - began:.1f} s")


if __name__ == "__main__":
    main()
