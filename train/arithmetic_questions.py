"""How sums are asked for: openings, ways to say an operation, and little problems told in words."""

from __future__ import annotations

import random

from train import words
from train.wording import casual

# What stands for the calculation inside a question.
SAID = {
    "+": ["{a} + {b}", "{a} + {b}", "{a}+{b}", "{a} plus {b}", "{a} plus {b}", "the sum of {a} and {b}", "{a} added to {b}", "the total of {a} and {b}", "{a} and {b} together",
          "{a} increased by {b}"],
    "-": ["{a} - {b}", "{a} - {b}", "{a}-{b}", "{a} minus {b}", "{a} minus {b}", "the difference between {a} and {b}", "the difference of {a} and {b}", "{b} subtracted from {a}",
          "{a} less {b}", "{a} take away {b}", "{a} decreased by {b}", "{a} reduced by {b}"],
    "x": ["{a} x {b}", "{a} * {b}", "{a}*{b}", "{a} times {b}", "{a} times {b}", "the product of {a} and {b}", "{a} multiplied by {b}", "{a}x{b}", "{a} \u00d7 {b}", "{a} · {b}"],
    "/": ["{a} / {b}", "{a}/{b}", "{a} divided by {b}", "{a} divided by {b}", "{a} \u00f7 {b}", "the quotient of {a} and {b}", "{a} : {b}"],
}
OPENINGS = ["What is {x}?", "What is {x}?", "What's {x}?", "Calculate {x}.", "Compute {x}.", "How much is {x}?", "{x} = ?", "{x} =", "{x}", "{x}?", "Can you tell me {x}?",
            "Please work out {x}.", "Work out {x}.", "Solve {x}.", "Solve: {x}", "Tell me {x}.", "Find {x}.", "Evaluate {x}.", "What does {x} equal?", "What do you get for {x}?",
            "Could you calculate {x} for me?", "I need to know {x}.", "What is the result of {x}?", "Give me {x}.", "What does {x} come to?", "How much does {x} make?",
            "Do you know what {x} is?", "Can you compute {x}?", "What is the value of {x}?", "Calculate: {x}", "What would {x} be?", "Show me how to calculate {x}.",
            "Work out {x} step by step.", "What is {x}? Show the steps."]
COMMANDS = {
    "+": ["Add {a} and {b}.", "Add {b} to {a}.", "Add {a} to {b}.", "Sum {a} and {b}.", "Add up {a} and {b}.", "Add these numbers: {a}, {b}.", "What do you get if you add {b} to {a}?",
          "What do {a} and {b} add up to?", "Add {a} + {b}.", "If I add {a} and {b}, what do I get?", "How much do {a} and {b} make together?"],
    "-": ["Subtract {b} from {a}.", "Take {b} away from {a}.", "Subtract {b} from {a} please.", "What is left if you take {b} from {a}?", "How much more is {a} than {b}?",
          "Take away {b} from {a}.", "What do you get when you subtract {b} from {a}?", "What must be added to {b} to get {a}?", "How far is it from {b} to {a}?", "Deduct {b} from {a}."],
    "x": ["Multiply {a} by {b}.", "Multiply {a} and {b}.", "Multiply {a} with {b}.", "What do you get if you multiply {a} by {b}?", "If I multiply {a} by {b}, what do I get?",
          "What is {a} taken {b} times?"],
    "/": ["Divide {a} by {b}.", "How many times does {b} go into {a}?", "How often does {b} fit into {a}?", "What do you get if you divide {a} by {b}?", "Split {a} by {b}.",
          "Divide {a} by {b} with remainder.", "What is {a} divided by {b}, with remainder?", "What is the quotient and remainder of {a} / {b}?", "Do long division: {a} / {b}"],
}


def shown(number: int, with_commas: bool) -> str:
    return f"{number:,}" if with_commas else str(number)


