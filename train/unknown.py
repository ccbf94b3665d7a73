"""Questions that the model can't answer: live data, the future, private or obscure facts, deeds without a tool. It says so."""

from __future__ import annotations

import random
import re

from train import facts, words
from train.held import Answer, Held
from train.wording import vary

TEAMS = "Lions Tigers Bears Eagles Wolves Sharks Hawks United Rovers City Rangers Kings Stars Falcons Bulls Giants".split()
SPORTS = "football basketball tennis hockey baseball chess cricket rugby volleyball swimming".split()
WHEN = ["yesterday", "last night", "last week", "today", "this morning", "last weekend", "on Sunday", "last month", "this year", "two days ago"]
SOON = ["tomorrow", "next week", "next month", "next year", "in 2030", "in 2040", "in ten years", "next Friday", "on Monday", "this weekend", "in the future", "tonight"]
LIVE = ["weather", "temperature", "air quality", "traffic", "news"]
COINS = ["bitcoin", "gold", "silver", "oil", "gas", "coffee", "one euro in dollars", "a barrel of oil"]
EVENTS = ["the election", "the world cup", "the race", "the lottery", "the match", "the final", "the championship", "the song contest", "the cup", "the next game"]
OWN_THINGS = ["breakfast", "lunch", "dinner"]
KEPT = ["keys", "glasses", "phone", "wallet", "book", "umbrella", "passport", "shoes", "watch", "bag", "hat", "notebook", "ticket", "charger"]
MY = ["birthday", "phone number", "address", "password", "shoe size", "bank balance", "favorite color", "favorite food", "best friend", "middle name", "job", "age", "email address", "sister", "dog's name",
      "cat's name", "teacher's name", "car", "appointment", "hometown", "hobby", "last name"]
PRIVATE = ["phone number", "address", "birthday", "salary", "email address", "favorite food", "middle name", "password", "shoe size", "bank account", "wife", "mother's name", "car", "job", "age", "height"]
OFFICES = ["mayor", "king", "president", "queen", "police chief", "head teacher", "prime minister", "bishop", "governor"]
OBSCURE = ["invented the {thing}", "built the first {thing}", "painted the oldest picture in {city}", "designed the main station of {city}", "wrote the book {title}", "composed the song {title}",
           "directed the film {title}", "owns the company {company}", "founded {company}", "discovered the lake near {city}", "was born in {city} in {year}", "played the main part in {title}",
           "won the Nobel prize for chemistry in {year}", "lives at {number} {street} Street in {city}", "wrote the poem {title}", "scored the first goal for the {team} in {year}"]
NUMBERS = ["How many people live in {city}?", "How many {things} are there in {city}?", "How tall is the tower of {city}?", "How many streets does {city} have?", "What was the population of {city} in {year}?",
           "How long is the river near {city}?", "How many books are in the library of {city}?", "How many {things} were sold in {country} in {year}?", "How much does a {thing} weigh in {city}?", "How old is the bridge of {city}?",
           "How many employees does {company} have?", "How much money did {company} make in {year}?", "When was {company} founded?", "When was {full} born?", "When did {full} die?", "In which year was the bridge of {city} built?",
           "What is the zip code of {city}?", "What is the phone number of {company}?", "How deep is the lake of {city}?", "How many rooms does the castle of {city} have?"]
DEEDS = ["open the website {site}", "send an email to {name}", "call {name}", "play the song {title}", "order {food} for me", "book a flight to {city}", "turn on the lights", "set an alarm for {clock}", "take a photo",
         "pay my bill", "read my emails", "open the file {file}", "delete the file {file}", "buy a {thing} for me", "send a message to {name}", "search the web for {things}", "download {title}", "start my car", "book a table for {number}",
         "print the page", "check my calendar", "turn off the heating", "show me a video of {things}", "drive me to {city}", "look up {company} on the internet", "remind me at {clock}", "transfer {number} dollars to {name}"]

