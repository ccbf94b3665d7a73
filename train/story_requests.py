"""Stories asked for in chat: requests are made from what occurs in a story, so that the story always fulfils them."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from train import story_plots, words
from train.held import Answer, Held
from train.shared_data import sentences

CREATURES = """girl boy dog cat bird bunny bear fish man mouse rabbit squirrel frog puppy monkey duck elephant crab owl horse lion turtle bee giraffe farmer penguin ant bug cow lady clown pig parrot princess panda kitten kangaroo rat
prince king queen octopus pony knight gorilla zebra fireman seal whale driver painter otter turkey shark pigeon chicken butterfly pilot pirate dinosaur fairy ladybug sailor tiger snake dolphin train fox goat dragon spider robot witch
hedgehog deer wolf snail worm lamb sheep caterpillar star cloud leaf snowman boat car truck doll flower tree""".split()
# What a girl or a boy of a story may become: nothing that they do is odd for these.
BECOMES = "fox bear rabbit mouse cat dog frog duck owl lion turtle penguin squirrel monkey elephant hedgehog panda tiger dragon robot deer fairy otter lamb bunny kitten puppy pig goat giraffe zebra koala raccoon beaver badger mole hamster".split()
THINGS = """ball box rock tree flower boat car truck doll hat cake cookie book bag stick picture drawing balloon kite bike basket bucket blanket bed table chair door window key coin ring necklace crown shell feather leaf nest egg apple
banana carrot orange lemon sandwich soup pie candy lollipop cup bowl plate spoon pot jar bottle bell drum guitar piano song letter map treasure puzzle game teddy robot train plane ship bridge tower castle house tent cave hole hill
mountain river pond puddle cloud star moon rainbow storm snowman sandcastle swing slide bench fence gate ladder rope string button shirt dress coat scarf jacket pillow mirror lamp candle clock camera phone pencil crayon brush wand
medal prize gift present party picnic race dance trick secret wish adventure magic mud sand snow rain wind garden umbrella wagon statue fountain stone gem diamond jewel magnet flag tape glue paint needle net hammer tool wheel tire
bandage medicine towel soap bath honey jam cheese bread milk juice pizza pumpkin pepper potato tomato berry cherry grape corn mushroom rose daisy vine seed bush log branch stump""".split()
PLACES = "park forest garden woods beach zoo farm kitchen store pond river sea jungle lake library market castle village school yard field backyard meadow hospital museum barn playground ocean cave".split()
AT = set("beach park zoo farm store pond river lake market school hospital museum playground sea".split())
FEELINGS = "happy sad scared angry excited proud lonely brave curious surprised tired worried kind careful".split()
QUALITIES = "little small big old young tiny kind brave clever happy curious shy friendly lazy silly careful lonely red blue green yellow pink black white brown gray shiny pretty soft new special magic golden round long wooden colorful".split()
# Small things that are found: one may stand for another.
FOUND = "rock shell coin button key ring feather stone gem diamond jewel marble bell pearl crystal".split()
KNOWN_NAMES = set(words.GIRLS + words.BOYS) | set("Timmy Benny Billy Tommy Bobby Jimmy Sammy Freddy Danny Fluffy Spot Mittens Whiskers Buddy Teddy Nemo Fin Kitty Ducky Brownie Ollie Mimi Remy Polly Chirpy Momo Bubbles Snowy Betsy Sarah Mary Emily Lisa".split())
SHE, HE = set(words.GIRLS) | {"Sarah", "Mary", "Emily", "Lisa", "Betsy", "Mimi"}, set(words.BOYS) | {"Timmy", "Benny", "Billy", "Tommy", "Bobby", "Jimmy", "Sammy", "Freddy", "Danny"}
NAMED = re.compile(r"\b(?:(\w+) )?(\w+) (?:named|called) ([A-Z][a-z]+)\b")
WISH = re.compile(r"\b(?:[A-Z][a-z]+|he|she|it) (?:really |always )?wanted to ([a-z][a-z' ]{5,44})(?=[.,!])")
UNCLEAR = re.compile(r"\b(it|them|him|that|this|so|but|because|and|too|what|they|he|she|there|one|more|again|everyone)\b")
WORD = re.compile(r"\b[a-z]+\b")
# Who may be in a story beside its hero.
OTHERS = [creature for creature in CREATURES + BECOMES if creature not in ("girl", "boy", "man", "lady", "tree", "flower", "car", "truck", "doll", "boat", "star", "cloud", "leaf", "train")]
THING_SET, PLACE_SET, FEELING_SET, CREATURE_SET, QUALITY_SET = set(THINGS), set(PLACES), set(FEELINGS), set(CREATURES + BECOMES), set(QUALITIES)
A_THING = re.compile(rf"\b(?:a|an) ({'|'.join(QUALITIES)}) ({'|'.join(THINGS)})\b")
FIRST_ONE = re.compile(rf"\b(?:a|an) (?:({'|'.join(QUALITIES)}) )?({'|'.join(CREATURES)})\b")
HAPPY_END = re.compile(r"\b(happy|happily|smiled|laughed|proud|fun|best friends|loved|safe|glad)\b")


@dataclass
class Parts:
    """What a request asks for; all of it occurs in the story."""

    creature: str = ""
    quality: str = ""
    name: str = ""
    friend: str = ""
    things: list[str] = field(default_factory=list)
    place: str = ""
    feeling: str = ""
    wish: str = ""
    ending: str = ""

    def needed(self) -> list[str]:
        """The words that must occur."""
        wished = [word for word in WORD.findall(self.wish) if word in THING_SET | PLACE_SET | CREATURE_SET]
        return [one for one in (self.creature, self.name, self.friend, *(thing.split()[-1] for thing in self.things), self.place, *wished) if one]


def renamed(story: str, rng: random.Random) -> str:
    """The same story with other names, a girl's for a girl's and a boy's for a boy's."""
    found = [name for name in dict.fromkeys(re.findall(r"\b[A-Z][a-z]+\b", story)) if name in SHE or name in HE]
    new: dict[str, str] = {}
    for name in found:
        pool = words.GIRLS if name in SHE else words.BOYS
        other = rng.choice(pool)
        if other not in found and other not in new.values():
            new[name] = other
    return re.sub(r"\b[A-Z][a-z]+\b", lambda match: new.get(match.group(), match.group()), story) if new else story


def with_article(story: str, old: str, new: str) -> str:
    story = re.sub(rf"\ban? {old}\b", words.article(new), story)
    story = re.sub(rf"\bA(n?) {old}\b", words.article(new).capitalize(), story)
    return re.sub(rf"\b{old}\b", new, story)


def varied(story: str, rng: random.Random) -> str:
    """The story with other names, perhaps another hero or another found thing."""
    story = renamed(story, rng) if rng.random() < 0.75 else story
    hero = re.search(r"\b(girl|boy) named [A-Z]", story[:200])
    if hero and rng.random() < 0.45 and not re.search(r"\b(girls|boys|children|kids|people|princess|hands?|fingers?|school|dress|shoes|baby)\b", story):
        kind, other = hero.group(1), "boy" if hero.group(1) == "girl" else "girl"
        new = rng.choice(BECOMES)
        if not re.search(rf"\b({other}|{new}s?)\b", story):
            story = with_article(story, kind, new)
    present = set(WORD.findall(story))
    swappable = [thing for thing in FOUND if thing in present and thing + "s" not in present]
    if len(swappable) == 1 and rng.random() < 0.5:
        new = rng.choice(FOUND)
        if new not in present and new + "s" not in present:
            story = with_article(story, swappable[0], new)
    return story


def parts_of(story: str) -> Parts:
    """All that a request could be made from."""
    opening = story[:320]
    parts = Parts()
    named = NAMED.search(opening)
    if named and named.group(2) in CREATURE_SET:
        parts.quality = named.group(1) if named.group(1) in QUALITY_SET else ""
        parts.creature, parts.name = named.group(2), named.group(3)
    else:
        first = FIRST_ONE.search(opening)
        if first and len(re.findall(rf"\b{first.group(2)}\b", story)) > 1:
            parts.quality, parts.creature = first.group(1) or "", first.group(2)
    names = [name for name in dict.fromkeys(re.findall(r"\b[A-Z][a-z]+\b", story)) if name in KNOWN_NAMES and name != parts.name and len(re.findall(rf"\b{name}\b", story)) > 1]
    if not parts.name and not parts.creature and names:
        parts.name = names.pop(0)
    parts.friend = names[0] if names else ""
    counted = WORD.findall(story)
    present = set(counted)
    said = {thing: quality for quality, thing in A_THING.findall(story)}
    others = {one for one in present & set(OTHERS) if counted.count(one) > 1}
    things = sorted(thing for thing in present & THING_SET | others if thing != parts.creature)
    parts.things = [f"{said[thing]} {thing}" if thing in said else thing for thing in sorted(things, key=lambda thing: (-min(counted.count(thing), 3), thing))]
    parts.place = next((place for place in re.findall(r"\b(?:in|at|to|into) the (\w+)\b", story) if place in PLACE_SET), "")
    parts.feeling = next((word for word in counted if word in FEELING_SET), "")
    wish = next((found for found in WISH.findall(story[:len(story) * 2 // 3]) if not UNCLEAR.search(found)), "")
    parts.wish = wish if parts.creature and len(wish.split()) < 8 else ""
    last = story[-220:]
    parts.ending = "happy" if HAPPY_END.search(last) else ""
    if re.search(r"\blearned\b", last):
        parts.ending = "lesson"
    return parts


def chosen(parts: Parts, rng: random.Random) -> Parts:
    """Some of the parts: a person's request."""
    few = Parts(parts.creature, parts.quality if rng.random() < 0.6 else "", parts.name, parts.friend if rng.random() < 0.35 else "")
    if few.name and few.creature and rng.random() < 0.3:
        if rng.random() < 0.5:
            few.name = ""
        else:
            few.creature = few.quality = ""
    if parts.wish and rng.random() < 0.4:
        few.wish, few.friend = parts.wish, ""
        few.creature, few.quality = parts.creature, parts.quality
    count = rng.choices([0, 1, 2, 3, 4], weights=[3, 5, 4, 3, 1])[0]
    pool = parts.things[:8]
    few.things = rng.sample(pool, min(count, len(pool)))
    taken = set(" ".join([*few.things, few.wish]).split())
    if parts.place and parts.place not in taken and rng.random() < 0.3:
        few.place = parts.place
    few.feeling = parts.feeling if rng.random() < 0.08 else ""
    few.ending = parts.ending if rng.random() < 0.12 else ""
    return few


