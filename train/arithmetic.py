"""Arithmetic in chat form, worked out step by step in one stable form that ends with "The answer is N."."""

from __future__ import annotations

import random

from train import words

ASK = {
    "+": ["What is {a} + {b}?", "{a} + {b} = ?", "Calculate {a} + {b}.", "Add {a} and {b}.", "What is {a} plus {b}?", "What is the sum of {a} and {b}?",
          "How much is {a} + {b}?", "Compute {a} + {b}", "{a}+{b}", "What do you get if you add {b} to {a}?", "{a} + {b}", "Please work out {a} + {b}."],
    "-": ["What is {a} - {b}?", "{a} - {b} = ?", "Calculate {a} - {b}.", "Subtract {b} from {a}.", "What is {a} minus {b}?", "Take {b} away from {a}.",
          "How much is {a} - {b}?", "Compute {a} - {b}", "{a}-{b}", "What is the difference of {a} and {b}?", "{a} - {b}", "Please work out {a} - {b}."],
    "x": ["What is {a} x {b}?", "{a} x {b} = ?", "Calculate {a} * {b}.", "Multiply {a} by {b}.", "What is {a} times {b}?", "What is the product of {a} and {b}?",
          "How much is {a} * {b}?", "Compute {a} x {b}", "{a}*{b}", "{a} * {b}", "{a} x {b}", "Please work out {a} times {b}."],
    "/": ["What is {a} / {b}?", "{a} / {b} = ?", "Calculate {a} / {b}.", "Divide {a} by {b}.", "What is {a} divided by {b}?", "How many times does {b} go into {a}?"],
}
PLACES = ["Ones", "Tens", "Hundreds", "Thousands", "Ten thousands"]


def conclusion(value: int) -> str:
    return f"The answer is {value}."


def addition_steps(a: int, b: int) -> list[str]:
    """Digit by digit from the right, with carries."""
    lines = []
    carry, place = 0, 0
    while a > 0 or b > 0 or place == 0:
        x, y = a % 10, b % 10
        total = x + y + carry
        shown = f"{PLACES[place]}: {x} + {y}" + (f" + {carry}" if carry else "") + f" = {total}"
        a, b = a // 10, b // 10
        carry = total // 10
        if carry:
            shown += f", write {total % 10}, carry 1"
        lines.append(shown + ".")
        place += 1
    return lines


def subtraction_steps(a: int, b: int) -> list[str]:
    """Digit by digit from the right, with borrows; a is not less than b."""
    lines = []
    borrow, place = 0, 0
    while a > 0 or b > 0 or place == 0:
        x, y = a % 10, b % 10
        shown = f"{PLACES[place]}: "
        taken = borrow
        if x - y - borrow < 0:
            shown += "borrow 10, "
            x += 10
            borrow = 1
        else:
            borrow = 0
        shown += f"{x} - {y}" + (" - 1" if taken else "") + f" = {x - y - taken}."
        lines.append(shown)
        a, b = a // 10, b // 10
        place += 1
    return lines


def add(a: int, b: int) -> str:
    return "\n".join(addition_steps(a, b) + [conclusion(a + b)])


def subtract(a: int, b: int) -> str:
    if a >= b:
        return "\n".join(subtraction_steps(a, b) + [conclusion(a - b)])
    return "\n".join([f"{b} is more than {a}, so the answer is negative: {b} - {a}."] + subtraction_steps(b, a) + [conclusion(a - b)])


def parts_of(number: int) -> list[int]:
    """47 is 40 and 7."""
    digits = str(number)
    return [int(digit) * 10 ** (len(digits) - place - 1) for place, digit in enumerate(digits) if digit != "0"] or [0]


def multiply(a: int, b: int) -> str:
    """By the parts of the factors: 47 x 6 = 40 x 6 + 7 x 6."""
    products = [(x, y, x * y) for x in parts_of(a) for y in parts_of(b)]
    lines = [f"{x} x {y} = {product}." for x, y, product in products]
    total = products[0][2]
    for _, _, product in products[1:]:
        lines.append(f"{total} + {product} = {total + product}.")
        total += product
    return "\n".join(lines + [conclusion(total)])


def divide(a: int, b: int) -> str:
    """Exact division, by the product that it undoes."""
    return f"{b} x {a // b} = {a}.\n{conclusion(a // b)}"


WORK = {"+": add, "-": subtract, "x": multiply, "/": divide}
RESULT = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "x": lambda a, b: a * b, "/": lambda a, b: a // b}


def operands(op: str, rng: random.Random) -> tuple[int, int]:
    """Mostly numbers of two digits."""
    if op == "/":
        b = rng.randint(2, 12)
        return b * rng.randint(2, 12), b
    if op == "x":
        kind = rng.random()
        if kind < 0.35:
            return rng.randint(1, 12), rng.randint(1, 12)
        if kind < 0.85:
            pair = (rng.randint(10, 99), rng.randint(2, 9))
            return pair if rng.random() < 0.7 else (pair[1], pair[0])
        return rng.randint(10, 40), rng.randint(10, 40)
    kind = rng.random()
    if kind < 0.7:
        a, b = rng.randint(10, 99), rng.randint(10, 99)
    elif kind < 0.85:
        a, b = rng.randint(0, 99), rng.randint(0, 20)
    else:
        a, b = rng.randint(100, 999), rng.randint(10, 999)
    if op == "-" and a < b and rng.random() < 0.85:
        a, b = b, a
    return a, b