# Known to many, but in none of the model's tables.
INVENTIONS = ["telephone", "light bulb", "steam engine", "airplane", "radio", "television", "printing press", "computer mouse", "microscope", "telescope", "zipper", "bicycle", "camera", "elevator", "refrigerator", "compass", "dynamite", "vaccine", "battery", "piano", "sewing machine", "helicopter", "internet", "pencil"]
HAPPENINGS = ["World War 1", "World War 2", "the French Revolution", "the Cold War", "the Middle Ages", "the Roman Empire", "the American Civil War", "the Stone Age", "the Renaissance", "the Ming dynasty", "the Thirty Years' War", "the Industrial Revolution", "the Vietnam War", "the Black Death", "the first moon landing", "the Great Depression"]
ELEMENTS = "gold iron silver copper oxygen helium carbon sodium potassium calcium neon lead tin zinc mercury uranium nickel chlorine sulfur silicon".split()
SIGHTS = ["the Eiffel Tower", "the Great Wall", "Big Ben", "the Statue of Liberty", "the Colosseum", "the Taj Mahal", "Mount Fuji", "Machu Picchu", "the Golden Gate Bridge", "the Pyramids", "Stonehenge", "the Louvre", "the Kremlin", "Niagara Falls", "Mont Blanc", "the Burj Khalifa", "the Brooklyn Bridge", "Kilimanjaro", "the Suez Canal", "the Tower of Pisa"]
WORKS = ["Don Quixote", "War and Peace", "the Odyssey", "Moby Dick", "Pride and Prejudice", "the Mona Lisa", "the Starry Night", "Guernica", "Faust", "Hamlet", "the Divine Comedy", "Robinson Crusoe", "Frankenstein", "Dracula", "the Magic Flute", "the Four Seasons", "Crime and Punishment", "Oliver Twist", "Alice in Wonderland", "the Trial", "1984", "Dune", "Ulysses"]
FAMOUS = ["Albert Einstein", "Isaac Newton", "Marie Curie", "Napoleon", "Julius Caesar", "Cleopatra", "Mozart", "Beethoven", "Leonardo da Vinci", "Galileo", "Aristotle", "Plato", "Gandhi", "Nelson Mandela", "Abraham Lincoln", "George Washington", "Queen Victoria", "Charles Darwin", "Picasso", "Van Gogh", "Columbus", "Marco Polo", "Nikola Tesla", "Thomas Edison", "Alan Turing",
          "Ada Lovelace", "Confucius", "Genghis Khan", "Joan of Arc", "Karl Marx", "Sigmund Freud", "Charlie Chaplin", "Elvis Presley", "Goethe", "Tolstoy", "Bach", "Rembrandt", "Socrates", "Alexander the Great", "Winston Churchill"]
CONCEPTS = ["quantum physics", "the theory of relativity", "blockchain", "democracy", "inflation", "evolution", "DNA", "a black hole", "machine learning", "capitalism", "philosophy", "electricity", "magnetism", "the immune system", "a mortgage", "plate tectonics", "a neural network", "cryptography", "thermodynamics", "entropy", "a virus", "the stock market", "socialism", "a constitution", "an algorithm", "calculus",
            "algebra", "a hormone", "nuclear fusion", "an enzyme", "globalization", "artificial intelligence", "the greenhouse effect", "a galaxy", "an atom", "radiation", "a transistor", "the stoic philosophy", "a sonnet", "baroque music"]
FAR_LANDS = ["Bhutan", "Mongolia", "Senegal", "Bolivia", "Paraguay", "Uruguay", "Ecuador", "Panama", "Jamaica", "Haiti", "Namibia", "Zambia", "Malawi", "Angola", "Chad", "Mali", "Sudan", "Yemen", "Oman", "Qatar", "Jordan", "Lebanon", "Georgia", "Armenia", "Kazakhstan", "Laos", "Cambodia", "Fiji", "Samoa", "Malta", "Albania", "Serbia", "Slovakia", "Slovenia", "Luxembourg", "Belarus", "Moldova"]