TELL = ["Tell me a story about {}", "Write a short story about {}", "Tell a story about {}", "Please write a story about {}", "Can you tell me a story about {}", "I want a story about {}", "Make up a story about {}", "Give me a story about {}",
        "Could you write a little story about {}", "Story about {}", "Write a tale about {}", "Tell me a bedtime story about {}", "Write a story about {}", "I would like to hear a story about {}", "Tell us a story about {}", "Please tell a story about {}",
        "Tell my daughter a story about {}", "Write a children's story about {}", "Write me a story about {}", "Invent a story about {}", "Can I have a story about {}", "Let me hear a story about {}"]
NO_HERO = ["Tell me a story", "Write a short story", "Tell a story", "Please write a story", "Can you tell me a story", "I want a story", "Make up a story", "Write a children's story", "Tell me a bedtime story", "Give me a short story"]
WITH = [" with {} in it", ". It should have {} in it", ". Put {} into it", ". Include {}", ". There should be {} in the story", ", with {}", ". The story has {} in it", ". Please mention {}", ". {} should appear too", " and {}"]
WORDS_ASKED = ["Write a short story with the words {}.", "Tell me a story that uses the words {}.", "Use these words in a story: {}", "Write a story that contains the words {}.", "Make a story from these words: {}", "Story with the words {}", "Write a little story. Use the words {}.", "I give you some words: {}. Tell a story with them."]
ANY = ["Tell me a story.", "Write a short story.", "Tell me a short story, please.", "Can you tell me a story?", "I want to hear a story.", "Tell a story for children.", "Make up a story.", "Tell me a bedtime story.", "story please", "Tell me something nice, a story maybe.", "Write a story for my son.", "Another story, please."]
CONTINUE = ["Continue this story: {}", "Continue the story.\n\n{}", "How does this story go on? {}", "Finish this story: {}", "Here is the beginning of a story. Continue it.\n\n{}", "Write the rest of this story: {}", "Go on with this story.\n\n{}"]