def key_of(op: str, a: int, b: int) -> str:
    return f"arithmetic {a} {op} {b}"


def plain_question(op: str, a: int, b: int, rng: random.Random) -> str:
    return rng.choice(ASK[op]).format(a=a, b=b)


def story_question(op: str, a: int, b: int, rng: random.Random) -> str | None:
    """A little word problem; none for negative results or large numbers."""
    name, other = rng.sample(words.FIRST_NAMES, 2)
    thing = words.plural(rng.choice(words.THINGS + words.FRUITS))
    if op == "+":
        return rng.choice([
            f"{name} has {a} {thing} and gets {b} more. How many {thing} does {name} have now?",
            f"There are {a} {thing} in one box and {b} in another. How many {thing} are there in all?",
            f"{name} has {a} {thing} and {other} has {b}. How many {thing} do they have together?",
            f"A shop sold {a} {thing} on {rng.choice(words.DAYS)} and {b} the next day. How many {thing} did it sell?"])
    if op == "-" and a >= b:
        return rng.choice([
            f"{name} has {a} {thing} and gives {b} to {other}. How many {thing} does {name} have left?",
            f"There were {a} {thing} in a shop. {b} were sold. How many {thing} are left?",
            f"{name} has {a} {thing} and {other} has {b}. How many more {thing} does {name} have?",
            f"{name} needs {a} {thing} and has {b}. How many more {thing} does {name} need?"])
    if op == "x":
        return rng.choice([
            f"There are {a} boxes with {b} {thing} each. How many {thing} are there?",
            f"{name} buys {a} {thing} for {b} dollars each. How many dollars does {name} pay?",
            f"Each of {a} children has {b} {thing}. How many {thing} do they have?"])
    if op == "/":
        return rng.choice([
            f"{name} shares {a} {thing} equally among {b} friends. How many {thing} does each friend get?",
            f"{a} {thing} are put into {b} boxes, the same number in each. How many {thing} are in each box?"])
    return None


def other_question(rng: random.Random) -> tuple[str, str]:
    """Comparisons, neighbours, rows of numbers, doubles, three summands: short ones beside the four operations."""
    kind = rng.randrange(7)
    a, b = rng.randint(0, 99), rng.randint(0, 99)
    if kind == 0 and a != b:
        larger = rng.random() < 0.5
        word = rng.choice(["larger", "bigger", "greater"]) if larger else rng.choice(["smaller", "less"])
        return f"Which is {word}: {a} or {b}?", conclusion(max(a, b) if larger else min(a, b))
    if kind == 1:
        after = rng.random() < 0.5
        return f"What number comes {'after' if after else 'before'} {a + 1}?", conclusion(a + 2 if after else a)
    if kind == 2:
        step = rng.randint(1, 10)
        row = [a + step * place for place in range(4)]
        return (f"What comes next: {', '.join(map(str, row))}?",
                f"Each number is {step} more than the one before.\n{row[-1]} + {step} = {row[-1] + step}.\n{conclusion(row[-1] + step)}")
    if kind == 3:
        return rng.choice([f"What is double {a}?", f"What is twice {a}?"]), f"{a} + {a} = {2 * a}.\n{conclusion(2 * a)}"
    if kind == 4:
        return rng.choice([f"What is half of {2 * a}?", f"Halve {2 * a}."]), f"{2 * a} / 2 = {a}.\n{conclusion(a)}"
    if kind == 5:
        return f"Is {a} even or odd?", f"The last digit of {a} is {a % 10}, so {a} is {'odd' if a % 2 else 'even'}."
    c = rng.randint(1, 50)
    return (rng.choice([f"What is {a} + {b} + {c}?", f"Add {a}, {b} and {c}.", f"{a} + {b} + {c}"]),
            f"{a} + {b} = {a + b}.\n{a + b} + {c} = {a + b + c}.\n{conclusion(a + b + c)}")


def exercise(rng: random.Random) -> tuple[str, str, str, int | None]:
    """A question, its answer worked out, the key that decides the split, and the number it comes to."""
    if rng.random() < 0.1:
        question, answer = other_question(rng)
        return question, answer, "other " + question, None
    op = rng.choices("+-x/", weights=[38, 38, 20, 4])[0]
    a, b = operands(op, rng)
    told = story_question(op, a, b, rng) if rng.random() < 0.2 else None
    if told:
        return told, worked_out(op, a, b), key_of(op, a, b), RESULT[op](a, b)
    return plain_question(op, a, b, rng), WORK[op](a, b), key_of(op, a, b), RESULT[op](a, b)


def worked_out(op: str, a: int, b: int) -> str:
    """The answer to a problem told in words: first what is to be calculated, then the steps."""
    return f"{a} {op} {b}:\n{WORK[op](a, b)}"


def bar_exercise(rng: random.Random) -> tuple[str, str, str, int]:
    """Two-digit addition or subtraction, plainly asked: what the exact-match bar is about."""
    op = rng.choice("+-")
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    if op == "-" and a < b:
        a, b = b, a
    return plain_question(op, a, b, rng), WORK[op](a, b), key_of(op, a, b), RESULT[op](a, b)
