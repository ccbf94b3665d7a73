"""Parts from which tasks for Python functions are put together: which elements, what becomes of each, what is made of all; each as words and as code."""

from __future__ import annotations

import random
from typing import Any, Callable, NamedTuple

from train import words

Inputs = Callable[[random.Random], tuple[Any, ...]]


class Task(NamedTuple):
    """A task: the key by which tasks differ, what the function does in the third person, a natural name, parameters, body, inputs, and the body with a loop."""

    key: str
    what: str
    name: str
    parameters: list[str]
    body: str
    inputs: Inputs
    loop: str | None = None


class Test(NamedTuple):
    """A condition on x: its name, words before the noun (or none), words behind it, what one element `is`, and code."""

    key: str
    before: str | None
    behind: list[str]
    single: list[str]
    code: str


class Change(NamedTuple):
    """What becomes of x: its name, `the squares of`, `squared`, `its square`, and code."""

    key: str
    noun: str
    done: list[str]
    its: str
    code: str


NUMBER_TESTS = [
    Test("even", "even", ["that are even"], ["is even"], "x % 2 == 0"),
    Test("odd", "odd", ["that are odd"], ["is odd"], "x % 2 == 1"),
    Test("positive", "positive", ["that are positive", "greater than zero"], ["is positive"], "x > 0"),
    Test("negative", "negative", ["that are negative", "less than zero", "below zero"], ["is negative"], "x < 0"),
    Test("nonzero", "non-zero", ["that are not zero"], ["is not zero"], "x != 0"),
    Test("above", None, ["greater than {k}", "that are greater than {k}", "larger than {k}", "above {k}", "bigger than {k}", "that exceed {k}"], ["is greater than {k}", "is larger than {k}", "exceeds {k}"], "x > {k}"),
    Test("below", None, ["less than {k}", "that are less than {k}", "smaller than {k}", "below {k}", "under {k}"], ["is less than {k}", "is smaller than {k}", "is below {k}"], "x < {k}"),
    Test("at_least", None, ["that are at least {k}", "not less than {k}", "greater than or equal to {k}"], ["is at least {k}", "is greater than or equal to {k}"], "x >= {k}"),
    Test("at_most", None, ["that are at most {k}", "not greater than {k}", "less than or equal to {k}"], ["is at most {k}", "is less than or equal to {k}"], "x <= {k}"),
    Test("between", None, ["between {k} and {q}", "from {k} to {q} inclusive", "that lie between {k} and {q}"], ["is between {k} and {q}", "lies between {k} and {q}"], "{k} <= x <= {q}"),
    Test("divisible", None, ["divisible by {d}", "that are divisible by {d}", "that are multiples of {d}"], ["is divisible by {d}", "is a multiple of {d}"], "x % {d} == 0"),
    Test("not_divisible", None, ["not divisible by {d}", "that are not divisible by {d}", "that are not multiples of {d}"], ["is not divisible by {d}"], "x % {d} != 0"),
    Test("not_equal", None, ["that are not {k}", "other than {k}", "different from {k}"], ["is not {k}", "differs from {k}"], "x != {k}"),
    Test("ending", None, ["that end in {e}", "whose last digit is {e}", "ending in {e}"], ["ends in {e}"], "abs(x) % 10 == {e}"),
    Test("two_digit", "two-digit", ["with two digits"], ["has two digits"], "10 <= abs(x) <= 99"),
    Test("one_digit", "one-digit", ["with one digit"], ["has one digit"], "abs(x) <= 9"),
    Test("even_above", None, ["that are even and greater than {k}", "that are even and larger than {k}"], ["is even and greater than {k}"], "x % 2 == 0 and x > {k}"),
    Test("odd_below", None, ["that are odd and less than {k}", "that are odd and smaller than {k}"], ["is odd and less than {k}"], "x % 2 == 1 and x < {k}"),
    Test("both", None, ["divisible by both {d} and {g}", "that are divisible by {d} and by {g}"], ["is divisible by both {d} and {g}"], "x % {d} == 0 and x % {g} == 0"),
    Test("either", None, ["divisible by {d} or {g}", "that are divisible by {d} or by {g}", "that are multiples of {d} or {g}"], ["is divisible by {d} or {g}"], "x % {d} == 0 or x % {g} == 0"),
    Test("outside", None, ["less than {k} or greater than {q}", "that are less than {k} or greater than {q}"], ["is less than {k} or greater than {q}"], "x < {k} or x > {q}"),
]
NUMBER_CHANGES = [
    Change("doubles", "the doubles of", ["doubled", "multiplied by 2"], "its double", "x * 2"),
    Change("triples", "the triples of", ["tripled", "multiplied by 3"], "its triple", "x * 3"),
    Change("squares", "the squares of", ["squared"], "its square", "x ** 2"),
    Change("cubes", "the cubes of", ["cubed"], "its cube", "x ** 3"),
    Change("plus", "", ["increased by {m}", "plus {m}", "with {m} added"], "itself plus {m}", "x + {m}"),
    Change("minus", "", ["decreased by {m}", "minus {m}", "reduced by {m}"], "itself minus {m}", "x - {m}"),
    Change("times", "", ["multiplied by {m}", "times {m}"], "itself times {m}", "x * {m}"),
    Change("negated", "the negatives of", ["negated", "with the sign changed"], "its negative", "-x"),
    Change("absolute", "the absolute values of", ["as absolute values", "without their sign"], "its absolute value", "abs(x)"),
    Change("halves", "", ["halved with integer division", "divided by 2 with integer division"], "its half, rounded down", "x // 2"),
    Change("quotients", "", ["divided by {m} with integer division"], "itself divided by {m} with integer division", "x // {m}"),
    Change("remainders", "", ["modulo {d}", "taken modulo {d}"], "its remainder modulo {d}", "x % {d}"),
    Change("last_digits", "the last digits of", [], "its last digit", "abs(x) % 10"),
    Change("digit_sums", "the digit sums of", [], "its digit sum", "sum(int(d) for d in str(abs(x)))"),
    Change("digit_counts", "the digit counts of", [], "its number of digits", "len(str(abs(x)))"),
]
WORD_TESTS = [
    Test("longer", None, ["longer than {w} letters", "with more than {w} letters", "that have more than {w} characters", "longer than {w} characters"], ["is longer than {w} letters", "has more than {w} characters"], "len(x) > {w}"),
    Test("shorter", None, ["shorter than {w} letters", "with fewer than {w} letters", "shorter than {w} characters"], ["is shorter than {w} letters", "has fewer than {w} letters"], "len(x) < {w}"),
    Test("length", None, ["of length {w}", "with exactly {w} letters", "that have exactly {w} characters"], ["has exactly {w} letters"], "len(x) == {w}"),
    Test("length_at_least", None, ["with at least {w} letters", "that have at least {w} characters"], ["has at least {w} letters"], "len(x) >= {w}"),
    Test("starting", None, ["that start with \"{l}\"", "starting with \"{l}\"", "that begin with \"{l}\"", "beginning with the letter \"{l}\""], ["starts with \"{l}\"", "begins with \"{l}\""], 'x.startswith("{l}")'),
    Test("ending", None, ["that end with \"{l}\"", "ending in \"{l}\"", "that end in \"{l}\""], ["ends with \"{l}\"", "ends in \"{l}\""], 'x.endswith("{l}")'),
    Test("containing", None, ["that contain \"{l}\"", "containing the letter \"{l}\"", "with the letter \"{l}\" in them"], ["contains \"{l}\""], '"{l}" in x'),
    Test("without", None, ["without the letter \"{l}\"", "that do not contain \"{l}\"", "not containing \"{l}\""], ["does not contain \"{l}\""], '"{l}" not in x'),
    Test("not_starting", None, ["that do not start with \"{l}\"", "not beginning with \"{l}\""], ["does not start with \"{l}\""], 'not x.startswith("{l}")'),
    Test("vowel_first", None, ["that start with a vowel", "beginning with a vowel", "that begin with a vowel"], ["starts with a vowel"], 'x[0].lower() in "aeiou"'),
    Test("vowel_last", None, ["that end with a vowel", "ending in a vowel"], ["ends with a vowel"], 'x[-1].lower() in "aeiou"'),
    Test("upper", "upper-case", ["that are in upper case", "that are written in capital letters"], ["is in upper case"], "x.isupper()"),
    Test("lower", "lower-case", ["that are in lower case", "that are written in lower case"], ["is in lower case"], "x.islower()"),
    Test("capital", "capitalized", ["that start with a capital letter"], ["starts with a capital letter"], "x[0].isupper()"),
    Test("palindrome", None, ["that are palindromes", "that read the same backwards"], ["is a palindrome"], "x == x[::-1]"),
    Test("even_length", None, ["of even length", "with an even number of letters"], ["has even length"], "len(x) % 2 == 0"),
    Test("odd_length", None, ["of odd length", "with an odd number of letters"], ["has odd length"], "len(x) % 2 == 1"),
    Test("unequal", None, ["other than \"{t}\"", "that are not \"{t}\"", "different from \"{t}\""], ["is not \"{t}\""], 'x != "{t}"'),
    Test("long_starting", None, ["that start with \"{l}\" and are longer than {w} letters"], ["starts with \"{l}\" and is longer than {w} letters"], 'x.startswith("{l}") and len(x) > {w}'),
]
WORD_CHANGES = [
    Change("upper", "", ["in upper case", "in capital letters", "made upper case", "converted to upper case"], "its upper-case form", "x.upper()"),
    Change("lower", "", ["in lower case", "made lower case", "converted to lower case"], "its lower-case form", "x.lower()"),
    Change("capitalized", "", ["capitalized", "with the first letter capitalized"], "its capitalized form", "x.capitalize()"),
    Change("reversed", "", ["reversed", "written backwards", "spelled backwards"], "its reverse", "x[::-1]"),
    Change("lengths", "the lengths of", [], "its length", "len(x)"),
    Change("first_letters", "the first letters of", [], "its first letter", "x[0]"),
    Change("last_letters", "the last letters of", [], "its last letter", "x[-1]"),
    Change("prefixes", "the first {f} letters of", [], "its first {f} letters", "x[:{f}]"),
    Change("suffixes", "the last {f} letters of", [], "its last {f} letters", "x[-{f}:]"),
    Change("with_suffix", "", ["with \"{s}\" added at the end", "followed by \"{s}\""], "itself followed by \"{s}\"", 'x + "{s}"'),
    Change("with_prefix", "", ["with \"{s}\" in front", "preceded by \"{s}\""], "itself preceded by \"{s}\"", '"{s}" + x'),
    Change("doubled", "", ["written twice", "repeated twice"], "itself written twice", "x * 2"),
    Change("without_vowels", "", ["without their vowels", "with the vowels removed"], "itself without vowels", '"".join(c for c in x if c not in "aeiou")'),
    Change("vowel_counts", "the vowel counts of", [], "its number of vowels", 'sum(1 for c in x if c in "aeiou")'),
    Change("letter_counts", "", [], "how often it contains \"{l}\"", 'x.count("{l}")'),
    Change("replaced", "", ["with \"{l}\" replaced by \"{r}\"", "with every \"{l}\" replaced by \"{r}\""], "itself with \"{l}\" replaced by \"{r}\"", 'x.replace("{l}", "{r}")'),
    Change("without_first", "", ["without their first letter", "with the first letter removed"], "itself without the first letter", "x[1:]"),
    Change("without_last", "", ["without their last letter", "with the last letter removed"], "itself without the last letter", "x[:-1]"),
]
CHARACTER_TESTS = [
    Test("vowels", "vowels", [], ["is a vowel"], 'x in "aeiouAEIOU"'),
    Test("consonants", "consonants", [], ["is a consonant"], 'x.isalpha() and x not in "aeiouAEIOU"'),
    Test("digits", "digits", [], ["is a digit"], "x.isdigit()"),
    Test("letters", "letters", [], ["is a letter"], "x.isalpha()"),
    Test("capitals", "upper-case letters", [], ["is an upper-case letter"], "x.isupper()"),
    Test("small", "lower-case letters", [], ["is a lower-case letter"], "x.islower()"),
    Test("spaces", "spaces", [], ["is a space"], 'x == " "'),
    Test("no_spaces", "characters that are not spaces", [], ["is not a space"], 'x != " "'),
    Test("no_vowels", "characters that are not vowels", [], ["is not a vowel"], 'x not in "aeiouAEIOU"'),
    Test("no_digits", "characters that are not digits", [], ["is not a digit"], "not x.isdigit()"),
    Test("alphanumeric", "letters and digits", [], ["is a letter or a digit"], "x.isalnum()"),
    Test("punctuation", "characters that are neither letters, digits nor spaces", [], ["is neither a letter, a digit nor a space"], "not x.isalnum() and x != \" \""),
    Test("some", "characters that are \"{l}\" or \"{r}\"", [], ["is \"{l}\" or \"{r}\""], 'x in "{l}{r}"'),
    Test("other", "characters other than \"{l}\"", [], ["is not \"{l}\""], 'x != "{l}"'),
    Test("after", "letters after \"{l}\" in the alphabet", [], ["comes after \"{l}\" in the alphabet"], 'x.isalpha() and x.lower() > "{l}"'),
]
CHARACTER_CHANGES = [
    Change("upper", "", ["in upper case", "as capital letters"], "its upper-case form", "x.upper()"),
    Change("lower", "", ["in lower case"], "its lower-case form", "x.lower()"),
    Change("codes", "the character codes of", [], "its character code", "ord(x)"),
    Change("doubled", "", ["each written twice", "doubled"], "itself written twice", "x * 2"),
    Change("swapped", "", ["with their case swapped"], "itself with the case swapped", "x.swapcase()"),
]