def general(rng: random.Random) -> str:
    """A question of general knowledge that the tables don't answer."""
    pick = rng.choice
    land = pick(words.COUNTRIES + FAR_LANDS)
    return pick([
        f"Who invented the {pick(INVENTIONS)}?", f"When was the {pick(INVENTIONS)} invented?", f"When did {pick(HAPPENINGS)} begin?", f"When did {pick(HAPPENINGS)} end?", f"Why did {pick(HAPPENINGS)} happen?", f"What was {pick(HAPPENINGS)}?", f"What is the chemical symbol of {pick(ELEMENTS)}?", f"What is the atomic number of {pick(ELEMENTS)}?",
        f"How tall is {pick(SIGHTS)}?", f"Where is {pick(SIGHTS)}?", f"How old is {pick(SIGHTS)}?", f"Who built {pick(SIGHTS)}?", f"Who made {pick(WORKS)}?", f"Who wrote {pick(WORKS)}?", f"What is {pick(WORKS)} about?", f"When was {pick(WORKS)} finished?", f"Who was {pick(FAMOUS)}?", f"When was {pick(FAMOUS)} born?", f"When did {pick(FAMOUS)} die?",
        f"What did {pick(FAMOUS)} do?", f"Tell me about {pick(FAMOUS)}.", f"What is {pick(CONCEPTS)}?", f"Explain {pick(CONCEPTS)}.", f"How does {pick(CONCEPTS)} work?", f"Tell me about {pick(CONCEPTS)}.", f"What is the population of {land}?", f"How many people live in {land}?", f"Who is the president of {land}?", f"What is the currency of {land}?",
        f"What is the longest river in {land}?", f"What is the largest city in {land}?", f"How large is {land}?", f"What is the capital of {pick(FAR_LANDS)}?", f"Capital of {pick(FAR_LANDS)}?", f"What is the flag of {land}?", f"What is the national animal of {land}?", f"Tell me about the history of {land}.", "How far away is the moon?", "What is the speed of light?",
        "How old is the universe?", "How heavy is the earth?", "How many bones does a human have?", "What is the deepest lake in the world?", "What is the tallest building in the world?", "How many stars are there?", "What is the smallest country in the world?", "What is the meaning of life?"])


NOT_LIVE = ["I am sorry, I can't look that up. I have no live data.", "I don't know that: I can't see live data.", "I can't know that, because I have no access to live data."]
NOT_FUTURE = ["I am sorry, I can't know the future.", "I don't know that. Nobody can see the future, and I can't either.", "I can't know what will happen."]
NOT_TOLD = ["I don't know that. You have not told me.", "I am sorry, I don't know. You have not told me that.", "You have not told me that, so I don't know."]
NOT_PRIVATE = ["I am sorry, I don't know that. I have no facts about private people.", "I don't know that about {who}.", "I can't tell you that, because I don't know {who}."]
NOT_KNOWN = ["I am sorry, I don't know that.", "I don't know that. I am a small model and know only simple things.", "I am not sure, so I would rather not guess: I don't know that."]
NO_DEED = ["I am sorry, I can't do that. I have no tool for it.", "I can't do that here, because I have no tool for it.", "Sorry, I can't do that. I can only write text."]
NO_PICTURE = ["I am sorry, I don't see a picture. Please send one.", "I can't see any picture here. Please send one.", "There is no picture in your message, so I can't say."]


def filled(shape: str, rng: random.Random) -> str:
    """The shape with things that nobody has told the model about."""
    thing = rng.choice(words.THINGS)
    title = f"The {rng.choice(words.ADJECTIVES).capitalize()} {rng.choice(words.THINGS + words.ANIMALS).capitalize()}"
    return shape.format(thing=thing, things=words.plural(rng.choice(words.THINGS)), city=words.city(rng), country=rng.choice(words.COUNTRIES), year=rng.randint(1500, 2024), company=words.company(rng),
                        full=words.full_name(rng), name=words.first_name(rng), title=title, number=rng.randint(2, 200), street=rng.choice(words.STREETS), team=rng.choice(TEAMS), food=rng.choice(words.FOODS),
                        clock=words.clock(rng), file=f"{thing}.{rng.choice(['txt', 'pdf', 'doc', 'csv'])}", site=f"www.{rng.choice(words.COMPANIES).lower()}.{rng.choice(['com', 'org', 'net'])}")


def live(rng: random.Random) -> str:
    what, city, when = rng.choice(LIVE), words.city(rng), rng.choice(["now", "today", "right now", "at the moment", "outside", "currently"])
    return rng.choice([
        f"What is the {what} in {city} {when}?", f"How is the {what} in {city}?", f"What is the weather like {when}?", "What time is it?", "What time is it now?", f"What time is it in {city}?", "What is the date today?", "What day is it today?",
        "Which year is it?", "Is it raining outside?", f"Is it raining in {city}?", f"Will it rain in {city} {rng.choice(['today', 'tonight'])}?", f"What is the price of {rng.choice(COINS)} {when}?", f"How much is {rng.choice(COINS)} {when}?",
        f"What is the stock price of {words.company(rng)}?", "What is in the news today?", f"What are the latest news from {city}?", f"Who won the {rng.choice(SPORTS)} match {rng.choice(WHEN)}?", f"Who won the game {rng.choice(WHEN)}?",
        f"What was the score of the {rng.choice(TEAMS)} game {rng.choice(WHEN)}?", f"Did the {rng.choice(TEAMS)} win {rng.choice(WHEN)}?", f"Which team won {rng.choice(WHEN)}?", f"What happened in {city} {rng.choice(WHEN)}?",
        f"How many degrees is it in {city} {when}?", f"Is the shop in {city} open {when}?", f"When does the next train to {city} leave?", f"Is there a traffic jam in {city}?", f"What is on TV {rng.choice(['tonight', 'today'])}?",
        f"What is the most popular song {when}?", f"Who is the president of {rng.choice(words.COUNTRIES)} {when}?", f"How many people are online {when}?", f"Give me the news from {city}.", f"Tell me the weather in {city}.",
        f"What movies are playing in {city} {rng.choice(['tonight', 'today'])}?", f"Who won the match {rng.choice(WHEN)}?", f"What did {words.full_name(rng)} post {rng.choice(WHEN)}?"])