def plain(op: str, a: int, b: int, rng: random.Random) -> str:
    with_commas = (abs(a) > 999 or abs(b) > 999) and rng.random() < 0.2
    if rng.random() < 0.22:
        question = rng.choice(COMMANDS[op])
    else:
        question = rng.choice(OPENINGS).format(x=rng.choice(SAID[op]))
        if question[0] == "t":
            question = "T" + question[1:]
    if 0 <= a < 100 and 0 <= b < 100 and rng.random() < 0.06:
        return casual(question.format(a=words.number_name(a), b=words.number_name(b)), rng)
    bracketed = f"({b})" if b < 0 and rng.random() < 0.5 else shown(b, with_commas)
    return casual(question.format(a=shown(a, with_commas), b=bracketed), rng)


def goods(rng: random.Random) -> str:
    return words.plural(rng.choice(words.THINGS + words.FRUITS + words.ANIMALS))


PLACES = ["school", "library", "museum", "farm", "bakery", "shop", "factory", "warehouse", "market", "garden", "park", "zoo", "club", "village", "town", "theatre", "stadium", "office"]
OWNERS = ["A farmer", "A baker", "A teacher", "A shop", "A school", "A library", "A museum", "A gardener", "A collector", "A company", "A driver", "My uncle", "My sister", "The club", "A market"]
STORIES = {
    "+": ["{N} has {a} {t} and gets {b} more. How many {t} does {N} have now?", "There are {a} {t} in one box and {b} in another. How many {t} are there in all?",
          "{N} has {a} {t} and {O} has {b}. How many {t} do they have together?", "A shop sold {a} {t} on {d} and {b} the next day. How many {t} did it sell?",
          "{W} has {a} {t} and buys {b} more. How many {t} are there now?", "A {p} had {a} visitors on {d} and {b} visitors the day after. How many visitors came in total?",
          "{N} walked {a} steps in the morning and {b} in the evening. How many steps is that altogether?", "{W} earned {a} dollars in {m} and {b} dollars in {M}. What is the total?",
          "In a {p} there are {a} {t} and {b} {u}. How many things is that in all?", "{N} saved {a} dollars. Then {O} gave {N} {b} dollars. How much money does {N} have?",
          "{N} read {a} pages last week and {b} pages this week. How many pages did {N} read?", "One truck carries {a} kg and another carries {b} kg. How much do they carry together?"],
    "-": ["{N} has {a} {t} and gives {b} to {O}. How many {t} does {N} have left?", "There were {a} {t} in a shop. {b} were sold. How many {t} are left?",
          "{N} has {a} {t} and {O} has {b}. How many more {t} does {N} have?", "{N} needs {a} {t} and has {b}. How many more {t} does {N} need?",
          "{W} has {a} {t} and sells {b} of them. How many {t} are left?", "A {p} has {a} seats and {b} are taken. How many seats are free?",
          "{N} had {a} dollars and spent {b}. How many dollars are left?", "A book has {a} pages. {N} has read {b} of them. How many pages are left?",
          "Of {a} {t}, {b} are broken. How many {t} are fine?", "The trip is {a} km long and {N} has done {b} km. How many km remain?",
          "A tank holds {a} litres. {b} litres are used. How much is left?"],
    "x": ["There are {a} boxes with {b} {t} each. How many {t} are there?", "{N} buys {a} {t} for {b} dollars each. How many dollars does {N} pay?",
          "Each of {a} children has {b} {t}. How many {t} do they have?", "A {p} has {a} rows with {b} seats in each row. How many seats are there?",
          "{W} packs {a} bags with {b} {t} in each bag. How many {t} is that?", "{N} runs {a} km every day. How many km is that in {b} days?",
          "One {s} costs {a} dollars. How much do {b} {t} cost?", "There are {a} shelves and each holds {b} {t}. How many {t} fit on them?",
          "{N} works {a} hours a week for {b} weeks. How many hours is that?", "A garden is {a} metres long and {b} metres wide. What is its area in square metres?"],
    "/": ["{N} shares {a} {t} equally among {b} friends. How many {t} does each friend get{r}?", "{a} {t} are put into {b} boxes, the same number in each. How many {t} are in each box{r}?",
          "{W} packs {a} {t} into bags of {b}. How many full bags are there{r}?", "{a} children form teams of {b}. How many teams are there{r}?",
          "A rope of {a} metres is cut into pieces of {b} metres. How many pieces are there{r}?", "{N} reads {b} pages a day. How many days does a book of {a} pages take{r}?",
          "{a} dollars are split evenly between {b} people. How many dollars does each get{r}?"],
}