class Values(NamedTuple):
    """The constants of one task, and the words and code with them filled in."""

    named: dict[str, Any]

    def fill(self, text: str) -> str:
        for name, value in self.named.items():
            text = text.replace("{" + name + "}", str(value))
        return text

    def test(self, one: Test | None) -> Test | None:
        return one and Test(one.key, one.before and self.fill(one.before), [self.fill(text) for text in one.behind], [self.fill(text) for text in one.single], self.fill(one.code))

    def change(self, one: Change | None) -> Change | None:
        return one and Change(one.key, self.fill(one.noun), [self.fill(text) for text in one.done], self.fill(one.its), self.fill(one.code))


LETTERS = "abcdeghilmnoprst"


def values(rng: random.Random) -> Values:
    k = rng.randint(0, 60) if rng.random() < 0.8 else rng.choice([100, 1000, 50, 10, 5])
    d, g = rng.sample(range(2, 10), 2)
    one, other = rng.sample(LETTERS, 2)
    return Values({"k": k, "q": k + rng.randint(2, 40), "d": d, "g": g, "e": rng.randint(0, 9), "m": rng.randint(2, 20), "w": rng.randint(2, 8), "l": one, "r": other, "f": rng.randint(2, 4),
                   "s": rng.choice(["!", "?", "-", "s", "ing", "un", "re", "_", ".", "x", "ed", "*", "#"]), "t": rng.choice(words.FRUITS + words.ANIMALS)})