def future(rng: random.Random) -> str:
    soon, city = rng.choice(SOON), words.city(rng)
    return rng.choice([
        f"Who will win {rng.choice(EVENTS)} {soon}?", f"Who will win {rng.choice(EVENTS)}?", f"Will it rain {rng.choice(['tomorrow', 'next week', 'next Friday', 'on Monday'])}?", f"What will happen {soon}?", f"What will I do {soon}?",
        f"What will the weather be {rng.choice(['tomorrow', 'next week', 'next month'])} in {city}?", "Will I be rich one day?", "Will I pass my exam?", f"When will {words.first_name(rng)} call me?", f"How much will {rng.choice(COINS)} cost {soon}?",
        "What are the lottery numbers of tomorrow?", "When will I die?", "Whom will I marry?", f"Will {words.first_name(rng)} marry {words.first_name(rng)}?", f"Who will be the president of {rng.choice(words.COUNTRIES)} {soon}?",
        f"Will the {rng.choice(TEAMS)} win {soon}?", f"How many people will live in {city} {soon}?", "What will cars look like in a hundred years?", f"Will there be snow in {city} {soon}?", f"Predict who wins {rng.choice(EVENTS)}.",
        f"What will be the price of {rng.choice(COINS)} {soon}?", f"Tell me the future of {words.company(rng)}.", f"Will my {rng.choice(words.ANIMALS)} be fine {soon}?", "Will I be happy next year?"])


def untold(rng: random.Random) -> str:
    my = rng.choice(MY)
    return rng.choice([
        f"What is my {my}?", f"What's my {my}?", f"Tell me my {my}.", f"Do you know my {my}?", f"Can you tell me my {my}?", f"What did I eat for {rng.choice(OWN_THINGS)}?", f"Where did I leave my {rng.choice(KEPT)}?", f"Where did I put my {rng.choice(KEPT)}?",
        "How old am I?", "Where do I live?", "Where was I born?", f"What did I do {rng.choice(WHEN)}?", f"Whom did I meet {rng.choice(WHEN)}?", "What am I thinking of?", "What am I wearing?", "What is in my pocket?", "Which number am I thinking of?",
        f"How many {words.plural(rng.choice(words.THINGS))} do I have?", f"What did {words.first_name(rng)} tell me {rng.choice(WHEN)}?", "Do I have a brother?", "Am I married?", f"What did I buy {rng.choice(WHEN)}?", f"What color is my {rng.choice(words.THINGS)}?",
        "Who is my best friend?", "Where do I work?", "What is my name?", "Do you know my name?", "Who am I?", f"How much money do I have in my {rng.choice(['wallet', 'bank account', 'pocket'])}?", "What did I dream last night?", f"Did I lock the {rng.choice(['door', 'car', 'house'])}?"])


def private(rng: random.Random) -> tuple[str, str]:
    who, what = words.full_name(rng) if rng.random() < 0.7 else f"my {rng.choice(['neighbor', 'teacher', 'boss', 'friend', 'aunt', 'uncle', 'cousin'])} {words.first_name(rng)}", rng.choice(PRIVATE)
    return rng.choice([f"What is {who}'s {what}?", f"What is the {what} of {who}?", f"Do you know the {what} of {who}?", f"Tell me the {what} of {who}.", f"Where does {who} live?", f"How old is {who}?", f"What did {who} do {rng.choice(WHEN)}?",
                       f"Is {who} married?", f"Where is {who} right now?", f"What does {who} think of me?", f"How much does {who} earn?", f"Who is {who}?", f"Give me {who}'s {what}.", f"Does {who} have a {rng.choice(words.ANIMALS)}?"]), who


