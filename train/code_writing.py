"""Small Python functions made from templates, each with tests whose results come from running it."""

from __future__ import annotations

import random
from typing import Any, Callable

from train import words

Inputs = Callable[[random.Random], tuple[Any, ...]]


def numbers(rng: random.Random) -> list[int]:
    return [rng.randint(-9, 20) for _ in range(rng.randint(3, 6))]


def one_list(rng: random.Random) -> tuple[Any, ...]:
    return (numbers(rng),)


def one_word(rng: random.Random) -> tuple[Any, ...]:
    return (rng.choice(words.ANIMALS + words.FRUITS + words.COLOURS + ["level", "noon", "hello", "python"]),)


def one_text(rng: random.Random) -> tuple[Any, ...]:
    return (" ".join(rng.sample(words.ANIMALS + words.ADJECTIVES, rng.randint(2, 4))),)


def one_number(rng: random.Random) -> tuple[Any, ...]:
    return (rng.randint(1, 12),)


def two_numbers(rng: random.Random) -> tuple[Any, ...]:
    return rng.randint(1, 30), rng.randint(1, 12)


def three_numbers(rng: random.Random) -> tuple[Any, ...]:
    return rng.randint(-9, 30), rng.randint(-9, 30), rng.randint(-9, 30)


def list_and_number(rng: random.Random) -> tuple[Any, ...]:
    values = numbers(rng)
    return values, rng.choice(values + [5])


def two_lists(rng: random.Random) -> tuple[Any, ...]:
    return numbers(rng), numbers(rng)


def word_list(rng: random.Random) -> tuple[Any, ...]:
    return (rng.sample(words.ANIMALS + words.FRUITS, rng.randint(2, 5)),)


def word_and_letter(rng: random.Random) -> tuple[Any, ...]:
    word = one_word(rng)[0]
    return word, rng.choice(word)