def hero_of(parts: Parts, rng: random.Random) -> str:
    """How a request names the hero."""
    creature = words.article(f"{parts.quality} {parts.creature}".strip()) if parts.creature else ""
    if parts.wish:
        named = f"{creature} named {parts.name}" if parts.name and rng.random() < 0.5 else creature
        return f"{named} {rng.choice(['who', 'that'])} {rng.choice(['wanted to', 'wanted to', 'wanted to', 'wants to', 'wished to', 'would love to'])} {parts.wish}"
    if parts.name and creature:
        hero = rng.choice([f"{creature} named {parts.name}", f"{creature} called {parts.name}", f"{parts.name} the {parts.creature}", f"{parts.name}, {creature}"])
    else:
        hero = parts.name or creature
    return f"{hero} and {rng.choice(['', 'a friend named ', '', 'someone called '])}{parts.friend}" if parts.friend and hero else hero or parts.friend


def ask(parts: Parts, rng: random.Random) -> str:
    """The parts as a request."""
    things = words.listing([words.article(thing) if thing.split()[-1] not in MASS else thing for thing in parts.things]) if parts.things else ""
    hero = hero_of(parts, rng)
    if hero and things and not parts.wish and rng.random() < 0.3:
        text = rng.choice(TELL).format(f"{hero}, {things}" if " and " in f"{hero}{things}" else f"{hero} and {things}")
        things = ""
    else:
        text = rng.choice(TELL).format(hero) if hero else rng.choice(NO_HERO)
    if parts.place:
        where = f"{'at' if parts.place in AT else 'in'} the {parts.place}"
        text += f" {where}" if rng.random() < 0.6 else f". It happens {where}"
    if things:
        clause = rng.choice(WITH)
        shown = things[0].upper() + things[1:] if clause.startswith(". {}") else things
        text += clause.format(shown)
    if parts.feeling:
        text += rng.choice([f". Someone in it is {parts.feeling}", f". Somebody feels {parts.feeling}"])
    if parts.ending:
        text += rng.choice({"happy": [" with a happy ending", ". It should end well", ". Give it a happy end"], "lesson": [" with a lesson", ". Something should be learned from it", ". It should teach something"]}[parts.ending])
    is_question = text.startswith(("Can", "Could")) and ". " not in text
    text += rng.choice(["?", "?", ""]) if is_question else rng.choice([".", ".", ".", "", "!"])
    return text[0].lower() + text[1:] if rng.random() < 0.1 else text