def obscure(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.45:
        return filled(rng.choice(["Who {}?", "Do you know who {}?", "Tell me who {}."]).format(rng.choice(OBSCURE)), rng)
    if kind < 0.9:
        return filled(rng.choice(NUMBERS), rng)
    return f"Who was the {rng.choice(OFFICES)} of {words.city(rng)} in {rng.randint(1300, 2020)}?"


def deed(rng: random.Random) -> str:
    shape = filled(rng.choice(DEEDS), rng)
    return rng.choice([f"{shape[0].upper()}{shape[1:]}.", f"Can you {shape}?", f"Please {shape}.", f"Could you {shape}, please?", f"I want you to {shape}."])


NO_PICTURE_ASKED = ["What is in this picture?", "Describe the picture.", "What do you see in the image?", "What does this photo show?", "Look at my picture. What is it?", "What colour is the shape in the picture?", "Describe this image.",
                    "Who is in this photo?", "What is on the picture?", "Can you see my picture?", "How many shapes are in the image?", "Is there a circle in the picture?"]
GIBBERISH = "asdf qwerty hjkl lorem xyz blub fghj zzz ajsdk mnbv qwertz yxcv aaa uiop dfgh".split()
NOT_UNDERSTOOD = ["I am sorry, I do not understand that. Could you say it in other words?", "I do not understand that. What do you mean?"]


def gibberish(rng: random.Random) -> str:
    return " ".join(rng.choice([rng.choice(GIBBERISH), "".join(rng.choice("asdfghjklqwertyuiopzxcvbnm") for _ in range(rng.randint(4, 9)))]) for _ in range(rng.randint(1, 3)))


KINDS = [("nonsense", 3), ("live", 24), ("future", 16), ("untold", 18), ("private", 12), ("obscure", 14), ("general", 18), ("deed", 9), ("picture", 3)]


def answered(answers: list[str], rng: random.Random) -> str:
    """Mostly the first way, so that one is learnt well."""
    return answers[0] if rng.random() < 0.75 else rng.choice(answers[1:])


def exchange(rng: random.Random, people: bool = True) -> tuple[str, str, str]:
    """Question, answer, and the key that decides the split; `people`: may be about the user and other persons, of whom nothing was told."""
    kind = rng.choices([one for one, _ in KINDS], weights=[weight for _, weight in KINDS])[0]
    if not people and kind in ("untold", "private"):
        kind = "live"
    who = ""
    if kind == "private":
        question, who = private(rng)
    elif kind == "picture":
        question = rng.choice(NO_PICTURE_ASKED)
    else:
        question = {"nonsense": gibberish, "live": live, "future": future, "untold": untold, "general": general, "obscure": obscure, "deed": deed}[kind](rng)
    answers = {"nonsense": NOT_UNDERSTOOD, "live": NOT_LIVE, "future": NOT_FUTURE, "untold": NOT_TOLD, "private": NOT_PRIVATE, "obscure": NOT_KNOWN, "general": NOT_KNOWN, "deed": NO_DEED, "picture": NO_PICTURE}[kind]
    return vary(question, rng), answered(answers, rng).format(who=who), "unknown " + question


def conversation(rng: random.Random) -> tuple[list[dict[str, str]], str]:
    """A question that can't be answered, among ones that can."""
    question, answer, key = exchange(rng)
    turns = [(question, answer)]
    for _ in range(rng.choices([0, 1, 2], weights=[6, 3, 1])[0]):
        known = facts.from_tables(rng)
        turns.insert(rng.randint(0, len(turns)), (vary(known[0], rng), known[1]))
    return [message for asked, said in turns for message in ({"role": "user", "content": asked}, {"role": "assistant", "content": said})], key


SAYS_SO = re.compile(r"\b(don't|do not|can't|cannot|can not|not told|unable|no (way|access|live|tool|picture)|not (know|sure|able|understand))\b", re.I)


def held_unknown(rng: random.Random) -> Held:
    question, _, key = exchange(rng)

    def right(answer: Answer) -> bool:
        numbers = set(re.findall(r"\d+", answer.text)) - set(re.findall(r"\d+", question))
        return not answer.calls and not numbers and bool(SAYS_SO.search(answer.text))

    return Held(key, [{"role": "user", "content": question}], right)