def story(op: str, a: int, b: int, rng: random.Random) -> str | None:
    """A little word problem; none for negative numbers or results, or for fewer than two things."""
    if a < 2 or b < 2 or (op == "-" and a < b) or (op == "/" and a < b):
        return None
    name, other = rng.sample(words.FIRST_NAMES, 2)
    single = rng.choice(words.THINGS + words.FRUITS)
    left = rng.choice([", and how many are left over", " and what is the remainder"]) if op == "/" and a % b else ""
    with_commas = (a > 999 or b > 999) and rng.random() < 0.2
    month = rng.randrange(11)
    return rng.choice(STORIES[op]).format(a=shown(a, with_commas), b=shown(b, with_commas), N=name, O=other, t=words.plural(single), u=goods(rng), s=single, W=rng.choice(OWNERS),
                                          p=rng.choice(PLACES), d=rng.choice(words.DAYS), m=words.MONTHS[month], M=words.MONTHS[month + 1], r=left)


def three(a: int, b: int, c: int, rng: random.Random) -> str:
    return casual(rng.choice(["What is {a} + {b} + {c}?", "Add {a}, {b} and {c}.", "{a} + {b} + {c}", "{a}+{b}+{c}", "Calculate {a} plus {b} plus {c}.", "What is the sum of {a}, {b} and {c}?",
                              "Sum up {a}, {b}, {c}.", "How much is {a} + {b} + {c}?", "{a} + {b} + {c} = ?", "What do {a}, {b} and {c} add up to?"]).format(a=a, b=b, c=c), rng)


def percentage(share: int, whole: int, rng: random.Random) -> str:
    name, thing = rng.choice(words.FIRST_NAMES), rng.choice(words.THINGS)
    return rng.choice([casual(rng.choice(["What is {s}% of {w}?", "Calculate {s}% of {w}.", "How much is {s} percent of {w}?", "{s}% of {w}", "Find {s} percent of {w}.", "what's {s} % of {w}?"]), rng),
                       "{n} buys a {t} for {w} dollars and gets {s}% off. How many dollars is the discount?",
                       "Of {w} people, {s}% have a {t}. How many people is that?"]).format(s=share, w=whole, n=name, t=thing)


def decimals(op: str, a: str, b: str, rng: random.Random) -> str:
    if len(a.split(".")[1]) == 2 and rng.random() < 0.4:
        name, thing, other = rng.choice(words.FIRST_NAMES), rng.choice(words.THINGS), rng.choice(words.FRUITS)
        return (f"{name} buys {words.article(thing)} for ${a} and {words.article(other)} for ${b}. How much is that together?" if op == "+" else f"{name} has ${a} and spends ${b}. How many dollars are left?")
    return casual(rng.choice(OPENINGS).format(x=f"{a} {op} {b}"), rng)


def square(a: int, rng: random.Random) -> str:
    return casual(rng.choice(["What is {a} squared?", "What is the square of {a}?", "Square {a}.", "{a}^2", "Calculate {a} squared.", "What is {a} to the power of 2?"]).format(a=a), rng)


def double(a: int, rng: random.Random) -> str:
    return casual(rng.choice(["What is double {a}?", "What is twice {a}?", "Double {a}.", "How much is two times {a}?", "What is {a} doubled?"]).format(a=a), rng)


def half(a: int, rng: random.Random) -> str:
    return casual(rng.choice(["What is half of {a}?", "Halve {a}.", "How much is half of {a}?", "What is one half of {a}?", "Divide {a} in half."]).format(a=a), rng)