MASS = set("mud sand snow rain wind magic soup candy honey jam cheese bread milk juice pizza soap glue paint medicine tape corn treasure".split())


def words_asked(story: str, rng: random.Random) -> tuple[str, list[str]] | None:
    found = sorted(set(WORD.findall(story)) & (THING_SET | PLACE_SET | FEELING_SET | CREATURE_SET))
    if len(found) < 2:
        return None
    picked = rng.sample(found, min(len(found), rng.randint(2, 4)))
    return rng.choice(WORDS_ASKED).format(rng.choice([words.listing(picked), ", ".join(picked)])), picked


# How a story of others takes up what was asked for, right behind its first sentence, while the request is near: {L} are the
# things. Those of the first kind for small ones, the others for any. The last speak of one of them again at the end.
WOVEN_SMALL = ["That day {N} had {L} with {him}.", "In {his} bag {N} carried {L}.", "{N} had got {L} from Grandma the day before.", "For {his} birthday {N} had got {L}.", "On the way {N} had found {L}.", "{N} always kept {L} close by.", "Next to {him} lay {L}.", "\"Look, {L}!\" {N} said in the morning."]
WOVEN_ANY = ["All week {N} had been thinking about {L}.", "The day before, {N} had drawn a picture of {L}.", "In the night {N} had dreamed of {L}.", "{N} knew a song about {L}.", "{N} had heard a story about {L} once and never forgot it.", "\"One day I will tell you about {L},\" {N} liked to say.", "What {N} liked best in the world was {L}.", "{N} had made a wish about {L}."]
WOVEN_LAST = ["That night {N} dreamed of {the}.", "Later {N} told everyone about it, and about {the}, too.", "Before going to bed, {N} thought of {the} once more.", "And {N} never forgot {the}."]


def pronouns(name: str, creature: str) -> dict[str, str]:
    if name in SHE or creature in ("girl", "lady", "princess", "queen", "witch"):
        return {"him": "her", "his": "her"}
    return {"him": "him", "his": "his"} if name in HE or creature in ("boy", "man", "prince", "king") else {"him": "it", "his": "its"}


def late_ones(story: str, things: list[str]) -> list[str]:
    return [thing for thing in things if not re.search(rf"\b{thing.split()[-1]}", story[:160])]


def taken_up(story: str, parts: Parts, things: list[str], rng: random.Random) -> str | None:
    """The story with a sentence about these things behind the one that names its hero; none where there is no hero."""
    if not parts.name and not parts.creature:
        return None
    at = story.find(parts.name) if parts.name else story.find(parts.creature)
    end = re.compile(r"[.!?](?= )").search(story, at)
    if at < 0 or end is None or end.end() > 400:
        return None
    plain = [thing.split()[-1] for thing in things]
    are_small = not set(plain) & (story_plots.LARGE | story_plots.SKY | story_plots.EVENTS | MASS | CREATURE_SET)
    listed = words.listing([thing if thing.split()[-1] in MASS else words.article(thing) for thing in things])
    told = rng.choice(WOVEN_SMALL if are_small and rng.random() < 0.7 else WOVEN_ANY).format(L=listed, N=parts.name or "the " + parts.creature, **pronouns(parts.name, parts.creature))
    return f"{story[:end.end()]} {told[0].upper() + told[1:]}{story[end.end():].rstrip()}"


