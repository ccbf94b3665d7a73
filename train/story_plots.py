"""Little stories made from plots: a hero with a wish, a loss, a find or a fear, and whatever things are asked for on the way."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field

from train import story_turns, words
from train.shared_data import is_told_well

ANIMALS = "dog cat bird bunny bear fish mouse rabbit squirrel frog puppy monkey duck elephant owl lion turtle fox penguin pig kitten hedgehog deer dragon panda goat pony snail lamb otter".split()
PEOPLE = ["girl", "boy", "princess", "prince", "farmer", "sailor", "painter", "baker", "knight", "fairy"]
OBJECTS = "boat kite train robot cloud leaf star snowman lamp balloon teapot car tree truck plane flower doll drum clock candle wagon raindrop umbrella".split()
QUALITIES = "small little brave kind clever curious shy friendly quiet cheerful young lonely gentle tiny".split()
FOODS = set("cake cookie apple banana carrot orange lemon sandwich soup pie candy lollipop egg honey jam cheese bread milk juice pizza pumpkin pepper potato tomato berry cherry grape corn mushroom".split())
LARGE = set("tree boat car truck castle house tent cave hill mountain river pond tower bridge train plane ship swing slide bench fence gate statue fountain garden wagon table bed door window bush log bath snowman sandcastle piano puddle hole wheel stump nest vine".split())
SKY = set("cloud star moon rainbow storm rain wind snow".split())
EVENTS = set("party picnic race dance song game adventure trick wish secret magic".split())
MASS = set("mud sand snow rain wind magic soup candy honey jam cheese bread milk juice pizza soap glue paint medicine tape corn treasure".split())
FRIENDS = [("an old owl", "owl"), ("a kind turtle", "turtle"), ("a cheerful bird", "bird"), ("a small mouse", "mouse"), ("a clever fox", "fox"), ("a friendly frog", "frog"), ("a quiet deer", "deer"), ("a busy bee", "bee"), ("a gray rabbit", "rabbit"), ("a wise goat", "goat"), ("a funny duck", "duck"), ("a brown bear", "bear"),
           ("a little snail", "snail"), ("an old farmer", "farmer"), ("a gentle horse", "horse")]
# A wish: what is in its way, what is tried, how it comes true. Words in braces: N the name, he/him/his of the hero, H the helper.
WISHES: dict[str, tuple[list[str], list[str], list[str]]] = {
    "see the sea": (["But the sea was far away, behind the hills.", "But nobody had ever told {him} the way to the sea.", "But {N} had only ever seen the little pond at home."],
                    ["\"Follow the river,\" said the {H}. \"Every river finds the sea in the end.\"", "\"Go where the water goes,\" said the {H}. \"It knows the way.\"", "The {H} pointed down the river. \"The sea is at the end of it,\" the {H} said."],
                    ["At last there was no more land, only blue water up to the sky. It was the sea!", "In the evening the river became wide, and there it was: the great blue sea.", "Then {N} heard a soft sound and saw white waves. {He} had come to the sea!"]),
    "touch a cloud": (["But the clouds were very high.", "But every time {N} reached up, the clouds were still far away."], ["\"The hill is high,\" said the {H}. \"On some mornings the clouds sit down on it.\"", "\"Come up the mountain with me,\" said the {H}."],
                      ["On top of the hill everything was white and soft. {N} was inside a cloud!", "A small white cloud came down, and {N} touched it. It was cool and wet."]),
    "find a friend": (["But everyone seemed to be busy.", "But {N} was too shy to say hello."], ["\"A friend is easy to find,\" said the {H}. \"You only have to be kind first.\"", "\"Just say hello,\" said the {H}. \"That is how it starts.\""], ["\"Would you like to play with me?\" asked {N}. \"Yes!\" said the {H}. Now they were friends.", "{N} looked at the {H} and understood: {he} had found a friend already."]),
    "climb the big hill": (["But the hill was steep, and {N} was small.", "But the others said that it was much too high."], ["\"Take small steps,\" said the {H}, \"and do not look at the top.\"", "\"Rest when you are tired,\" said the {H}, \"and then go on.\""], ["Step by step {N} went up, and suddenly there was nothing above {him} but the sky.", "When the sun stood high, {N} was on top and could see the whole valley."]),
    "learn to swim": (["But the water looked deep and cold.", "But {N} was afraid of deep water."], ["\"Start where it is shallow,\" said the {H}. \"I will stay beside you.\"", "\"Breathe slowly and kick,\" said the {H}."], ["First {N} splashed a lot, then a little less, and then {he} could swim!", "After many tries {N} swam from one side to the other."]),
    "sing a song": (["But {his} voice was very quiet.", "But {N} did not know any words."], ["\"Sing about what you see,\" said the {H}.", "\"Listen to the wind first,\" said the {H}, \"it gives you the tune.\""], ["{N} took a deep breath and sang. The whole forest became still and listened.", "The song came out clear and sweet, and all the birds sang with {him}."]),
    "find a treasure": (["But {N} had no idea where to look.", "But all that {he} found was sand and stones."], ["\"Look where nobody looks,\" said the {H}.", "\"Dig under the old oak,\" said the {H}. \"That is what my grandmother told me.\""], ["Under the roots there was a little chest full of shiny coins. A real treasure!", "There, in the ground, something was shining. It was a treasure, just as {N} had dreamed."]),
    "see the snow": (["But it was always warm where {N} lived.", "But the winter was late that year."], ["\"Go up to the mountain,\" said the {H}. \"Up there it is white.\"", "\"Wait one more night,\" said the {H}. \"I can smell it in the air.\""], ["The next morning the whole world was white. It had snowed in the night!", "Small white stars fell from the sky and melted on {his} nose. It was snow."]),
    "see the stars": (["But there were too many lights in the town.", "But it was cloudy every night."], ["\"Come with me to the dark meadow,\" said the {H}.", "\"Wait until the wind has blown the clouds away,\" said the {H}."], ["Then the sky was full of stars, more than anyone could count.", "{N} lay down in the grass, and there they were, all the stars."]),
    "paint a picture": (["But {N} had never held a brush before.", "But the first tries did not look like anything."], ["\"Paint what makes you glad,\" said the {H}.", "\"There is no wrong picture,\" said the {H}."], ["{N} painted the sun, the grass and all {his} friends. It was a lovely picture.", "When it was done, everyone came to look at the picture, and everyone smiled."]),
    "fly high": (["But {N} could not get off the ground.", "But every try ended in the soft grass."], ["\"Wait for the wind,\" said the {H}. \"It will carry you.\"", "\"Start from the hill,\" said the {H}, \"and be brave.\""], ["A strong wind came, and up {N} went, higher than the trees!", "This time the air held {him}, and the houses below became as small as toys."]),
    "grow a flower": (["But the ground was dry and hard.", "But nothing came out of the earth for many days."], ["\"Give it water every morning,\" said the {H}, \"and be patient.\"", "\"A seed needs time,\" said the {H}."], ["One morning a green leaf was there, and a week later a yellow flower.", "At the end of the spring the flower opened, and it smelled sweet."]),
    "cross the river": (["But the river was wide and fast.", "But there was no way over the water."], ["\"There is an old bridge behind the mill,\" said the {H}.", "\"Let us lay stones, one after the other,\" said the {H}."], ["Slowly and carefully {N} went over, and then {he} stood on the other side.", "\"I did it!\" called {N} from the other side of the river."]),
    "win the race": (["But all the others were faster.", "But {N} had never run so far before."], ["\"Do not start too fast,\" said the {H}. \"Keep something for the end.\"", "\"Practice with me every morning,\" said the {H}."], ["On the last stretch {N} passed one after the other and came first!", "Everyone cheered when {N} came over the line before all the others."]),
    "help the others": (["But {N} thought that {he} was too small to be of use.", "But nobody asked {him} for help."], ["\"Even small ones can do big things,\" said the {H}.", "\"Just look around,\" said the {H}. \"There is always something to do.\""], ["That day the bridge broke, and {N} showed everyone another way home. They all thanked {him}.", "When a little chick got lost, it was {N} who found it and brought it back."]),
    "see the world": (["But {N} had never been farther than the old gate.", "But the world was so big, and {N} so small."], ["\"The world begins behind the next hill,\" said the {H}.", "\"Go one step, and then another,\" said the {H}."], ["{N} saw towns and woods, lakes and mountains, and each day was new.", "{He} came through green valleys and along quiet lakes, and saw more than {he} had ever dreamed of."]),
    "shine at night": (["But {his} light was weak.", "But the moon was so much brighter."], ["\"Someone will need just your light,\" said the {H}.", "\"It does not have to be a big light,\" said the {H}."], ["That night a lost child saw the little light and found the way home.", "In the darkest night {N} shone, and everyone knew where home was."]),
}
FOR_OBJECTS = {"boat": ["see the sea", "see the world", "cross the river", "find a friend", "help the others"], "kite": ["touch a cloud", "fly high", "find a friend", "see the sea"], "train": ["see the sea", "see the world", "see the snow", "help the others"], "balloon": ["touch a cloud", "fly high", "see the world"], "plane": ["touch a cloud", "fly high", "see the sea"],
               "star": ["shine at night", "find a friend"], "lamp": ["shine at night", "see the stars", "find a friend"], "candle": ["shine at night", "find a friend"], "snowman": ["see the stars", "find a friend", "see the sea"], "leaf": ["fly high", "see the world", "see the sea"], "raindrop": ["see the sea", "see the world", "find a friend"],
               "cloud": ["see the sea", "see the snow", "find a friend"], "umbrella": ["fly high", "help the others"]}
OPENINGS = ["Once upon a time, there was {a_hero} named {N}.", "There was once {a_hero} named {N}.", "Once there was {a_hero} called {N}.", "Long ago, there lived {a_hero} named {N}.", "In a small town there was {a_hero} called {N}.", "Far away, there was {a_hero} named {N}.", "{N} was {a_hero} who lived at the end of a long road.", "This is the story of {N}, {a_hero}.", "Everyone knew {N}, {a_hero} with bright eyes.", "Not so long ago, {a_hero} called {N} moved into a little house.", "It was a sunny day when {N}, {a_hero}, woke up very early.", "On a cold morning, {a_hero} named {N} looked out of the window."]
UNNAMED = ["Once upon a time, there was {a_hero}.", "There was once {a_hero}.", "Long ago, there was {a_hero}.", "Far away, behind the hills, there was {a_hero}.", "Once there was {a_hero} that everyone liked."]
TRAITS = ["{He} was kind to everyone.", "Every morning {he} looked out and wondered what the day would bring.", "{He} liked quiet evenings and long days.", "{He} loved to ask questions.", "{He} had a warm heart.", "Everybody knew {him} and liked {him}.", "{He} was never in a bad mood for long.", "{He} liked to watch the birds.", "{He} often sat in the sun and dreamed.",
          "{He} laughed a lot, even on rainy days."]
AT_PLACE = ["{N} lived near the {P}.", "{His} home was close to the {P}.", "The {P} was not far away, and {N} liked it there.", "{N} knew every corner of the {P}."]
WANTED = ["More than anything, {N} wanted to {w}.", "{N} wanted to {w}.", "One wish was always on {his} mind: {he} wanted to {w}.", "There was one thing that {N} wanted: {he} wanted to {w}."]
SETS_OUT = ["One morning {N} set out all the same.", "So one day {N} made a plan and started.", "One day {N} said, \"Today I will try.\"", "On the first day of spring {N} began."]
MEETS = ["On the way {he} met {h}.", "After a while {N} met {h}.", "Near an old stone wall sat {h}.", "Then {h} came along the path."]
ASKS = ["\"Where are you going?\" asked the {H}. {N} told everything.", "\"Why do you look so thoughtful?\" asked the {H}. So {N} told about the wish.", "The {H} listened to {him} and nodded.", "\"Can you help me?\" asked {N}."]
TOGETHER = ["So they went on together.", "The {H} came along.", "They went on side by side.", "\"I will come with you,\" said the {H}.", "Now there were two of them, and the way seemed shorter."]
SMALL_BEATS = ["Beside the path lay {a}. {N} picked up the {t} and took it along.", "Under a leaf {he} found {a}. \"How nice!\" said {N}.", "The {H} gave {him} {a}. \"It will bring you luck,\" the {H} said.", "{N} had {a} with {him}, and that was a good thing.", "In the grass something caught {his} eye. It was {a}.", "{N} carried {a} all the way and took good care of it.",
               "A child had lost {a} there. {N} gave the {t} back, and the child was glad.", "They found {a} and looked at it from all sides.", "\"Look what I have here,\" said the {H} and showed {him} {a}."]
FOOD_BEATS = ["At noon they sat down and shared {a}.", "The {H} had brought {a}. It tasted very good.", "The {H} was hungry, and luckily there was {a} in the bag.", "A friendly woman gave them {a} for the way.", "They smelled something sweet. It was {a}, and there was enough for all."]
LARGE_BEATS = ["Soon they came to {a}. They had never seen one like it.", "Behind the next corner was {a}.", "They stopped at {a} and looked around.", "Not far from there was {a}. \"Let us rest here,\" said the {H}.", "In the distance {N} saw {a}. They walked towards it."]
SKY_BEATS = ["High above them there was {a}.", "Then they looked up and saw {a}.", "{N} pointed at the sky. There was {a}!"]
EVENT_BEATS = ["\"Do you know what I like?\" asked {N}. \"{a_big}!\"", "The {H} told {him} about {a}, and both of them laughed.", "On the way they thought of {a}, and the time went by quickly."]
MASS_BEATS = {"mud": "There was mud on the path, and they jumped over it.", "sand": "The sand was warm and soft under them.", "snow": "A little snow still lay in the shade.", "rain": "Then the rain came, but they did not mind.", "wind": "The wind was blowing from behind and helped them along.", "magic": "There was a kind of magic in the air.", "treasure": "They talked about a hidden treasure all the way.",
              "paint": "Someone had left blue paint there, and they drew a smile on a stone.", "glue": "With a little glue they fixed an old toy that lay there.", "soap": "They washed with soap and water, for they had become dirty.", "medicine": "The {H} had some medicine in the bag, just to be safe.", "tape": "With a bit of tape {N} mended a torn book for the {H}."}
LOST = ["One day {N} could not find {his} {t}. {He} looked everywhere.", "One morning the {t} was gone. {N} had liked it more than anything."]
LOOKS = ["{He} looked under the bed and behind the door, but it was not there.", "{He} went back the whole way and looked at every stone.", "\"Where can it be?\" {he} said."]
FOUND_AGAIN = ["\"Is this yours?\" asked the {H} and held up the {t}. {N} jumped for joy.", "And there, between the roots of an old tree, was the {t}!", "The {H} had found the {t} and kept it safe for {him}."]
FEARS = [("the dark", "When the lights went out, {N} hid under the blanket.", "\"The dark is only the day with closed eyes,\" said the {H}."), ("thunder", "When it rumbled, {N} hid in the corner.", "\"Thunder is only the sky clearing its throat,\" said the {H}."), ("the big forest", "{N} never went farther than the first tree.", "\"The forest is full of friends,\" said the {H}. \"I will show you.\""),
         ("loud noises", "At every bang {N} jumped.", "\"Let us make some noise ourselves,\" said the {H}, and they both laughed."), ("new people", "When somebody came, {N} looked at the floor.", "\"All of my friends were new once,\" said the {H}.")]
BRAVE = ["The next time {N} took a deep breath and stayed where {he} was. It was not so bad.", "Slowly the fear became smaller, and one day it was gone."]
THANKS = ["\"Thank you for your help,\" said {N}.", "{N} thanked the {H} with all {his} heart.", "\"I could not have done it without you,\" {N} told the {H}.", "\"You are a good friend,\" {N} said to the {H}.", "The {H} smiled. \"You did it yourself,\" it said."]
ENDINGS = ["In the evening {N} went home, tired and happy.", "From that day on {N} was not afraid to try new things.", "And that night {N} fell asleep with a smile.", "Since then the two have been the best of friends.", "{N} told the story again and again, and everyone liked to hear it.", "And whenever somebody was sad, {N} told them how it had happened.",
           "{N} learned that big wishes begin with a small step.", "{N} learned that it is good to ask for help.", "It was the best day that {N} had ever had.", "And they all lived happily together."]


@dataclass
class Cast:
    """Who the story is about and what is in it."""

    hero: str
    quality: str = ""
    name: str = ""
    things: list[str] = field(default_factory=list)
    place: str = ""
    wish: str = ""
    helper: tuple[str, str] = ("", "")  # with its article and quality, and alone


def pronouns(hero: str, name: str, rng: random.Random) -> dict[str, str]:
    is_she = hero in ("girl", "princess", "fairy") or hero not in ("boy", "prince") and name in words.GIRLS
    if hero in OBJECTS or not name and hero in ANIMALS:
        return {"he": "it", "him": "it", "his": "its"}
    return {"he": "she", "him": "her", "his": "her"} if is_she else {"he": "he", "him": "him", "his": "his"}


def beats_of(things: list[str], rng: random.Random) -> list[str]:
    """A sentence or two for each of the things, no two of the same shape."""
    beats: list[str] = []
    used: set[str] = set()
    for thing in rng.sample(things, len(things)):
        last = thing.split()[-1]
        if last in MASS_BEATS and last == thing:
            beats.append(MASS_BEATS[last])
            continue
        pool = FOOD_BEATS if last in FOODS else LARGE_BEATS if last in LARGE else SKY_BEATS if last in SKY else EVENT_BEATS if last in EVENTS else SMALL_BEATS
        shape = rng.choice([one for one in pool if one not in used] or pool)
        used.add(shape)
        beats.append(shape.replace("{a_big}", words.article(thing).capitalize()).replace("{a}", thing if last in MASS else words.article(thing)).replace("{t}", thing))
    return beats


def wishes_for(hero: str) -> list[str]:
    return FOR_OBJECTS.get(hero, ["see the sea", "find a friend", "see the world", "see the stars", "help the others"] if hero in OBJECTS else [wish for wish in WISHES if wish not in ("shine at night",)])


def middle(cast: Cast, rng: random.Random) -> list[str]:
    """The plot itself, up to the point where all is well."""
    carried = [thing for thing in cast.things if thing.split()[-1] not in FOODS | LARGE | SKY | EVENTS | MASS]
    kind = "wish" if cast.wish else rng.choice(["wish", "fear", "loss" if carried else "fear", *["turns"] * 7])
    if kind == "turns":
        edible = [thing for thing in cast.things if thing.split()[-1] in FOODS - MASS]
        return story_turns.turns(rng.sample(cast.things, len(cast.things)), len(carried) + len(edible) == len(cast.things), MASS, rng, lambda things: beats_of(things, rng))
    if kind == "loss":
        lost = carried[0]
        beats = beats_of([thing for thing in cast.things if thing != lost], rng)
        return [rng.choice(LOST).replace("{t}", lost), rng.choice(LOOKS), rng.choice(MEETS), "\"What are you looking for?\" asked the {H}.", *beats, rng.choice(FOUND_AGAIN).replace("{t}", lost), rng.choice(THANKS)]
    beats = beats_of(cast.things, rng)
    if kind == "fear":
        what, shows, says = rng.choice(FEARS)
        return [f"But {{N}} was afraid of {what}.", shows, rng.choice(MEETS), says, *beats, rng.choice(BRAVE), rng.choice(THANKS)]
    wish = cast.wish or rng.choice(wishes_for(cast.hero))
    hard, tried, true = WISHES[wish]
    return [rng.choice(WANTED).replace("{w}", wish), rng.choice(hard), rng.choice(SETS_OUT), rng.choice(MEETS), rng.choice(ASKS), rng.choice(tried), rng.choice(TOGETHER), *beats, rng.choice(true), rng.choice(THANKS)]


def told(cast: Cast, rng: random.Random) -> str:
    """The story of the cast, in paragraphs."""
    hero = words.article(f"{cast.quality} {cast.hero}".strip())
    called = cast.name or f"the {cast.quality + ' ' if cast.quality and rng.random() < 0.4 else ''}{cast.hero}"
    helper, short = cast.helper
    opening = [rng.choice(OPENINGS if cast.name else UNNAMED), rng.choice(TRAITS)]
    if cast.place:
        opening.append(rng.choice(AT_PLACE))
    plot = middle(cast, rng)
    cut = len(plot) // 2 + rng.randint(-1, 1)
    has_wish = any("wanted to" in one for one in plot)
    ending = rng.sample([one for one in ENDINGS if has_wish or not re.search("wishes|for help|new things", one)], rng.choice([1, 1, 2]))
    paragraphs = [" ".join(part) for part in (opening, plot[:max(1, cut)], plot[max(1, cut):], ending)]
    own = pronouns(cast.hero, cast.name, rng)
    text = "\n".join(paragraphs if rng.random() < 0.6 else [" ".join(paragraphs[:2]), " ".join(paragraphs[2:])])
    text = text.format(A_friend=rng.choice(["A friend", "A child", "A kind man", "Someone"]), H_big="The " + short, h_big=helper[0].upper() + helper[1:], a_hero=hero, N=called, P=cast.place, h=helper, H=short, He=own["he"].capitalize(), His=own["his"].capitalize(), **own)
    return starts_large(text)


def starts_large(text: str) -> str:
    """Capital letters where sentences begin."""
    out, is_start = [], True
    for letter in text:
        out.append(letter.upper() if is_start and letter.isalpha() else letter)
        if letter in ".!?\n":
            is_start = True
        elif letter.isalpha() or letter == ",":
            is_start = False
        elif letter == '"' and out and len(out) > 1 and out[-2] in "?!.,":
            is_start = out[-2] == "." and is_start
    return "".join(out)


def cast_of(rng: random.Random, things: list[str], places: list[str]) -> Cast:
    kind = rng.random()
    hero = rng.choice(ANIMALS if kind < 0.55 else OBJECTS if kind < 0.7 else PEOPLE if kind < 0.85 else ["girl", "boy"])
    names = words.GIRLS if hero in ("girl", "princess", "fairy") else words.BOYS if hero in ("boy", "prince") else words.GIRLS + words.BOYS
    chance = 0.3 if hero in OBJECTS else 0.8
    chosen = [thing for thing in rng.sample(things, rng.choices([0, 1, 2, 3, 4], weights=[1, 4, 6, 6, 2])[0]) if thing != hero]
    shown = [f"{rng.choice(['red', 'blue', 'green', 'old', 'big', 'small', 'golden', 'white'])} {thing}" if rng.random() < 0.25 and thing not in MASS | SKY | EVENTS else thing for thing in chosen]
    wish = rng.choice(wishes_for(hero)) if rng.random() < 0.3 else ""
    return Cast(hero, rng.choice(QUALITIES) if rng.random() < 0.85 else "", rng.choice(names) if rng.random() < chance else "", shown, rng.choice(places) if rng.random() < 0.2 else "", wish,
                rng.choice([one for one in FRIENDS if one[1] != hero]))


def story(rng: random.Random, things: list[str], places: list[str]) -> tuple[Cast, str]:
    """A cast and a story that is told well."""
    while True:
        cast = cast_of(rng, things, places)
        text = told(cast, rng)
        if is_told_well(text):
            return cast, text