# What is asked, function names, parameters, body, inputs for tests.
FIXED: list[tuple[str, list[str], str, str, Inputs]] = [
    ("returns the sum of two numbers", ["add", "add_numbers", "sum_two"], "a, b", "return a + b", two_numbers),
    ("returns the difference of two numbers", ["subtract", "difference"], "a, b", "return a - b", two_numbers),
    ("returns the product of two numbers", ["multiply", "product"], "a, b", "return a * b", two_numbers),
    ("returns the larger of two numbers", ["larger", "max_of_two"], "a, b", "if a > b:\n    return a\nreturn b", two_numbers),
    ("returns the smaller of two numbers", ["smaller", "min_of_two"], "a, b", "if a < b:\n    return a\nreturn b", two_numbers),
    ("returns the largest of three numbers", ["max_of_three", "largest_of_three"], "a, b, c", "return max(a, b, c)", three_numbers),
    ("returns the smallest of three numbers", ["min_of_three", "smallest_of_three"], "a, b, c", "return min(a, b, c)", three_numbers),
    ("checks if a number is even", ["is_even", "even"], "n", "return n % 2 == 0", one_number),
    ("checks if a number is odd", ["is_odd", "odd"], "n", "return n % 2 == 1", one_number),
    ("checks if a number is prime", ["is_prime", "prime"], "n", "if n < 2:\n    return False\nfor i in range(2, n):\n    if n % i == 0:\n        return False\nreturn True", one_number),
    ("returns the factorial of n", ["factorial", "fact"], "n", "result = 1\nfor i in range(2, n + 1):\n    result *= i\nreturn result", lambda rng: (rng.randint(0, 7),)),
    ("returns the n-th Fibonacci number", ["fibonacci", "fib"], "n", "a, b = 0, 1\nfor _ in range(n):\n    a, b = b, a + b\nreturn a", one_number),
    ("returns the greatest common divisor of two numbers", ["gcd", "greatest_common_divisor"], "a, b", "while b:\n    a, b = b, a % b\nreturn a", two_numbers),
    ("returns the sum of the digits of n", ["digit_sum", "sum_digits"], "n", "return sum(int(digit) for digit in str(n))", lambda rng: (rng.randint(1, 9999),)),
    ("returns the sum of the numbers from 1 to n", ["sum_to", "sum_up_to"], "n", "total = 0\nfor i in range(1, n + 1):\n    total += i\nreturn total", one_number),
    ("counts down from n to 1 and returns a list", ["countdown", "count_down"], "n", "return list(range(n, 0, -1))", one_number),
    ("returns a list of the numbers from 1 to n", ["numbers_to", "count_up"], "n", "return list(range(1, n + 1))", one_number),
    ("returns the absolute value of a number", ["absolute", "absolute_value"], "x", "if x < 0:\n    return -x\nreturn x", lambda rng: (rng.randint(-20, 20),)),
    ("converts Celsius to Fahrenheit", ["to_fahrenheit", "celsius_to_fahrenheit"], "c", "return c * 9 / 5 + 32", lambda rng: (rng.randint(0, 40),)),
    ("returns the area of a rectangle", ["rectangle_area", "area"], "width, height", "return width * height", two_numbers),
    ("returns the area of a square", ["square_area", "area_of_square"], "side", "return side * side", one_number),
    ("raises a to the power of b", ["power", "raise_to"], "a, b", "return a ** b", lambda rng: (rng.randint(1, 9), rng.randint(0, 4))),
    ("reverses a string", ["reverse_string", "reverse"], "text", "return text[::-1]", one_word),
    ("checks if a string is a palindrome", ["is_palindrome", "palindrome"], "text", "return text == text[::-1]", one_word),
    ("counts the vowels in a string", ["count_vowels", "vowels"], "text", "count = 0\nfor letter in text:\n    if letter in \"aeiou\":\n        count += 1\nreturn count", one_word),
    ("counts the words in a string", ["count_words", "word_count"], "text", "return len(text.split())", one_text),
    ("makes a string upper case", ["to_upper", "shout"], "text", "return text.upper()", one_text),
    ("makes the first letter of a string a capital", ["capitalize_first", "capital"], "text", "return text[0].upper() + text[1:]", one_word),
    ("counts how often a letter is in a string", ["count_letter", "letter_count"], "text, letter", "count = 0\nfor one in text:\n    if one == letter:\n        count += 1\nreturn count", word_and_letter),
    ("removes the vowels from a string", ["remove_vowels", "without_vowels"], "text", "return \"\".join(letter for letter in text if letter not in \"aeiou\")", one_word),
    ("returns the longest word of a text", ["longest_word", "find_longest"], "text", "return max(text.split(), key=len)", one_text),
    ("reverses the words of a text", ["reverse_words", "words_backwards"], "text", "return \" \".join(reversed(text.split()))", one_text),
    ("returns the sum of a list", ["sum_list", "total"], "numbers", "total = 0\nfor number in numbers:\n    total += number\nreturn total", one_list),
    ("returns the average of a list", ["average", "mean"], "numbers", "return sum(numbers) / len(numbers)", lambda rng: ([rng.randint(1, 9) * 4 for _ in range(4)],)),
    ("returns the largest number of a list", ["largest", "find_max"], "numbers", "largest = numbers[0]\nfor number in numbers:\n    if number > largest:\n        largest = number\nreturn largest", one_list),
    ("returns the smallest number of a list", ["smallest", "find_min"], "numbers", "smallest = numbers[0]\nfor number in numbers:\n    if number < smallest:\n        smallest = number\nreturn smallest", one_list),
    ("reverses a list", ["reverse_list", "reversed_list"], "items", "return items[::-1]", one_list),
    ("sorts a list", ["sort_list", "sorted_list"], "items", "return sorted(items)", one_list),
    ("removes duplicates from a list", ["unique", "remove_duplicates"], "items", "result = []\nfor item in items:\n    if item not in result:\n        result.append(item)\nreturn result", one_list),
    ("checks if a value is in a list", ["contains", "is_in_list"], "items, value", "return value in items", list_and_number),
    ("counts how often a value is in a list", ["count_value", "occurrences"], "items, value", "count = 0\nfor item in items:\n    if item == value:\n        count += 1\nreturn count", list_and_number),
    ("finds the index of a value in a list, or -1", ["find_index", "index_of"], "items, value", "for i, item in enumerate(items):\n    if item == value:\n        return i\nreturn -1", list_and_number),
    ("joins two lists", ["join_lists", "concat"], "a, b", "return a + b", two_lists),
    ("returns the numbers that are in both lists", ["common", "intersection"], "a, b", "return [item for item in a if item in b]", two_lists),
    ("adds two lists element by element", ["add_lists", "sum_pairs"], "a, b", "return [x + y for x, y in zip(a, b)]", two_lists),
    ("returns the first element of a list, or None", ["first", "first_item"], "items", "if not items:\n    return None\nreturn items[0]", one_list),
    ("returns the last element of a list, or None", ["last", "last_item"], "items", "if not items:\n    return None\nreturn items[-1]", one_list),
    ("counts the elements of a list", ["count_items", "length"], "items", "count = 0\nfor _ in items:\n    count += 1\nreturn count", one_list),
    ("returns the lengths of the words in a list", ["word_lengths", "lengths"], "words", "return [len(word) for word in words]", word_list),
    ("joins words with commas", ["join_words", "with_commas"], "words", "return \", \".join(words)", word_list),
    ("counts the letters of a string in a dictionary", ["letter_counts", "count_letters"], "text", "counts = {}\nfor letter in text:\n    counts[letter] = counts.get(letter, 0) + 1\nreturn counts", one_word),
    ("swaps two values and returns them", ["swap", "swap_values"], "a, b", "return b, a", two_numbers),
    ("says whether a number is positive, negative or zero", ["sign", "sign_of"], "x", "if x > 0:\n    return \"positive\"\nif x < 0:\n    return \"negative\"\nreturn \"zero\"", lambda rng: (rng.randint(-5, 5),)),
    ("returns Fizz, Buzz, FizzBuzz or the number as a string", ["fizz_buzz", "fizzbuzz"], "n", "if n % 15 == 0:\n    return \"FizzBuzz\"\nif n % 3 == 0:\n    return \"Fizz\"\nif n % 5 == 0:\n    return \"Buzz\"\nreturn str(n)", lambda rng: (rng.randint(1, 30),)),
]
KEEP = [("even", "x % 2 == 0"), ("odd", "x % 2 == 1"), ("positive", "x > 0"), ("negative", "x < 0"), ("greater than {k}", "x > {k}"), ("less than {k}", "x < {k}"),
        ("divisible by {k}", "x % {k} == 0"), ("not {k}", "x != {k}"), ("at least {k}", "x >= {k}")]
