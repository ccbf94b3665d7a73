"""Copying and rewriting: repeat, quote, change case or order, replace a name, write as lines, count, find."""

from __future__ import annotations

import random
import re

from train import words


def items(rng: random.Random, low: int = 2, high: int = 6) -> list[str]:
    pool = rng.choice([words.FOODS, words.ANIMALS, words.FRUITS, words.COLOURS, words.FIRST_NAMES, words.CITIES, words.THINGS, words.JOBS])
    return rng.sample(pool, rng.randint(low, min(high, len(pool))))


def made_sentence(rng: random.Random) -> str:
    name, place = rng.choice(words.FIRST_NAMES), rng.choice(words.CITIES)
    noun, other = rng.choice(words.ANIMALS), rng.choice(words.THINGS)
    adjective, verb = rng.choice(words.ADJECTIVES), rng.choice(words.VERBS)
    return rng.choice([
        f"The {adjective} {noun} likes to {verb}.", f"{name} has {words.article(adjective)} {other}.", f"{name} went to {place} with {words.article(noun)}.",
        f"There is {words.article(other)} on the table.", f"In {place}, {name} bought {words.article(other)} for {rng.randint(2, 99)} dollars.",
        f"My {noun} can {verb} very well.", f"{name} and {rng.choice(words.FIRST_NAMES)} {verb} every {rng.choice(words.DAYS)}.",
        f"Please give the {other} to {name}.", f"The {other} is {adjective} and {rng.choice(words.COLOURS)}."])


def sentence(rng: random.Random, passages: list[str]) -> str:
    """A sentence of a story, or a made one."""
    if passages and rng.random() < 0.6:
        found = [one for one in re.split(r"(?<=[.!?]) +|\n", rng.choice(passages)) if 12 < len(one) < 110 and '"' not in one]
        if found:
            return rng.choice(found).strip()
    return made_sentence(rng)


def passage(rng: random.Random, passages: list[str]) -> str:
    """Two to four sentences in a row."""
    if passages:
        found = [one for one in re.split(r"(?<=[.!?]) +|\n", rng.choice(passages)) if one]
        count = rng.randint(2, 4)
        start = rng.randint(0, max(0, len(found) - count))
        text = " ".join(found[start:start + count]).strip()
        if 20 < len(text) < 500:
            return text
    return " ".join(made_sentence(rng) for _ in range(rng.randint(2, 4)))