def comparison(rng: random.Random) -> tuple[str, str]:
    size = rng.choice([10, 100, 1000, 10000, 100000])
    a = rng.randint(0, size)
    b = rng.randint(0, size) if rng.random() < 0.7 else max(0, a + rng.choice([-1, 1]) * rng.randint(1, 20))
    if a == b:
        b += 1
    if rng.random() < 0.6:
        larger = rng.random() < 0.5
        word = rng.choice(["larger", "bigger", "greater", "higher", "more"]) if larger else rng.choice(["smaller", "less", "lower"])
        ask = rng.choice(["Which is {w}: {a} or {b}?", "Which is {w}, {a} or {b}?", "What is {w}: {a} or {b}?", "Which number is {w}, {a} or {b}?", "{a} or {b}: which is {w}?"])
        return casual(ask.format(w=word, a=a, b=b), rng), f"The answer is {max(a, b) if larger else min(a, b)}."
    word, holds = rng.choice([("greater than", a > b), ("less than", a < b), ("more than", a > b), ("larger than", a > b), ("smaller than", a < b)])
    fact = f"{a} is {'greater' if a > b else 'less'} than {b}."
    return casual(f"Is {a} {word} {b}?", rng), ("Yes, " if holds else "No, ") + fact


def mixed_operations(a: int, b: int, c: int, rng: random.Random) -> tuple[str, str, int]:
    """Two operations at once: products before sums, brackets before all."""
    sign = rng.choice("+-")
    times = rng.choice("x*")
    kind = rng.randrange(3)
    plus = (lambda x, y: x + y) if sign == "+" else (lambda x, y: x - y)
    if kind == 0:
        text, first, second, value = f"{a} {sign} {b} {times} {c}", f"{b} x {c} = {b * c}", f"{a} {sign} {b * c}", plus(a, b * c)
    elif kind == 1:
        text, first, second, value = f"{a} {times} {b} {sign} {c}", f"{a} x {b} = {a * b}", f"{a * b} {sign} {c}", plus(a * b, c)
    else:
        text, first, second, value = f"({a} {sign} {b}) {times} {c}", f"{a} {sign} {b} = {plus(a, b)}", f"{plus(a, b)} x {c}", plus(a, b) * c
    return casual(rng.choice(OPENINGS).format(x=text), rng), f"First {first}.\nThen {second} = {value}.\nThe answer is {value}.", value


def little(rng: random.Random) -> tuple[str, str, int | None]:
    """Neighbours, rows of numbers, even or odd, rounding."""
    kind = rng.randrange(4)
    a = rng.randint(0, rng.choice([20, 99, 999]))
    if kind == 0:
        after = rng.random() < 0.5
        return casual(f"What number comes {'after' if after else 'before'} {a + 1}?", rng), f"The answer is {a + 2 if after else a}.", a + 2 if after else a
    if kind == 1:
        step = rng.randint(1, 12)
        row = [a + step * place for place in range(rng.randint(3, 5))]
        ask = rng.choice(["What comes next: {}?", "What is the next number: {}, ...?", "Continue the row: {}", "{}, ... what comes next?"])
        value = row[-1] + step
        return casual(ask.format(", ".join(map(str, row))), rng), f"Each number is {step} more than the one before.\n{row[-1]} + {step} = {value}.\nThe answer is {value}.", value
    if kind == 2:
        ask = rng.choice(["Is {} even or odd?", "Is {} an even or an odd number?", "Is the number {} even or odd?"])
        return casual(ask.format(a), rng), f"The last digit of {a} is {a % 10}, so {a} is {'odd' if a % 2 else 'even'}.", None
    unit = rng.choice([10, 100])
    value = (a + unit // 2) // unit * unit
    return casual(f"Round {a} to the nearest {'ten' if unit == 10 else 'hundred'}.", rng), f"The answer is {value}.", value
