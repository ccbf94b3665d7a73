"""Arithmetic worked out step by step in one stable form, digit by digit, that ends with "The answer is N."."""

from __future__ import annotations

import random
import re

from train import arithmetic_questions as asked
from train.held import Answer, Held

PLACES = ["Ones", "Tens", "Hundreds", "Thousands", "Ten thousands", "Hundred thousands", "Millions"]
ANSWER = re.compile(r"[Tt]he answer is (-?[\d,]*\d(?:\.\d+)?(?: remainder \d+)?)")


def conclusion(value: int | str) -> str:
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
    return "\n".join(signed_steps(a, b) + [conclusion(a + b)])


def subtract(a: int, b: int) -> str:
    return "\n".join(signed_steps(a, -b, True) + [conclusion(a - b)])


def signed_steps(a: int, b: int, is_difference: bool = False) -> list[str]:
    """The steps of a + b for any signs: a sum or a difference of what they are without them."""
    x, y = abs(a), abs(b)
    if a >= 0 and b >= 0 and not is_difference:
        return addition_steps(a, b)
    if a >= 0 and b <= 0 and is_difference:
        if x >= y:
            return subtraction_steps(x, y)
        return [f"{y} is more than {x}, so the answer is negative: {y} - {x}."] + subtraction_steps(y, x)
    written = f"{a} {'-' if is_difference else '+'} {-b if is_difference else b}"
    if (a >= 0) == (b >= 0):
        return [f"{written} = " + (f"{x} + {y}." if a >= 0 else f"-({x} + {y}).")] + addition_steps(x, y)
    large, small = max(x, y), min(x, y)
    is_negative = a + b < 0
    return [f"{written} = " + (f"-({large} - {small})." if is_negative else f"{large} - {small}.")] + subtraction_steps(large, small)


def with_point(value: int, decimals: int) -> str:
    """325 with two decimals is 3.25."""
    digits = str(abs(value)).rjust(decimals + 1, "0")
    return ("-" if value < 0 else "") + digits[:-decimals] + "." + digits[-decimals:]


