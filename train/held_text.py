"""Writes held-out text of all domains, document by document in turn, for `paceline check --text`:
`python3 -m train.held_text --shared DIR --out FILE [--characters 90000]`."""

from __future__ import annotations

import argparse
import pathlib

from train.tasks import PROMPT_DOMAINS, held_documents

GENERATED = 200


def held_text(shared: pathlib.Path, characters: int) -> str:
    """Documents of the domains in turn, special tokens included, until there are so many characters."""
    open_domains = [iter(held_documents(domain, shared, GENERATED)) for domain in PROMPT_DOMAINS]
    parts: list[str] = []
    length = 0
    while length < characters and open_domains:
        domain = open_domains.pop(0)
        document = next(domain, None)
        if document is None:
            continue
        open_domains.append(domain)
        parts.append("".join(segment.text for segment in document.segments))
        length += len(parts[-1])
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--characters", type=int, default=90_000)
    options = parser.parse_args()
    options.out.write_text(held_text(options.shared, options.characters), encoding="utf-8")


if __name__ == "__main__":
    main()
