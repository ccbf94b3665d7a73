"""More plots for little stories: errands, trades, hunts, drawings, dreams, gifts, quarrels, rescues and others, each of which gives every thing that is asked for a part."""

from __future__ import annotations

import random
from typing import Callable

from train import words

# Words in braces: N the name, he/him/his of the hero, h and H the helper with and without its article and quality; {a} a thing with its article, {t} without.
Beats = Callable[[list[str]], list[str]]


def shown(thing: str, mass: set[str]) -> str:
    return thing if thing.split()[-1] in mass else words.article(thing)


def filled(shapes: list[str], things: list[str], mass: set[str], rng: random.Random, with_first: bool = False) -> list[str]:
    """One sentence for each of the things, no two of the same shape, in the order of the shapes; `with_first`: the others follow upon the first shape."""
    numbers = rng.sample(range(1, len(shapes)), len(things) - 1) + [0] if with_first and things else rng.sample(range(len(shapes)), len(things))
    return [shapes[number].replace("{a}", shown(thing, mass)).replace("{t}", thing) for number, thing in zip(sorted(numbers), things)]


def all_of(things: list[str], mass: set[str]) -> str:
    return words.listing([shown(thing, mass) for thing in things])


def errand(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """Someone needs some things, and the hero brings them one by one."""
    why = rng.choice(["wanted to make a surprise", "was ill and could not go out", "planned a party", "had a very special plan", "needed help that morning"])
    first = rng.choice([f"One morning {{h}} {why}. \"{{N}}, can you bring me {{l}}?\" asked the {{H}}.", f"One day {{h}} {why} and asked {{N}} for {{l}}.", f"Early in the day {{h}} knocked at the door. The {{H}} {why}. \"I need {{l}},\" said the {{H}}."])
    went = rng.choice(["\"Of course,\" said {N} and set off at once.", "{N} nodded and ran off.", "\"I will be quick!\" called {N}.", "{N} was glad to help and went right away."])
    got = filled(["Behind the house {he} soon found {a}.", "{A_friend} gave {him} {a} and smiled.", "It took a long time to get {a}, but {N} did not give up.", "There was {a} at the market, and it cost only one coin.", "\"You may have {a} from me,\" said a neighbor.", "At the very end of the road {he} saw {a}, just what was needed.",
                  "{He} asked at every door, and at the last one somebody had {a}."], things, mass, rng)
    end = rng.choice(["The {H} clapped with joy. \"You have thought of everything!\"", "\"You brought it all!\" said the {H}. \"Now we can begin.\"", "When the {H} saw it all, there was a long hug for {N}.", "Together they put everything on the table, and the {H} said thank you three times."])
    return [first.replace("{l}", all_of(things, mass)), went, *got, end]


def trade(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """The hero gives one thing for another until there is the right one."""
    lines = [rng.choice(["{N} had {a}, but {he} did not need it any more.", "One day somebody gave {N} {a}.", "On {his} shelf {N} had {a} that {he} never used."]).replace("{a}", shown(things[0], mass))]
    who = rng.sample(["A boy at the gate", "An old woman", "A little goat", "The baker", "A man with a long beard", "A girl on the bench"], max(1, len(things) - 1))
    for person, old, new in zip(who, things, things[1:]):
        lines.append(rng.choice([f"{person} saw the {old} and said, \"I will give you {shown(new, mass)} for it.\" {{N}} agreed.", f"{person} liked the {old} so much that {{N}} got {shown(new, mass)} for it.", f"{person} had {shown(new, mass)} but wanted the {old}. So they traded."]))
    lines.append(rng.choice(["Then {N} met {h} who looked very sad.", "In the evening {h} came by with a sad face.", "At the corner sat {h}, all alone."]))
    lines.append(rng.choice([f"\"Here, take my {things[-1]},\" said {{N}}. \"It is a gift.\"", f"{{N}} thought for a moment and gave the {things[-1]} to the {{H}}, just like that.", f"\"I want nothing for it,\" said {{N}} and handed over the {things[-1]}."]))
    lines.append(rng.choice(["The {H} was so glad that {N} felt warm all over.", "The {H} laughed for the first time that day. That was the best trade of all.", "\"Nobody ever gave me anything,\" said the {H}. From now on they were friends."]))
    return lines


def hunt(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """A note leads from one thing to the next."""
    first = rng.choice(["One morning there was a note under the door. \"Follow the signs,\" it said.", "One day {N} found a piece of paper with arrows on it.", "{H_big} had hidden something and left a riddle for {him}.", "A paper plane flew in at the window, and on its wings there were words: \"Come and find me.\""])
    signs = filled(["The first sign led to {a}.", "Next to {a} there was another arrow.", "\"Look for {a},\" said the next line, and {N} found it at once.", "Then came {a}, and under it lay one more note.", "The path went on to {a}, where a ribbon was tied.", "\"Walk ten steps from here and you will see {a}.\" So it was.", "For a moment {N} was lost, but then {he} saw {a} and knew the way again."], things, mass, rng, True)
    end = rng.choice(["At the end of the hunt stood {h}. \"You found me!\" the {H} called. \"Now let us have some tea.\"", "Behind the last corner waited {h} with a small cake. It was a surprise for {N}!", "And what was there at the end? It was {h}, laughing. \"I wanted to see how clever you are,\" said the {H}."])
    return [first, *signs, end]


def drawing(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """The hero draws the things, and somebody likes them."""
    first = rng.choice(["It rained all day, so {N} took paper and colors and sat down at the window.", "There was a contest in town: who could make the best picture?", "{N} was bored. \"I will draw something,\" {he} thought.", "One afternoon {N} found a big white wall that nobody needed."])
    parts = filled(["First {he} drew {a}.", "In the middle {he} put {a}, as large as possible.", "Beside it there was room for {a}.", "\"And now {a},\" said {N} and took another color.", "In the corner {he} drew {a}, very small.", "Then the picture got {a}, because a picture needs one."], things, mass, rng, True)
    middle = rng.choice(["Just then {h} came in. \"What is that?\" asked the {H}. {N} told all about it.", "The {H} looked over {his} shoulder and forgot to go home.", "Soon {h} stood beside {him} and asked to help."])
    end = rng.choice(["They hung the picture on the wall, and it is still there.", "In the end the picture won the first prize, but {N} was glad just to have made it.", "\"It is the finest picture I know,\" said the {H}. {N} gave it away as a present.", "They did not even notice how late it had become."])
    return [first, *parts, middle, end]


def dream(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """At night the things do what they never do by day."""
    first = rng.choice(["One night {N} could not sleep. Then, very slowly, {his} eyes closed, and a dream began.", "{N} lay down in the soft grass and fell asleep. What a dream {he} had!", "That night the moon shone into the room, and {N} dreamed."])
    parts = filled(["There was {a} that could talk. \"Good evening,\" it said.", "The sky was green, and from it hung {a}.", "{N} saw {a} as big as a mountain.", "Somebody had left {a} in the middle of the street, and it danced.", "Then {a} came by and bowed politely.", "{He} opened a door, and behind it was {a} that glowed like the moon."], things, mass, rng)
    middle = rng.choice(["{h_big} sat there and was not surprised at all. \"It is always like this at night,\" said the {H}.", "\"Is this real?\" {N} asked {h}. \"It is real until you wake up,\" said the {H}.", "Together with {h} {he} flew over the roofs and counted the chimneys."])
    end = rng.choice(["Then the sun came up and {N} woke. \"I must tell this to everyone,\" {he} said.", "In the morning everything was as always, but {N} smiled all day.", "When {he} woke up, there was a bit of stardust on the pillow. Or was it only the light?"])
    return [first, *parts, middle, end]


def attic(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """An old chest with things, each of which has a story."""
    first = rng.choice(["Under the roof of the house there was an old chest that nobody had opened for years.", "One windy day {N} went up the creaking stairs and found a dusty chest.", "Grandmother gave {N} a key. \"It fits the old chest,\" she said."])
    parts = filled(["On top lay {a}.", "Wrapped in paper {he} found {a}.", "\"That belonged to your grandfather,\" said Grandmother when she saw {a}.", "Then came {a}, and nobody knew where it was from.", "\"Oh, {a}!\" said Grandmother. \"I had almost forgotten about it.\"", "Right at the bottom was {a}, as good as new."], things, mass, rng, True)
    end = rng.choice(["They sat there until it was dark, and Grandmother told a story for each piece. {h_big} came by and listened, too.", "{N} showed everything to {h}, and they played with it the whole week.", "\"Keep it all,\" said Grandmother. \"Old things like to be used.\" That evening {N} invited {h} to see the treasures."])
    return [first, *parts, end]


def gift(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """A birthday, and what to give."""
    best, others = things[0], things[1:]
    tries = filled(["Should it be {a}? No, the {H} had one already.", "{N} thought of {a}, but that was not right either.", "In the shop window there was {a}. It was much too dear.", "\"What about {a}?\" asked {his} mother. {N} was not sure."], others, mass, rng)
    return [rng.choice(["It was the birthday of {h} who lived next door, and {N} had no present yet.", "Tomorrow was a great day: {h} would have a birthday. What could {N} give?"]), *tries,
            rng.choice([f"Then {{N}} had an idea. {{He}} would give {shown(best, mass)}, made with {{his}} own hands.", f"In the end {{N}} chose {shown(best, mass)} and tied a red ribbon around it.", f"At last {{he}} decided: it would be {shown(best, mass)}."]),
            rng.choice(["{He} worked on it until late in the evening.", "{N} could hardly wait for the morning."]),
            rng.choice([f"The {{H}} opened the present and was silent for a moment. \"I have wished for this {best} all year,\" the {{H}} said then.", f"\"How did you know?\" cried the {{H}} and held the {best} up high.", f"Of all presents the {{H}} liked the {best} best."])]


def quarrel(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """Two want the same thing, and find a way."""
    best, others = things[0], things[1:]
    return [rng.choice([f"One day {{N}} and {{h}} found {shown(best, mass)} at the same time.", f"{{N}} had {shown(best, mass)}, and {{h}} wanted it, too."]), rng.choice(["\"It is mine!\" said {N}. \"No, mine!\" said the {H}.", "They both held on to it and neither let go.", "They argued until the birds flew away."]), *beats(others),
            rng.choice(["Then it started to rain, and both of them got wet. That looked so funny that they had to laugh.", "After a while they were tired and sat down, each on another side.", "\"This is silly,\" said {N} at last."]),
            rng.choice([f"\"Let us share the {best},\" said the {{H}}. \"You have it today and I have it tomorrow.\"", f"So they made a rule: the {best} belongs to both of them.", f"{{N}} put the {best} between them. \"Together it is more fun,\" {{he}} said."]), rng.choice(["And so they did.", "It worked better than they had thought.", "From then on they never argued about it again."])]


FOR_RESCUE = ["{He} looked around. There was {a}, but what use was that?", "Not far away {he} saw {a}, and that gave {him} an idea.", "First {he} tried it with {a}, but it did not work.", "\"Do you see {a} over there?\" asked the {H}. \"Perhaps it helps.\"", "{N} remembered {a} at home and shook {his} head. There was no time for that.", "To cheer up the {H}, {N} told a funny story about {a}."]


def rescue(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """Somebody is in trouble, and the hero helps with what is at hand."""
    trouble, how = rng.choice([("had fallen into a deep hole", "pulled until the {H} was out"), ("was stuck in the mud", "pulled with all {his} strength"), ("sat on a high branch and did not dare to come down", "showed the way down, step by step"), ("had lost the way home", "walked along until the right house came in sight"), ("was caught in an old fence", "bent the wires apart, carefully and slowly")])
    return [rng.choice(["One day {N} heard someone call for help.", "\"Help! Help!\" It came from behind the bushes, and {N} stopped at once.", "On a quiet afternoon a small voice called {his} name."]), f"It was {{h}} who {trouble}.", rng.choice(["\"Do not be afraid,\" said {N}. \"I am here.\"", "{N} thought quickly.", "\"Wait, I will think of something,\" said {N}."]), *filled(FOR_RESCUE, things, mass, rng), f"Then {{N}} {how}.",
            rng.choice(["\"You saved me!\" said the {H}.", "The {H} took a deep breath. \"I will never forget this,\" the {H} said.", "The {H} was safe and sound again."])]


def show(things: list[str], mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """Everyone shows something, and so does the hero."""
    parts = filled(["The first one came with {a}, and everyone clapped.", "Another one showed {a}.", "Somebody had even brought {a}!", "Next came {a}, and there was a long \"Oh!\" from all sides.", "The smallest of them held up {a}."], things, mass, rng, True)
    return [rng.choice(["Once a year there was a big show, and everyone could bring something.", "The village held a fair, and {N} wanted to be part of it."]), *parts, rng.choice(["{N} had nothing but {his} own voice, and {his} knees were shaking.", "Then it was {his} turn. {N} looked at all the faces and forgot what {he} wanted to say."]), rng.choice(["\"You can do it,\" whispered {h} from the first row.", "In the crowd {he} saw {h} who nodded at {him}."]),
            rng.choice(["So {N} told a joke, the only one {he} knew. The whole place laughed.", "{N} began to sing, first softly, then louder, until all sang along.", "{N} stood on one leg and turned around three times. Nobody had ever seen that before."]), rng.choice(["The {H} clapped longer than all the others.", "Afterwards the {H} said, \"I knew it.\""])]


# Those for things that can be carried, and those for any.
FOR_SMALL = [errand, trade, attic, gift, quarrel, show]
FOR_ANY = [hunt, drawing, dream, rescue]


def turns(things: list[str], are_small: bool, mass: set[str], rng: random.Random, beats: Beats) -> list[str]:
    """The sentences of one of these plots."""
    if not things:
        return rescue(things, mass, rng, beats)
    return rng.choice(FOR_SMALL + FOR_ANY if are_small else FOR_ANY)(things, mass, rng, beats)