def decimal_exercise(rng: random.Random) -> tuple[str, str, str, str]:
    """Sums and differences of numbers with one or two decimals, as if without the point."""
    decimals, op = rng.choice([1, 2, 2]), rng.choice("+-")
    a, b = (rng.randint(10 ** decimals // 5, 10 ** decimals * rng.choice([10, 100])) for _ in range(2))
    if op == "-" and a < b:
        a, b = b, a
    x, y, value = with_point(a, decimals), with_point(b, decimals), with_point(a + b if op == "+" else a - b, decimals)
    steps = addition_steps(a, b) if op == "+" else subtraction_steps(a, b)
    names = ["Tenths", "Hundredths"][:decimals][::-1] + PLACES
    steps = [f"{names[place]}: {step.split(': ', 1)[1]}" for place, step in enumerate(steps)]
    return asked.decimals(op, x, y, rng), f"{x} {op} {y}:\n" + "\n".join(steps + [conclusion(value)]), f"arithmetic {x} {op} {y}", value


def add_three(a: int, b: int, c: int) -> str:
    lines = [f"{a} + {b}:"] + addition_steps(a, b) + [f"{a + b} + {c}:"] + addition_steps(a + b, c)
    return "\n".join(lines + [conclusion(a + b + c)])


def parts_of(number: int) -> list[int]:
    """47 is 40 and 7."""
    digits = str(number)
    return [int(digit) * 10 ** (len(digits) - place - 1) for place, digit in enumerate(digits) if digit != "0"] or [0]


def row_steps(a: int, digit: int, zeros: int) -> str:
    """47 x 30 by the parts of 47: their products with 3, the sum, and the zero put behind."""
    parts = parts_of(a)
    products = [part * digit for part in parts]
    steps = [f"{part} x {digit} = {product}" for part, product in zip(parts, products)]
    total = products[0]
    for product in products[1:]:
        steps.append(f"{total} + {product} = {total + product}")
        total += product
    if zeros:
        steps.append(f"{a} x {digit}{'0' * zeros} = {total}{'0' * zeros}" if total else f"{a} x {digit}{'0' * zeros} = 0")
    return ", ".join(steps) + "."


def product_steps(a: int, b: int) -> list[str]:
    """One row for each digit of the second factor, then the rows added digit by digit."""
    if a < 10 and b < 10:
        return [f"{a} x {b} = {a * b}."]
    if a < 10:
        return [f"{a} x {b} = {b} x {a}."] + product_steps(b, a)
    parts = parts_of(b)
    lines = [f"{a} x {b} = " + " + ".join(f"{a} x {part}" for part in parts) + "."] if len(parts) > 1 else []
    rows = []
    for part in parts:
        zeros = len(str(part)) - 1
        lines.append(row_steps(a, int(str(part)[0]), zeros))
        rows.append(a * part)
    total = rows[0]
    for row in rows[1:]:
        lines += [f"{total} + {row}:"] + addition_steps(total, row)
        total += row
    return lines


def multiply(a: int, b: int) -> str:
    lines = product_steps(abs(a), abs(b))
    if a < 0 or b < 0:
        sign = "positive" if a * b >= 0 else "negative"
        lines = [f"The sign is {sign}: {abs(a)} x {abs(b)}."] + lines
    return "\n".join(lines + [conclusion(a * b)])


def quotient_text(a: int, b: int) -> str:
    return f"{a // b} remainder {a % b}" if a % b else str(a // b)


def tried(left: int, b: int) -> str:
    """How often a larger divisor fits is first guessed by the leading digits, which never gives too little."""
    if b <= 12:
        return ""
    guess = min(9, left // 10 // (b // 10))
    return "".join(f"{times} x {b} = {times * b} is too much, " for times in range(guess, left // b, -1))


def division_steps(a: int, b: int) -> list[str]:
    """Long division: the digits of a are brought down one by one."""
    digits = str(a)
    taken = next((place for place in range(1, len(digits)) if int(digits[:place]) >= b), len(digits))
    left = int(digits[:taken])
    lines = []
    while True:
        times = left // b
        lines.append(f"{left} / {b}: {tried(left, b)}{times} x {b} = {times * b}, {left} - {times * b} = {left - times * b}." if times else f"{left} / {b}: 0, {left} left.")
        left -= times * b
        if taken == len(digits):
            return lines
        lines[-1] += f" Write {times}. Bring down {digits[taken]}: {left * 10 + int(digits[taken])}."
        left = left * 10 + int(digits[taken])
        taken += 1


def divide(a: int, b: int) -> str:
    """The quotient's digits are those written in the steps, one for each."""
    return "\n".join(division_steps(a, b) + [conclusion(quotient_text(a, b))])


WORK = {"+": add, "-": subtract, "x": multiply, "/": divide}
RESULT = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "x": lambda a, b: a * b, "/": quotient_text}


def digits(rng: random.Random, count: int) -> int:
    return rng.randint(10 ** (count - 1), 10 ** count - 1) if count > 1 else rng.randint(0, 9)


def summands(rng: random.Random) -> tuple[int, int]:
    """Numbers of one to five digits, four above all; some pairs that lie close together."""
    size = rng.choices([1, 2, 3, 4, 5], weights=[4, 20, 20, 46, 10])[0]
    a = digits(rng, size)
    if rng.random() < 0.04:
        return a, max(0, a - rng.randint(0, 30))
    other = size if rng.random() < 0.75 else rng.randint(1, size)
    pair = (a, digits(rng, other))
    return pair if rng.random() < 0.8 else (pair[1], pair[0])


def factors(rng: random.Random) -> tuple[int, int]:
    kind = rng.random()
    if kind < 0.12:
        pair = (rng.randint(0, 12), rng.randint(0, 12))
    elif kind < 0.62:
        return rng.randint(10, 99), rng.randint(10, 99)
    elif kind < 0.72:
        pair = (rng.randint(10, 99), rng.randint(2, 9))
    elif kind < 0.8:
        pair = (rng.randint(100, 999), rng.randint(2, 9))
    elif kind < 0.88:
        pair = (rng.randint(100, 999), rng.randint(10, 99))
    elif kind < 0.97:
        pair = (rng.randint(100, 999), rng.randint(100, 999))
    else:
        pair = (rng.randint(1, 99) * rng.choice([1, 10]), 10 ** rng.randint(1, 3))
    return pair if rng.random() < 0.7 else (pair[1], pair[0])


def dividend(rng: random.Random) -> tuple[int, int]:
    """Two to four digits by one or two, half of them without a remainder."""
    b = rng.randint(2, 12) if rng.random() < 0.6 else rng.randint(11, 99)
    if rng.random() < 0.5:
        most = rng.choice([12, 99, 999 if b < 10 else 99, 9999 // b])
        return b * rng.randint(2, max(2, most)), b
    return rng.randint(b + 1, rng.choice([99, 999, 999, 9999]) if b < 99 else 9999), b


def operands(op: str, rng: random.Random) -> tuple[int, int]:
    if op == "/":
        return dividend(rng)
    a, b = factors(rng) if op == "x" else summands(rng)
    if op == "-" and a < b and rng.random() < 0.88:
        a, b = b, a
    if op != "x" and rng.random() < 0.05:
        a, b = rng.choice([(-a, b), (a, -b), (-a, -b)])
    if op == "x" and rng.random() < 0.03:
        a, b = -(a % 100), b % 100
    return a, b


def key_of(op: str, a: int, b: int) -> str:
    if op in "+x" and a > b:
        a, b = b, a
    return f"arithmetic {a} {op} {b}"


def is_plain(question: str, op: str, a: int, b: int) -> bool:
    """Whether the numbers stand in the question as they are calculated with."""
    return re.search(rf"(?<![\d,]){a}\b.*[^\d]{b}(?!,?\d)", question) is not None or op == "x" and a < 10


def answered(question: str, op: str, a: int, b: int) -> str:
    """The steps; first what is to be calculated, where the question says it otherwise."""
    return WORK[op](a, b) if is_plain(question, op, a, b) else worked_out(op, a, b)


def worked_out(op: str, a: int, b: int) -> str:
    """The answer to a problem told in words: first what is to be calculated, then the steps."""
    return f"{a} {op} {b}:\n{WORK[op](a, b)}"


def other_exercise(rng: random.Random) -> tuple[str, str, str, int | str | None]:
    """Short ones beside the four operations."""
    kind = rng.randrange(10)
    if kind == 9:
        return decimal_exercise(rng)
    if kind == 0:
        question, answer = asked.comparison(rng)
        return question, answer, "other " + question, None
    if kind == 1:
        a, b, c = (digits(rng, rng.choice([1, 2, 2, 3, 4])) for _ in range(3))
        return asked.three(a, b, c, rng), add_three(a, b, c), f"arithmetic {a} + {b} + {c}", a + b + c
    if kind == 2:
        share, whole = rng.choice([5, 10, 15, 20, 25, 30, 40, 50, 60, 75, 80, 90]), rng.randint(1, 60) * 20
        value = share * whole // 100
        return (asked.percentage(share, whole, rng), f"{share} x {whole}:\n" + "\n".join(product_steps(whole, share)) + f"\n{share * whole} / 100 = {value}.\n{conclusion(value)}",
                f"arithmetic {share}% of {whole}", value)
    if kind == 3:
        a, b, c = rng.randint(2, 20), rng.randint(2, 12), rng.randint(2, 12)
        question, answer, value = asked.mixed_operations(a, b, c, rng)
        return question, answer, "other " + question, value
    if kind == 4:
        a = rng.randint(2, 99)
        return asked.square(a, rng), f"{a} x {a}:\n" + multiply(a, a), key_of("x", a, a), a * a
    if kind == 5:
        a = digits(rng, rng.choice([1, 2, 3, 4]))
        return asked.double(a, rng), f"{a} + {a}:\n" + add(a, a), key_of("+", a, a), 2 * a
    if kind == 6:
        a = 2 * digits(rng, rng.choice([1, 2, 3]))
        return asked.half(a, rng), f"{a} / 2:\n" + divide(a, 2), key_of("/", a, 2), a // 2
    question, answer, value = asked.little(rng)
    return question, answer, "other " + question, value


def exercise(rng: random.Random) -> tuple[str, str, str, int | str | None]:
    """A question, its answer worked out, the key that decides the split, and what it comes to."""
    if rng.random() < 0.14:
        return other_exercise(rng)
    op = rng.choices("+-x/", weights=[23, 25, 25, 27])[0]
    a, b = operands(op, rng)
    told = asked.story(op, a, b, rng) if rng.random() < 0.22 else None
    question = told or asked.plain(op, a, b, rng)
    answer = worked_out(op, a, b) if told else answered(question, op, a, b)
    return question, answer, key_of(op, a, b), RESULT[op](a, b)


def bar_exercise(rng: random.Random) -> tuple[str, str, str, int]:
    """Two-digit addition or subtraction, plainly asked: what the exact-match bar is about."""
    op = rng.choice("+-")
    a, b = rng.randint(10, 99), rng.randint(10, 99)
    if op == "-" and a < b:
        a, b = b, a
    question = asked.plain(op, a, b, rng)
    return question, answered(question, op, a, b), key_of(op, a, b), RESULT[op](a, b)


def is_right(answer: str, expected: int | str) -> bool:
    """Whether the last answer that is named is the expected one."""
    found = ANSWER.findall(answer)
    return bool(found) and found[-1].replace(",", "") == str(expected)


def held(op: str, a: int, b: int, rng: random.Random) -> Held:
    question = (asked.story(op, a, b, rng) if rng.random() < 0.2 else None) or asked.plain(op, a, b, rng)
    expected = RESULT[op](a, b)

    def right(answer: Answer) -> bool:
        return is_right(answer.text, expected)

    return Held(key_of(op, a, b), [{"role": "user", "content": question}], right)


def held_sum(rng: random.Random) -> Held:
    return held("+", digits(rng, 4), digits(rng, 4), rng)


def held_difference(rng: random.Random) -> Held:
    a, b = digits(rng, 4), digits(rng, 4)
    return held("-", max(a, b), min(a, b), rng)


def held_product(rng: random.Random) -> Held:
    return held("x", digits(rng, 2), digits(rng, 2), rng)


def held_division(rng: random.Random) -> Held:
    a, b = dividend(rng)
    return held("/", a, b, rng)