def woven(story: str, rng: random.Random) -> tuple[str, Parts] | None:
    """The story with one to three things brought into it behind its first sentence, and the request's parts; only where there is a hero."""
    parts, present = parts_of(story), set(WORD.findall(story))
    new = [thing for thing in rng.sample(THINGS, rng.randint(1, 3)) if thing not in present and thing not in ("moon", "wind", "rain")]
    few = chosen(parts, rng)
    few.wish, few.things = "", rng.sample(new + few.things[:1], min(len(new) + len(few.things[:1]), 4))
    late = late_ones(story, few.things)
    told = taken_up(story, parts, late, rng) if late and new else None
    if told is None:
        return None
    last = " " + rng.choice(WOVEN_LAST).format(the="the " + rng.choice(new), N=parts.name or "the " + parts.creature) if rng.random() < 0.5 else ""
    if not few.name and not few.creature:
        few.name, few.creature = parts.name, parts.creature
    return told + last, few


def request(story: str, rng: random.Random) -> tuple[str, str]:
    """A user's request and the story, or the part of it, that answers."""
    kind = rng.random()
    if kind < 0.1:
        ends = [found.end() for found in re.finditer(r"(?<=[.!?]) +|\n", story)]
        if len(ends) > 4:
            cut = ends[rng.randint(0, min(4, len(ends) - 3))]
            return rng.choice(CONTINUE).format(story[:cut].strip()), story[cut:].strip()
    if kind < 0.25:
        found = words_asked(story, rng)
        if found:
            return found[0], story
    few = chosen(parts_of(story), rng)
    if kind > 0.96 or not few.needed():
        return rng.choice(ANY), story
    # Things that come late are named early as well: whoever asked for them is not forgotten on the way.
    late = late_ones(story, few.things)
    told = taken_up(story, parts_of(story), late, rng) if late else None
    return ask(few, rng), told or story


def request_woven(story: str, rng: random.Random) -> tuple[str, str]:
    """A request for things that the story has only for its sake; a plain one where that can't be done."""
    found = woven(story, rng)
    return (ask(found[1], rng), found[0]) if found else request(story, rng)


def plot_request(rng: random.Random) -> tuple[str, str]:
    """A request and a story made for it."""
    cast, story = story_plots.story(rng, THINGS, PLACES)
    parts = Parts(cast.hero, cast.quality if rng.random() < 0.8 else "", cast.name, "", list(cast.things), cast.place, "", cast.wish, "happy" if rng.random() < 0.05 else "")
    if parts.name and not parts.wish and rng.random() < 0.3:
        parts.name = ""
    if rng.random() < 0.3:
        parts.things.insert(0, cast.helper[0].split(" ", 1)[1] if rng.random() < 0.3 else cast.helper[1])
    return ask(parts, rng), story


def key_of(asked: str) -> str:
    return "story request " + asked.lower()


COMMON_THINGS = "ball box rock tree flower boat car doll hat cake cookie book bag stick picture balloon kite bike basket blanket key coin ring shell feather leaf nest egg apple carrot sandwich cup jar bell drum map treasure robot castle cave pond puddle rainbow swing slide letter gift party".split()
COMMON_HEROES = "girl boy dog cat bird bunny bear fish mouse rabbit squirrel frog monkey duck elephant owl lion turtle fox penguin pig puppy kitten".split()


def held_story(rng: random.Random) -> Held:
    """A request for a hero, a name and up to three things, as people ask."""
    creature = rng.choice(COMMON_HEROES)
    names = words.GIRLS if creature == "girl" else words.BOYS if creature == "boy" else words.GIRLS + words.BOYS
    parts = Parts(creature, rng.choice(["", "little", "small", "brave"]), rng.choice(names) if rng.random() < 0.7 else "")
    parts.things = rng.sample(COMMON_THINGS, rng.randint(0 if parts.name else 1, 3))
    parts.place = rng.choice(["park", "forest", "garden", "beach"]) if rng.random() < 0.2 else ""
    asked = ask(parts, rng)
    return Held(key_of(asked), [{"role": "user", "content": asked}], lambda answer: fulfils(answer, parts.needed()))


def fulfils(answer: Answer, needed: list[str]) -> bool:
    """Whether all that was asked for occurs, and no sentence twice."""
    text = answer.text.strip()
    said = [one.lower().rstrip(".!?") for one in sentences(text)]
    occurs = all(re.search(rf"\b{re.escape(one)}(s|es)?\b", text, re.I) for one in needed)
    return occurs and len(said) > 3 and len(set(said)) == len(said) and text[-1] in ".!?\""