CHANGE = [("doubled", "x * 2"), ("squared", "x * x"), ("plus {m}", "x + {m}"), ("minus {m}", "x - {m}"), ("times {m}", "x * {m}"), ("negated", "-x"), ("cubed", "x ** 3"), ("as strings", "str(x)")]
REDUCE = [("the sum of", "sum({})"), ("the largest of", "max({})"), ("how many of", "len({})"), ("the list of", "{}"), ("the smallest of", "min({})"), ("the sorted list of", "sorted({})")]
ASK = ["Write a Python function {n} that {w}.", "Write a function {n}({p}) that {w}.", "In Python, write {n}({p}): it {w}.", "I need a Python function called {n} that {w}.",
       "Write a short Python function that {w}. Call it {n}.", "Define a Python function {n}({p}) which {w}."]
ASK_TESTED = ["Write a Python function {n} that {w}, with tests.", "Write {n}({p}), which {w}, and test it with assert.", "Write a Python function {n} that {w}. Add some tests."]


def indented(body: str, depth: int = 1) -> str:
    return "\n".join("    " * depth + line for line in body.split("\n"))


def made_from_parts(rng: random.Random) -> tuple[str, str, str, str, Inputs]:
    """Functions over lists: which numbers, what becomes of them, and what is made of them all."""
    k, m = rng.randint(2, 9), rng.randint(2, 9)
    keep_word, keep = rng.choice(KEEP)
    change_word, change = rng.choice(CHANGE)
    keep_word, keep, change_word, change = (one.format(k=k, m=m) for one in (keep_word, keep, change_word, change))
    kind = rng.randrange(4)
    name = rng.choice(["process", "select", "compute", "pick", "collect", "filter_numbers", "transform", "work", "f", "solve"])
    if kind == 0:
        return f"returns the numbers of a list that are {keep_word}", name, "numbers", f"return [x for x in numbers if {keep}]", one_list
    if kind == 1:
        return f"returns the numbers of a list {change_word}", name, "numbers", f"return [{change} for x in numbers]", one_list
    if kind == 2:
        return (f"returns the numbers of a list that are {keep_word}, {change_word}", name, "numbers",
                f"result = []\nfor x in numbers:\n    if {keep}:\n        result.append({change})\nreturn result", one_list)
    word, shape = rng.choice(REDUCE)
    return f"returns {word} the numbers of a list that are {keep_word}", name, "numbers", "return " + shape.format(f"[x for x in numbers if {keep}]"), one_list


def tests_of(code: str, name: str, inputs: Inputs, rng: random.Random, count: int) -> list[str]:
    """Assertions that hold: the function is run to make them."""
    space: dict[str, Any] = {}
    exec(code, space)  # our own templates
    lines = []
    for _ in range(count):
        arguments = inputs(rng)
        shown = ", ".join(repr(argument) for argument in arguments)
        try:
            result = space[name](*arguments)
        except ValueError:  # the largest of nothing
            continue
        lines.append(f"assert {name}({shown}) == {result!r}")
    return lines


def exercise(rng: random.Random) -> tuple[str, str, str]:
    """A request, an answer with the code, and the key that decides the split."""
    if rng.random() < 0.6:
        what, names, parameters, body, inputs = rng.choice(FIXED)
        name = rng.choice(names)
    else:
        what, name, parameters, body, inputs = made_from_parts(rng)
    code = f"def {name}({parameters}):\n"
    if rng.random() < 0.15:
        code += f'    """{what[0].upper()}{what[1:]}."""\n'
    code += indented(body)
    tested = rng.random() < 0.35
    ask = rng.choice(ASK_TESTED if tested else ASK).format(n=name, p=parameters, w=what)
    if tested:
        lines = tests_of(code, name, inputs, rng, rng.randint(1, 3))
        if lines:
            code += "\n\n" + "\n".join(lines)
    return ask, f"```python\n{code}\n```", f"code {what} {name}"


def result_question(rng: random.Random) -> tuple[str, str, str]:
    """What a call gives."""
    what, names, parameters, body, inputs = rng.choice(FIXED)
    name = names[0]
    code = f"def {name}({parameters}):\n{indented(body)}"
    lines = tests_of(code, name, inputs, rng, 1)
    call, result = lines[0].removeprefix("assert ").split(" == ", 1)
    return f"What does {call} return?\n\n```python\n{code}\n```", result, f"result {call}"