def numbers_near(rng: random.Random, count: int | None = None) -> list[int]:
    """Numbers among which most tests find some."""
    size = rng.randint(3, 8) if count is None else count
    return [rng.choice([rng.randint(-9, 30), rng.randint(0, 100), rng.randint(-50, 50), rng.choice([0, 1, 10, 12, 30, 36, 60, 5, 15])]) for _ in range(size)]


def some_word(rng: random.Random) -> str:
    word = rng.choice(words.ANIMALS + words.FRUITS + words.COLOURS + words.ADJECTIVES + words.THINGS + words.VERBS + ["level", "noon", "civic", "hello", "python", "radar", "anna"])
    return rng.choice([word, word, word, word.capitalize(), word.upper()])


def some_words(rng: random.Random, count: int | None = None) -> list[str]:
    return [some_word(rng) for _ in range(rng.randint(3, 7) if count is None else count)]


def some_text(rng: random.Random) -> str:
    parts = some_words(rng, rng.randint(2, 6))
    if rng.random() < 0.5:
        parts.insert(rng.randint(0, len(parts)), str(rng.randint(0, 999)))
    return " ".join(parts) + rng.choice(["", "", "!", "?", ", ok"])


def a_list(rng: random.Random) -> tuple[Any, ...]:
    return (numbers_near(rng),)


def word_list(rng: random.Random) -> tuple[Any, ...]:
    return (some_words(rng),)


def a_text(rng: random.Random) -> tuple[Any, ...]:
    return (some_text(rng),)
