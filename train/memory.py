"""Conversations in which something is told and asked for some turns later."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from typing import Callable, NamedTuple

from train import words
from train.exchanges import SHORT, Exchange, any_exchange
from train.held import Answer, Held
from train.languages import FOREIGN_NAMES
from train.wording import vary

Values = dict[str, str]
Message = dict[str, str | int]
ASKED_WORTH = 6  # of an answer about what was told: a few tokens among many that need no memory


class Turn(NamedTuple):
    """What the user says, what the model says, and how much the latter counts."""

    asked: str
    said: str
    worth: int = 1


@dataclass
class Asked:
    """A question about a told thing, its answer, and the values that must be in it."""

    questions: list[str]
    answer: str
    needs: list[str]


@dataclass
class Kind:
    """Something that people tell about themselves or others."""

    name: str
    make: Callable[[random.Random], Values]
    told: list[str]
    asked: list[Asked]
    replies: list[str]


PETS = "cat dog rabbit hamster parrot turtle fish horse pony mouse bird snake goat hen duck lizard frog".split()
PET_NAMES = """Rex Bella Max Luna Coco Charlie Milo Daisy Rocky Molly Buddy Lola Bruno Nala Oscar Ruby Simba Cleo Felix Misty Shadow Ginger Pepper Smokey Tiger Snowy Biscuit Peanut Teddy Rusty
Whiskers Pixel Mango Waffles Noodle Pickles Ziggy Toffee Hazel Olive Pippin Maple Cookie Sunny Lucky""".split()
RELATIVES = "sister brother mother father friend cousin aunt uncle neighbor teacher boss daughter son wife husband grandmother grandfather coach doctor roommate colleague".split()
FAVOURITES = {"color": words.COLOURS, "food": words.FOODS + ["pizza", "sushi", "pancakes", "lasagna", "curry", "tacos"], "animal": words.ANIMALS, "fruit": words.FRUITS, "hobby": words.HOBBIES, "day": words.DAYS, "month": words.MONTHS, "city": words.CITIES,
              "drink": ["tea", "coffee", "milk", "lemonade", "apple juice", "hot chocolate", "water"], "season": ["spring", "summer", "autumn", "winter"], "sport": ["tennis", "football", "basketball", "swimming", "hockey", "running", "rugby"],
              "number": [str(number) for number in range(1, 100)], "subject": ["history", "biology", "music", "art", "geography", "physics", "chemistry"], "flower": ["rose", "tulip", "daisy", "lily", "sunflower", "orchid"]}
APPOINTMENTS = ["dentist", "doctor", "hairdresser", "vet", "lawyer", "bank", "job interview", "piano lesson", "meeting with the team", "parents' evening", "yoga class", "driving lesson", "swimming class", "book club", "haircut"]
SPOTS = ["in the drawer", "under the bed", "on the shelf", "in the kitchen", "behind the sofa", "in the car", "on the desk", "in the blue box", "under the stairs", "in the garage", "next to the lamp", "in my coat", "in the garden", "on the roof", "in the cellar"]
THINGS = ["key", "passport", "wallet", "notebook", "umbrella", "phone", "ticket", "camera", "hat", "watch", "book", "charger", "letter", "money", "ring", "bag", "pen", "scarf", "laptop", "map"]
INSTRUMENTS = "piano guitar violin drums flute cello trumpet harp saxophone clarinet".split()
VEHICLES = ["car", "bike", "van", "truck", "motorbike", "boat", "scooter"]
PLANS = ["paint the kitchen", "visit my aunt", "clean the garage", "plant tomatoes", "buy a new lamp", "wash the car", "bake a cake", "go to the museum", "fix the roof", "write a letter", "go fishing", "see a film", "repair my bike", "call my cousin"]
CODES = ["locker code", "door code", "wifi password", "ticket number", "order number", "room number", "flight number", "membership number", "PIN for the bike lock", "booking code"]


def person(rng: random.Random) -> str:
    return rng.choice(FOREIGN_NAMES) if rng.random() < 0.06 else rng.choice(words.GIRLS + words.BOYS) if rng.random() < 0.5 else words.first_name(rng)


def code_of(rng: random.Random) -> str:
    return rng.choice([str(rng.randint(100, 9999)), words.code(rng), words.invented_word(rng) + str(rng.randint(1, 99)), f"{rng.randint(1, 9)}{rng.choice('ABCDEF')}{rng.randint(10, 99)}"])


def favourite(rng: random.Random) -> Values:
    what = rng.choice(list(FAVOURITES))
    return {"w": what, "v": rng.choice(FAVOURITES[what])}


SHE, HE = {"sister", "mother", "aunt", "daughter", "wife", "grandmother"}, {"brother", "father", "uncle", "son", "husband", "grandfather"}


def their_pet(rng: random.Random) -> Values:
    relative = rng.choice(RELATIVES)
    return {"r": relative, "n": related(rng, relative), "a": rng.choice(PETS), "v": rng.choice(PET_NAMES)}


GOOD = ["Thank you for telling me.", "I will remember that.", "Good to know.", "Got it.", "Noted.", "Okay, I will keep that in mind."]
KINDS = [
    Kind("name", lambda rng: {"v": person(rng)}, ["My name is {v}.", "I'm {v}.", "I am {v}.", "Call me {v}.", "Hi, my name is {v}!", "Hello, I'm {v}.", "You can call me {v}.", "Hi! I am {v}.", "My name's {v}.", "Hello! My name is {v}.", "People call me {v}.", "{v} is my name.", "I go by {v}.",
          "My name is {v}, nice to meet you.", "Let me introduce myself: I am {v}."],
         [Asked(["What is my name?", "Do you remember my name?", "Who am I?", "What's my name?", "What did I say my name was?", "Tell me my name.", "Do you know my name?", "Can you tell me my name?", "How am I called?", "What is my name again?", "Please say my name.", "By what name should you call me?",
                 "Say my name.", "What did I tell you my name is?", "I forgot, what is my name?", "Do you still know my name?", "What was my name?", "Remind me of my name."], "Your name is {v}.", ["v"])],
         ["Nice to meet you, {v}!", "Hello, {v}! How can I help you?", "Hi {v}, nice to meet you!", "Nice to meet you, {v}! How can I help you?"]),
    Kind("pet", lambda rng: {"a": rng.choice(PETS), "v": rng.choice(PET_NAMES) if rng.random() < 0.7 else person(rng)}, ["I have a {a} named {v}.", "My {a} is called {v}.", "I have a {a}. Its name is {v}.", "My {a}'s name is {v}.", "I just got a {a} called {v}.", "We have a {a} at home, {v}.", "At home I have a {a}, and its name is {v}."],
         [Asked(["What is my {a}'s name?", "What is the name of my {a}?", "How is my {a} called?", "What is my {a} called?", "What's my {a} called?", "Do you remember the name of my {a}?", "What is my pet's name?", "What is my pet called?", "Tell me the name of my {a}.", "What did I call my {a}?", "What was the name of my {a}?"], "Your {a} is called {v}.", ["v"]),
          Asked(["What pet do I have?", "What kind of animal is {v}?", "Which animal do I have?", "What animal do I have?", "Who is {v}?", "Do I have a pet?"], "You have a {a} named {v}.", ["a"])],
         ["{v} is a nice name for a {a}!", "A {a} named {v}, how nice!", "How lovely! Say hello to {v}."]),
    Kind("favourite", favourite, ["My favorite {w} is {v}.", "My favourite {w} is {v}.", "The {w} I like best is {v}.", "I think {v} is the best {w}. It is my favorite.", "{v} is my favorite {w}.", "As for {w}, my favorite is {v}."],
         [Asked(["What is my favorite {w}?", "What is my favourite {w}?", "Which {w} do I like best?", "What's my favorite {w}?", "Do you remember my favorite {w}?", "Tell me my favorite {w}.", "What did I say my favorite {w} is?", "Which {w} is my favorite?", "Can you recall my favorite {w}?", "Remind me, what is my favorite {w}?"], "Your favorite {w} is {v}.", ["v"])],
         ["{v} is a good choice!"] + GOOD),
    Kind("home", lambda rng: {"v": words.city(rng)}, ["I live in {v}.", "I'm from {v}.", "My home is in {v}.", "I moved to {v} last year.", "I come from {v}.", "I live in {v} with my family.", "My house is in {v}.", "I am living in {v}."],
         [Asked(["Where do I live?", "In which city do I live?", "Where is my home?", "Which city do I live in?", "Where am I from?", "Do you remember where I live?", "What city am I from?", "Tell me where I live.", "Where did I say I live?", "Do you know where I live?"], "You live in {v}.", ["v"])],
         ["{v} is a nice place!", "I have heard of {v}."] + GOOD),
    Kind("job", lambda rng: {"v": rng.choice(words.JOBS)}, ["I work as a {v}.", "I am a {v}.", "My job is {v}.", "I'm a {v}.", "I have worked as a {v} for years.", "I earn my money as a {v}."],
         [Asked(["What is my job?", "What do I do for a living?", "What do I work as?", "What's my job?", "Do you remember my job?", "What is my profession?", "What work do I do?", "Tell me what I do for work.", "What did I say my job is?"], "You are a {v}.", ["v"])], ["That is a good job!"] + GOOD),
    Kind("age", lambda rng: {"v": str(rng.randint(5, 90))}, ["I am {v} years old.", "I'm {v}.", "I just turned {v}.", "I'm {v} years old.", "My age is {v}.", "I will soon be older, but now I am {v} years old."],
         [Asked(["How old am I?", "What is my age?", "What's my age?", "Do you remember how old I am?", "Tell me my age.", "How old did I say I am?"], "You are {v} years old.", ["v"])], GOOD),
    Kind("birthday", lambda rng: {"v": words.date(rng)}, ["My birthday is on {v}.", "I was born on {v}.", "My birthday is {v}.", "I celebrate my birthday on {v}."],
         [Asked(["When is my birthday?", "What day is my birthday?", "When was I born?", "On which day is my birthday?", "Do you remember my birthday?", "Tell me when my birthday is."], "Your birthday is on {v}.", ["v"])], GOOD),
    Kind("relative", lambda rng: {"r": rng.choice(RELATIVES), "v": person(rng)}, ["My {r} is called {v}.", "My {r}'s name is {v}.", "I have a {r} named {v}.", "{v} is my {r}.", "The name of my {r} is {v}.", "My {r} is {v}."],
         [Asked(["What is my {r}'s name?", "What is the name of my {r}?", "How is my {r} called?", "What is my {r} called?", "What's my {r}'s name?", "Do you remember the name of my {r}?", "Who is my {r}?", "Tell me my {r}'s name."], "Your {r} is called {v}.", ["v"]),
          Asked(["Who is {v}?", "Do you remember who {v} is?", "How do I know {v}?"], "{v} is your {r}.", ["r"])], GOOD),
    Kind("their pet", their_pet, ["My {r} {n} has a {a} called {v}.", "My {r} {n} has a {a} named {v}.", "{n}, my {r}, has a {a}. It is called {v}.", "I have a {r} called {n}, and {n} has a {a} called {v}.", "My {r} is called {n}, and the {a} is called {v}.", "My {r} {n} just got a {a}, {v}."],
         [Asked(["What is my {r}'s {a} called?", "What is the name of my {r}'s {a}?", "How is {n}'s {a} called?", "What is {n}'s {a} called?", "Tell me the name of my {r}'s {a}."], "Your {r}'s {a} is called {v}.", ["v"]), Asked(["What is my {r} called?", "What is my {r}'s name?", "Who is my {r}?", "How is my {r} called?"], "Your {r} is called {n}.", ["n"]),
          Asked(["Who is {v}?", "Do you know who {v} is?"], "{v} is the {a} of your {r} {n}.", ["a", "r"]), Asked(["Who is {n}?", "Do you remember who {n} is?"], "{n} is your {r}.", ["r"]), Asked(["Which animal does my {r} have?", "What pet does {n} have?", "What animal does {n} have?"], "Your {r} {n} has a {a}.", ["a"]),
          Asked(["Whose {a} is {v}?", "Who has a {a} called {v}?"], "{v} is the {a} of your {r} {n}.", ["n"])], GOOD),
    Kind("their place", lambda rng: {"r": rng.choice(RELATIVES), "v": words.city(rng)}, ["My {r} lives in {v}.", "My {r} moved to {v}.", "My {r} has a house in {v}.", "My {r} is from {v}."],
         [Asked(["Where does my {r} live?", "In which city does my {r} live?", "Do you remember where my {r} lives?", "Where is my {r}'s home?"], "Your {r} lives in {v}.", ["v"])], GOOD),
    Kind("code", lambda rng: {"c": rng.choice(CODES), "v": code_of(rng)}, ["My {c} is {v}.", "The {c} is {v}.", "Remember this: my {c} is {v}.", "Please remember that my {c} is {v}.", "Note my {c}: {v}", "My {c} is {v}, don't forget it."],
         [Asked(["What is my {c}?", "What is the {c}?", "Tell me my {c}.", "What was my {c}?", "Do you remember my {c}?", "I forgot my {c}. What is it?", "Which {c} did I tell you?", "What's my {c}?"], "Your {c} is {v}.", ["v"])], GOOD),
    Kind("number", lambda rng: {"v": str(rng.randint(1, 999))}, ["Remember the number {v}.", "My lucky number is {v}.", "The secret number is {v}.", "Please remember the number {v}.", "Keep this number in mind: {v}", "The number is {v}."],
         [Asked(["What was the number?", "Which number did I tell you?", "What number did I ask you to remember?", "Tell me the number.", "What is the number?", "Do you remember the number?", "What is the number that I told you?"], "The number is {v}.", ["v"])], GOOD),
    Kind("word", lambda rng: {"v": rng.choice(words.THINGS + words.ANIMALS + words.FRUITS) if rng.random() < 0.7 else words.invented_word(rng)}, ["Remember the word {v}.", "The secret word is {v}.", "Please remember this word: {v}", "The password is {v}.", "Keep the word {v} in mind."],
         [Asked(["What was the word?", "Which word did I tell you?", "What word did I ask you to remember?", "Tell me the word.", "What is the word?", "Do you remember the word?", "What was the secret word?"], "The word is {v}.", ["v"])], GOOD),
    Kind("appointment", lambda rng: {"e": rng.choice(APPOINTMENTS), "d": rng.choice(words.DAYS), "v": words.clock(rng)}, ["I have an appointment on {d} at {v}: {e}.", "On {d} at {v} is my {e} appointment.", "My {e} appointment is on {d} at {v}.", "Note: {e}, {d} at {v}", "I must not forget the {e} appointment on {d} at {v}."],
         [Asked(["When is my {e} appointment?", "When is my appointment?", "Do you remember when my {e} appointment is?", "Tell me when my appointment is.", "On which day and at what time is my appointment?"], "Your {e} appointment is on {d} at {v}.", ["d", "v"]),
          Asked(["At what time is my appointment?", "What time is my {e} appointment?"], "Your {e} appointment is at {v}.", ["v"]), Asked(["On which day is my appointment?", "What day is my {e} appointment?"], "Your {e} appointment is on {d}.", ["d"]),
          Asked(["What do I have on {d}?", "What is on {d} at {v}?", "What is my plan for {d}?"], "On {d} at {v} you have your {e} appointment.", ["e"])], GOOD),
    Kind("spot", lambda rng: {"t": rng.choice(THINGS), "v": rng.choice(SPOTS)}, ["I put my {t} {v}.", "I left my {t} {v}.", "My {t} should be {v}. I just put it there.", "Please remember: the {t} I need is {v}.", "I hid my {t} {v}."],
         [Asked(["Where is my {t}?", "Where did I put my {t}?", "Where did I leave my {t}?", "Where can I find my {t}?", "Do you remember where I put my {t}?", "I can't find my {t}. Where is it?"], "You put your {t} {v}.", ["v"])], GOOD),
    Kind("instrument", lambda rng: {"v": rng.choice(INSTRUMENTS)}, ["I play the {v}.", "I am learning the {v}.", "I have played the {v} since I was a child.", "I take {v} lessons."],
         [Asked(["Which instrument do I play?", "What instrument do I play?", "What do I play?", "Do you remember which instrument I play?"], "You play the {v}.", ["v"])], GOOD),
    Kind("vehicle", lambda rng: {"k": rng.choice(VEHICLES), "v": rng.choice(words.COLOURS)}, ["I have a {v} {k}.", "My {k} is {v}.", "I bought a {v} {k}.", "The color of my {k} is {v}."],
         [Asked(["What color is my {k}?", "What colour is my {k}?", "Which color does my {k} have?", "Do you remember the color of my {k}?"], "Your {k} is {v}.", ["v"])], GOOD),
    Kind("plan", lambda rng: {"d": rng.choice(words.DAYS), "v": rng.choice(PLANS)}, ["On {d} I want to {v}.", "I plan to {v} on {d}.", "I will {v} on {d}.", "My plan for {d}: {v}"],
         [Asked(["What do I want to do on {d}?", "What is my plan for {d}?", "What will I do on {d}?", "Do you remember my plan for {d}?", "What did I plan?"], "You want to {v} on {d}.", ["v"])], ["That sounds good!"] + GOOD),
    Kind("list", lambda rng: {"v": words.listing(rng.sample(words.FOODS, rng.randint(2, 4)))}, ["I need to buy {v}.", "My shopping list: {v}", "I have to get {v} at the store.", "Put this on my shopping list: {v}"],
         [Asked(["What do I need to buy?", "What is on my shopping list?", "What did I want to buy?", "Tell me my shopping list.", "What do I have to get at the store?"], "You need to buy {v}.", ["v"])], GOOD),
    Kind("liking", lambda rng: {"v": rng.choice(words.HOBBIES)}, ["I like {v}.", "I love {v}.", "In my free time I enjoy {v}.", "My hobby is {v}.", "I really like {v}."],
         [Asked(["What do I like?", "What is my hobby?", "What do I do in my free time?", "What do I enjoy?", "Which hobby do I have?", "What did I say I like?"], "You like {v}.", ["v"])], ["{v} is fun!"] + GOOD),
    Kind("school", lambda rng: {"v": words.company(rng)}, ["I work at {v}.", "My company is {v}.", "I work for {v}."], [Asked(["Where do I work?", "Which company do I work for?", "What is my company called?", "For whom do I work?"], "You work at {v}.", ["v"])], GOOD),
]
# Said of two or three people at once: what is said of one of them, questions for it, the question for who it is, and the values.
SHARED = [("{x} lives in {y}.", ["Where does {x} live?", "In which city does {x} live?"], "Who lives in {y}?", words.city),
          ("{x} likes {y}.", ["What does {x} like?", "Do you know what {x} likes?"], "Who likes {y}?", lambda rng: rng.choice(words.FOODS + words.HOBBIES)),
          ("{x} has a {y}.", ["What does {x} have?", "Which animal does {x} have?"], "Who has a {y}?", lambda rng: rng.choice(PETS)),
          ("{x} is {y} years old.", ["How old is {x}?", "What is {x}'s age?"], "Who is {y} years old?", lambda rng: str(rng.randint(3, 80))),
          ("{x} is a {y}.", ["What is {x}'s job?", "What does {x} work as?", "What does {x} do?"], "Who is a {y}?", lambda rng: rng.choice(words.JOBS)),
          ("{x}'s favorite color is {y}.", ["What is {x}'s favorite color?", "Which color does {x} like best?"], "Whose favorite color is {y}?", lambda rng: rng.choice(words.COLOURS)),
          ("{x} comes on {y}.", ["When does {x} come?", "On which day does {x} come?"], "Who comes on {y}?", lambda rng: rng.choice(words.DAYS)),
          ("{x} has a {y} bike.", ["What color is {x}'s bike?", "Which color has the bike of {x}?"], "Who has a {y} bike?", lambda rng: rng.choice(words.COLOURS)),
          ("{x} plays the {y}.", ["What does {x} play?", "Which instrument does {x} play?"], "Who plays the {y}?", lambda rng: rng.choice(INSTRUMENTS)),
          ("{x}'s birthday is in {y}.", ["When is {x}'s birthday?", "In which month is the birthday of {x}?"], "Whose birthday is in {y}?", lambda rng: rng.choice(words.MONTHS)),
          ("{x} works at {y}.", ["Where does {x} work?", "Which company does {x} work for?"], "Who works at {y}?", words.company),
          ("{x} has room {y}.", ["Which room does {x} have?", "What is the room of {x}?"], "Who has room {y}?", lambda rng: str(rng.randint(1, 400))),
          ("{x} wants {y}.", ["What does {x} want?", "What did {x} order?"], "Who wants {y}?", lambda rng: rng.choice(FAVOURITES["drink"] + words.FOODS)),
          ("{x} arrives at {y}.", ["When does {x} arrive?", "At what time does {x} arrive?"], "Who arrives at {y}?", words.clock),
          ("{x} has a cat called {y}.", ["What is {x}'s cat called?", "How is the cat of {x} called?"], "Who has a cat called {y}?", lambda rng: rng.choice(PET_NAMES)),
          ("{x} bought a {y}.", ["What did {x} buy?", "Do you remember what {x} bought?"], "Who bought a {y}?", lambda rng: rng.choice(THINGS))]
JOINED = [" and ", ", and ", ", but ", ", while ", ". ", "; ", ", ", ". And "]
CORRECTIONS = ["No, it is {v}.", "Sorry, I meant {v}.", "Wait, that was wrong. It is {v}.", "Correction: it is {v}, not {o}.", "I made a mistake. It is {v}.", "Actually, it is {v}.", "No, {v}, not {o}.", "That is wrong, it's {v}."]
CORRECTED = ["Thank you, I have noted the change: {v}.", "Okay, {v} then.", "Got it, {v}."]
FIRST_ASKED = ["What did I ask you first?", "What was my first question?", "What was the first thing I asked?", "What was my first message?", "Which question did I ask first?", "What did I say first?"]
ALL_ASKED = ["What did I tell you?", "What do you know from me so far?", "What have I told you so far?", "Summarize what I told you.", "What do you remember?", "Repeat what I told you."]
LAST_ASKED = ["What did I just ask?", "What was my last question?", "What did I ask you before this?", "Repeat my last question.", "What was my previous message?"]
UNTOLD = {"name": "your name", "pet": "about a pet", "home": "where you live", "age": "your age", "job": "your job", "birthday": "your birthday"}


@dataclass
class Told:
    """What was told, how the model replied, and what can be asked of it."""

    text: str
    reply: str
    asked: list[tuple[str, str, list[str]]]  # question, answer, values that must occur
    later: list[Turn]  # a correction in a turn of its own
    people: int = 1  # of how many people it is told, each with two questions


def related(rng: random.Random, relative: str) -> str:
    """A name that fits."""
    return rng.choice(words.GIRLS if relative in SHE else words.BOYS if relative in HE else words.FIRST_NAMES)


def single(rng: random.Random) -> Told:
    """Something about one other person."""
    fact, which, who, make = rng.choice(SHARED)
    name, value = person(rng), make(rng)
    said = fact.format(x=name, y=value)
    told = rng.choice(["{}", "Remember: {}", "You should know that {}", "By the way, {}", "Please note that {}"]).format(said)
    return Told(told, rng.choice(GOOD), [(rng.choice(which).format(x=name), said, [value]), (who.format(y=value), said, [name])], [])


def several(rng: random.Random, count: int = 0) -> Told:
    """The same kind of thing about two or three people in one message, or about so many."""
    fact, which, who, make = rng.choice(SHARED)
    count = count or rng.choices([2, 3], weights=[4, 1])[0]
    names = rng.sample(words.FIRST_NAMES, count)
    values: list[str] = []
    while len(values) < count:
        value = make(rng)
        if value not in values:
            values.append(value)
    called = list(names)
    if rng.random() < 0.3:
        relatives = rng.sample(RELATIVES, count)
        names = []
        while len(set(names)) < count:
            names = [related(rng, one) for one in relatives]
        called = [f"my {one} {name}" for one, name in zip(relatives, names)]
    said = [fact.format(x=name, y=value) for name, value in zip(names, values)]
    asked = [question for name, value, one in zip(names, values, said) for question in ((rng.choice(which).format(x=name), one, [value]), (who.format(y=value), one, [name]))]
    parts = [fact.format(x=name, y=value)[:-1] for name, value in zip(called, values)]
    joint = rng.choice(JOINED)
    text = (", ".join(parts[:-1]) if joint not in (". ", ". And ") else ". ".join(part[0].upper() + part[1:] for part in parts[:-1])) + joint + (parts[-1][0].upper() + parts[-1][1:] if joint == ". " else parts[-1]) + "."
    return Told(text[0].upper() + text[1:], rng.choice(GOOD), asked, [], count)


def own(rng: random.Random, kind: Kind) -> Told:
    values = kind.make(rng)
    told = rng.choice(kind.told).format(**values)
    reply = (rng.choice(kind.replies) if rng.random() < 0.7 else rng.choice(GOOD)).format(**values)
    later: list[Turn] = []
    if "v" in values and kind.name not in ("list", "plan", "spot", "appointment") and rng.random() < 0.14:
        new = kind.make(rng)["v"] if kind.name != "favourite" else rng.choice(FAVOURITES[values["w"]])
        if new != values["v"]:
            later = [Turn(rng.choice(CORRECTIONS).format(v=new, o=values["v"]), rng.choice(CORRECTED).format(v=new))]
            values["v"] = new
    told = told[0].upper() + told[1:]
    asked = [(rng.choice(one.questions).format(**values), one.answer.format(**values), [values[name] for name in one.needs]) for one in kind.asked]
    return Told(told, reply[0].upper() + reply[1:], asked, later)


def tellings(rng: random.Random, count: int) -> list[Told]:
    """Things of different kinds, so that no question fits two."""
    kinds = rng.sample(KINDS, count)
    names = {kind.name for kind in kinds}
    if len({"relative", "their place", "their pet"} & names) > 1 or {"pet", "their pet"} <= names or {"job", "school"} <= names or {"number", "code", "word"} & names and len({"number", "code", "word"} & names) > 1:
        kinds = kinds[:1]
    found = [own(rng, kind) for kind in kinds]
    return [several(rng) if rng.random() < 0.8 else single(rng)] if count == 1 and rng.random() < 0.5 else found


def summary(told: list[Told], rng: random.Random) -> tuple[str, str, list[str]]:
    """All that was told."""
    first = [one.asked[2 * number] for one in told for number in range(one.people)]
    return rng.choice(ALL_ASKED), " ".join(answer for _, answer, _ in first), [value for _, _, needs in first for value in needs]


def between(rng: random.Random, count: int) -> list[Exchange]:
    return [any_exchange(rng, SHORT) for _ in range(count)]


def messages_of(turns: list[Turn]) -> list[Message]:
    return [message for asked, said, worth in turns for message in ({"role": "user", "content": asked}, {"role": "assistant", "content": said, "worth": worth})]


def quoted(rng: random.Random) -> tuple[list[Turn], list[str]]:
    """Turns of which the first or the last is asked for."""
    found = [one for one in between(rng, rng.randint(1, 6)) if len(one.question) < 140 and "\n" not in one.question]
    found = found or [Exchange("Hello!", "Hello! How can I help you?", "")]
    is_first = rng.random() < 0.6
    question = rng.choice(FIRST_ASKED if is_first else LAST_ASKED)
    about = found[0 if is_first else -1].question
    answer = f'Your {"first" if is_first else "last"} message was: "{about}"'
    return [*(Turn(one.question, one.answer) for one in found), Turn(vary(question, rng), answer)], [f"memory {question} {about}", *(one.key for one in found if one.key)]


def remembered(rng: random.Random) -> tuple[list[Turn], list[str], list[str]]:
    """Turns that end in a question about what was told, the keys, and the values asked for."""
    told = tellings(rng, rng.choices([1, 2, 3], weights=[6, 3, 1])[0])
    keys: list[str] = []
    turns: list[Turn] = []
    for one in between(rng, rng.choices([0, 1, 2], weights=[7, 2, 1])[0]):
        turns.append(Turn(one.question, one.answer))
        keys.append(one.key)
    for one in told:
        if rng.random() < 0.18:
            task = any_exchange(rng, SHORT)
            keys.append(task.key)
            turns.append(Turn(f"{one.text} {task.question}", task.answer))
        else:
            turns.append(Turn(vary(one.text, rng, keeps_case=True), one.reply))
        turns += one.later
    for _ in range(rng.choices([1, 2, 3], weights=[4, 3, 2])[0]):
        new = [one for fact in told for one in fact.asked if f"memory {one[0]} {one[1]}" not in keys]
        if not new:
            break
        for task in between(rng, rng.choices([0, 1, 2, 3, 4, 5], weights=[5, 4, 3, 3, 2, 2])[0]):
            turns.append(Turn(task.question, task.answer))
            keys.append(task.key)
        question, answer, needs = summary(told, rng) if rng.random() < 0.06 else rng.choice(new)
        turns.append(Turn(vary(question, rng, keeps_case=True), answer, ASKED_WORTH))
        keys.insert(0, f"memory {question} {answer}")
    return turns, [key for key in keys if key], needs


def drill(rng: random.Random) -> tuple[list[Turn], list[str]]:
    """Several people at once, and a question behind the other: who it was is asked more often than what it was, which is the harder way round."""
    told = several(rng, rng.choice([2, 3, 3, 4, 5]))
    turns, keys = [Turn(vary(told.text, rng, keeps_case=True), told.reply), *told.later], []
    asked = [one for number, one in enumerate(told.asked) if number % 2 == 1 or rng.random() < 0.3]
    for question, answer, _ in rng.sample(asked, len(asked)):
        if f"memory {question} {answer}" in keys:
            continue
        turns.append(Turn(vary(question, rng, keeps_case=True), answer, ASKED_WORTH))
        keys.append(f"memory {question} {answer}")
    return turns, keys


def untold(rng: random.Random) -> tuple[list[Turn], list[str]]:
    """Something is asked for that was not told, though other things were."""
    name = rng.choice(list(UNTOLD))
    missing = next(kind for kind in KINDS if kind.name == name)
    other = rng.choice([kind for kind in KINDS if kind.name in ("favourite", "number", "vehicle", "instrument", "code", "list")])
    told = own(rng, other)
    question = rng.choice([one for one in missing.asked[0].questions if "{" not in one])
    answer = f"You have not told me {UNTOLD[name]}."
    return [Turn(told.text, told.reply), *told.later, Turn(vary(question, rng), answer)], [f"memory untold {told.text} {question}"]


def conversation(rng: random.Random) -> tuple[list[Message], list[str]]:
    """A conversation and the keys that decide its split, its own first."""
    kind = rng.random()
    if kind < 0.08:
        turns, keys = quoted(rng)
    elif kind < 0.14:
        turns, keys = untold(rng)
    elif kind < 0.4:
        turns, keys = drill(rng)
    else:
        turns, keys, _ = remembered(rng)
    return messages_of(turns), keys


def plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def held_fact(rng: random.Random) -> Held:
    turns, keys, needs = remembered(rng)

    def right(answer: Answer) -> bool:
        said = f" {plain(answer.text)} "
        return not answer.calls and len(answer.text) < 200 and all(f" {plain(need)} " in said for need in needs)

    return Held(keys[0], messages_of(turns)[:-1], right)