def repeat(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    text = sentence(rng, passages) if rng.random() < 0.5 else passage(rng, passages)
    ask = rng.choice(["Repeat this: {}", "Say exactly: {}", "Copy this text: {}", "Repeat after me: {}", "Copy the following text.\n\n{}", "Write this again: {}"])
    return ask.format(text), text


def quote(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    text = sentence(rng, passages).replace('"', "")
    return rng.choice(["Put this in quotes: {}", "Quote this: {}", "Write this in quotation marks: {}"]).format(text), f'"{text}"'


IN_CAPITALS = ["Write this in capital letters: {}", "Make this upper case: {}", "Upper-case: {}", "Write in capitals: {}", "Capitalize every letter: {}", "Convert to uppercase: {}", "Put this in all caps: {}", "Please write this in capital letters:\n\n{}", "in capital letters please: {}", "Turn this into capital letters: {}", "Say this in block letters: {}",
               "Write \"{}\" in capital letters.", "Can you write \"{}\" in all caps?", "How does \"{}\" look in capital letters?", "Shout this: {}"]
IN_SMALL = ["Write this in small letters: {}", "Make this lower case: {}", "Lower-case: {}", "Convert to lowercase: {}", "Write in small letters only: {}", "Turn this into lower case: {}", "Write \"{}\" in small letters.", "Please write this without capital letters: {}"]


def some_words(rng: random.Random, passages: list[str]) -> str:
    """A word, some words, or a sentence."""
    kind = rng.random()
    if kind < 0.25:
        return rng.choice(items(rng, 1, 3))
    if kind < 0.45:
        return " ".join(items(rng, 1, 4))
    if kind < 0.6:
        return rng.choice(["hello world", "good morning", "thank you", "happy birthday", "see you soon", "hello", "welcome home", "do not touch", "stop", "good night", "please wait", "no entry", "watch out", "come here", "I love you", "yes", "well done", "keep out", "open now", "this is great"])
    return sentence(rng, passages).replace('"', "")


def upper(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    text = some_words(rng, passages)
    return rng.choice(IN_CAPITALS).format(text), text.upper()


def lower(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    text = some_words(rng, passages)
    return rng.choice(IN_SMALL).format(text.upper() if rng.random() < 0.6 else text), text.lower()


def reverse_words(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    chosen = items(rng, 3, 6)
    return rng.choice(["Reverse the order of these words: {}", "Write these words in reverse order: {}", "Say these words backwards, last word first: {}"]).format(" ".join(chosen)), " ".join(reversed(chosen))


def replace_name(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    for _ in range(5):
        text = passage(rng, passages)
        present = sorted({name for name in words.FIRST_NAMES if re.search(rf"\b{name}\b", text)})
        if present:
            break
    else:
        name = rng.choice(words.FIRST_NAMES)
        present, text = [name], f"{name} went home. {made_sentence(rng)} Then {name} slept."
    old = rng.choice(present)
    new = rng.choice([name for name in words.FIRST_NAMES if name != old])
    ask = rng.choice(["Replace {o} with {n}: {t}", "Rewrite this with {n} instead of {o}.\n\n{t}", "Change the name {o} to {n} in this text: {t}", "Use {n} instead of {o}: {t}"])
    return ask.format(o=old, n=new, t=text), re.sub(rf"\b{old}\b", new, text)


def as_lines(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    chosen = items(rng)
    shape, ask = rng.choice([("- {i}", "Write as a list: {}"), ("{i}", "Write each on its own line: {}"), ("{n}. {i}", "Make a numbered list: {}"),
                             ("- {i}", "Make a bullet list of {}"), ("{n}. {i}", "Number these: {}")])
    shown = rng.choice([", ".join(chosen), words.listing(chosen)])
    return ask.format(shown), "\n".join(shape.format(n=number, i=one) for number, one in enumerate(chosen, 1))


def from_lines(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    chosen = items(rng)
    mark = rng.choice(["- ", "", "* "])
    return rng.choice(["Write these on one line, with commas:\n{}", "Join these lines with commas:\n{}"]).format("\n".join(mark + one for one in chosen)), ", ".join(chosen)


def in_order(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    if rng.random() < 0.5:
        chosen = items(rng, 2, 5)
        return rng.choice(["Sort these words alphabetically: {}", "Put these words in alphabetical order: {}"]).format(", ".join(chosen)), ", ".join(sorted(chosen, key=str.lower))
    numbers = rng.sample(range(1, 100), rng.randint(3, 6))
    down = rng.random() < 0.3
    ask = "Sort these numbers from large to small: {}" if down else rng.choice(["Sort these numbers: {}", "Put these numbers in order: {}"])
    return ask.format(", ".join(map(str, numbers))), ", ".join(map(str, sorted(numbers, reverse=down)))


def first_or_last(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    text = sentence(rng, passages)
    plain = re.findall(r"[\w'-]+", text)
    end = rng.random() < 0.5
    return f"What is the {'last' if end else 'first'} word of this sentence? {text}", plain[-1] if end else plain[0]


def first_sentence(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    text = passage(rng, passages)
    found = re.split(r"(?<=[.!?]) +", text)
    return rng.choice(["Give me only the first sentence: {}", "What is the first sentence of this text?\n\n{}"]).format(text), found[0]


def count_items(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    chosen = items(rng, 1, 6)
    numbered = ", ".join(f"{one} {number}" for number, one in enumerate(chosen, 1))
    return f"How many words are in this list: {', '.join(chosen)}?", f"{numbered}. There are {len(chosen)}." if len(chosen) > 1 else f"{numbered}. There is 1."


def remove_word(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    chosen = items(rng, 3, 6)
    out = rng.choice(chosen)
    return rng.choice(["Remove {o} from this list: {t}", "Leave out {o}: {t}", "Write this list without {o}: {t}"]).format(o=out, t=", ".join(chosen)), ", ".join(one for one in chosen if one != out)


def add_word(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    chosen = items(rng, 3, 6)
    return rng.choice(["Add {o} to the end of this list: {t}", "Append {o}: {t}"]).format(o=chosen[-1], t=", ".join(chosen[:-1])), ", ".join(chosen)


def spell(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    word = rng.choice(words.ANIMALS + words.FRUITS + words.COLOURS + words.THINGS)
    return rng.choice(["Spell the word {}.", "How do you spell {}?", "Spell {}"]).format(word), "-".join(word)


def plural_of(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    word = rng.choice(words.ANIMALS + words.FRUITS + words.THINGS)
    return rng.choice(["What is the plural of {}?", "Write the plural of {}.", "Plural of {}"]).format(word), words.plural(word)


def reading(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    """A question that the text answers."""
    name, friend = rng.sample(words.FIRST_NAMES, 2)
    animal, colour, thing, place, food = (rng.choice(words.ANIMALS), rng.choice(words.COLOURS), rng.choice(words.THINGS), rng.choice(words.CITIES), rng.choice(words.FOODS))
    facts = [(f"{name} has {words.article(colour + ' ' + thing)}.", f"What colour is the {thing}?", f"The {thing} is {colour}."),
             (f"{name} lives in {place}.", f"Where does {name} live?", f"{name} lives in {place}."),
             (f"{friend} has {words.article(animal)}.", f"What animal does {friend} have?", f"{friend} has {words.article(animal)}."),
             (f"{name} likes to eat {food}.", f"What does {name} like to eat?", f"{name} likes to eat {food}."),
             (f"{friend} is {rng.randint(4, 12)} years old.", f"How old is {friend}?", "")]
    rng.shuffle(facts)
    facts = facts[:rng.randint(2, 4)]
    told, question, answer = rng.choice(facts)
    return " ".join(fact[0] for fact in facts) + " " + question, answer or told


KINDS = [(repeat, 14), (quote, 5), (upper, 20), (lower, 10), (reverse_words, 8), (replace_name, 14), (as_lines, 8), (from_lines, 5), (in_order, 7),
         (first_or_last, 5), (first_sentence, 5), (count_items, 4), (remove_word, 5), (add_word, 3), (spell, 4), (plural_of, 1), (reading, 9)]


def exercise(rng: random.Random, passages: list[str]) -> tuple[str, str]:
    kind = rng.choices([one for one, _ in KINDS], weights=[weight for _, weight in KINDS])[0]
    return kind(rng, passages)
