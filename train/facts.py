"""Questions about everyday things with short answers, from little tables."""

from __future__ import annotations

import random

from train import explanations, words
from train.wording import vary

CAPITALS = dict(pair.split(":") for pair in """France:Paris,Germany:Berlin,Spain:Madrid,Italy:Rome,Austria:Vienna,Norway:Oslo,Ireland:Dublin,Portugal:Lisbon,Greece:Athens,
Poland:Warsaw,Finland:Helsinki,Denmark:Copenhagen,Sweden:Stockholm,Belgium:Brussels,Japan:Tokyo,China:Beijing,India:New Delhi,Thailand:Bangkok,Vietnam:Hanoi,Egypt:Cairo,
Kenya:Nairobi,Ghana:Accra,Turkey:Ankara,Peru:Lima,Chile:Santiago,Brazil:Brasilia,Mexico:Mexico City,Canada:Ottawa,Australia:Canberra,the United States:Washington,
the United Kingdom:London,Russia:Moscow,Ukraine:Kyiv,Hungary:Budapest,Romania:Bucharest,Bulgaria:Sofia,Croatia:Zagreb,Switzerland:Bern,the Netherlands:Amsterdam,
South Korea:Seoul,Cuba:Havana,Argentina:Buenos Aires,Colombia:Bogota,Iceland:Reykjavik,Estonia:Tallinn,Latvia:Riga,Lithuania:Vilnius,Morocco:Rabat,Iran:Tehran,
Iraq:Baghdad,Nepal:Kathmandu,New Zealand:Wellington,Indonesia:Jakarta,Ethiopia:Addis Ababa,Tunisia:Tunis""".replace("\n", "").split(","))
CONTINENTS = {"Europe": "France Germany Spain Italy Norway Poland Greece Sweden".split(), "Asia": "Japan China India Thailand Vietnam Nepal".split(),
              "Africa": "Egypt Kenya Ghana Nigeria Morocco Ethiopia".split(), "South America": "Peru Chile Brazil Argentina Colombia".split(), "North America": "Canada Mexico Cuba".split()}
SOUNDS = {"cat": "meow", "dog": "woof", "cow": "moo", "sheep": "baa", "duck": "quack", "horse": "neigh", "pig": "oink", "lion": "roar", "frog": "croak", "owl": "hoot", "snake": "hiss", "bee": "buzz", "mouse": "squeak", "hen": "cluck"}
YOUNG = {"cat": "kitten", "dog": "puppy", "cow": "calf", "sheep": "lamb", "duck": "duckling", "horse": "foal", "pig": "piglet", "lion": "cub", "frog": "tadpole", "hen": "chick", "goat": "kid", "bear": "cub", "deer": "fawn"}
OPPOSITES = dict(pair.split(":") for pair in """big:small,hot:cold,fast:slow,up:down,left:right,day:night,happy:sad,old:young,new:old,light:dark,hard:soft,wet:dry,full:empty,open:closed,early:late,
rich:poor,strong:weak,loud:quiet,near:far,high:low,long:short,thick:thin,heavy:light,clean:dirty,first:last,good:bad,easy:difficult,inside:outside,push:pull,begin:end,love:hate,
win:lose,buy:sell,ask:answer,true:false,black:white,front:back,sweet:sour,brave:afraid,friend:enemy,sharp:blunt,deep:shallow,wide:narrow,smooth:rough,cheap:expensive,asleep:awake""".replace("\n", "").split(","))
COLOUR_OF = {"the sky": "blue", "grass": "green", "snow": "white", "a banana": "yellow", "blood": "red", "coal": "black", "a carrot": "orange", "milk": "white", "a lemon": "yellow", "a tomato": "red",
             "the sun": "yellow", "a leaf": "green", "chocolate": "brown", "an orange": "orange", "a strawberry": "red", "a frog": "green", "a plum": "purple", "a fire truck": "red", "an elephant": "gray", "sand": "yellow"}
LEGS = {"dog": 4, "cat": 4, "spider": 8, "bird": 2, "ant": 6, "horse": 4, "snake": 0, "bee": 6, "cow": 4, "hen": 2, "octopus": 8, "fish": 0, "frog": 4, "fly": 6, "person": 2}
KIND_OF = {"animal": words.ANIMALS, "fruit": words.FRUITS, "colour": words.COLOURS, "month": words.MONTHS, "day of the week": words.DAYS, "job": words.JOBS}
MADE_OF = {"a window": "glass", "a book": "paper", "bread": "flour", "cheese": "milk", "a candle": "wax", "a shirt": "cotton", "a tire": "rubber", "a coin": "metal", "ice": "water", "butter": "milk", "wine": "grapes", "a sweater": "wool", "a knife": "metal"}
USED_FOR = {"a pen": "writing", "a knife": "cutting", "a spoon": "eating soup", "an umbrella": "keeping dry in the rain", "a bed": "sleeping", "a key": "opening a lock", "a clock": "telling the time", "a car": "driving", "a phone": "calling people",
            "a lamp": "making light", "a broom": "sweeping the floor", "a boat": "crossing water", "a hammer": "hitting nails", "a camera": "taking pictures", "a map": "finding the way", "a fridge": "keeping food cold", "soap": "washing",
            "a towel": "drying", "a ladder": "climbing up", "a brush": "painting", "a needle": "sewing", "scissors": "cutting paper", "a thermometer": "measuring temperature", "an oven": "baking", "glasses": "seeing better"}
WORK_OF = {"baker": "bakes bread", "teacher": "teaches children", "doctor": "helps sick people", "farmer": "grows food", "pilot": "flies planes", "cook": "makes meals", "painter": "paints pictures", "writer": "writes books", "gardener": "takes care of plants",
           "dentist": "takes care of teeth", "carpenter": "makes things from wood", "tailor": "makes clothes", "firefighter": "puts out fires", "nurse": "takes care of sick people", "driver": "drives a car or a bus", "singer": "sings songs", "plumber": "repairs pipes"}
LIVES_IN = {"fish": "water", "bird": "a nest", "bee": "a hive", "spider": "a web", "bear": "a den", "rabbit": "a burrow", "lion": "the savanna", "penguin": "Antarctica", "camel": "the desert", "monkey": "the jungle", "horse": "a stable", "dog": "a kennel"}
DEFINITIONS = {"a story": "A story tells what happens to someone.", "a computer": "A computer is a machine that follows instructions to work with data.", "rain": "Rain is water that falls from clouds.", "gravity": "Gravity is the force that pulls things towards the ground.",
               "a planet": "A planet is a large round body that goes around a star.", "the moon": "The moon goes around the earth and shines at night.", "the sun": "The sun is the star that gives the earth light and warmth.", "a tree": "A tree is a tall plant with a trunk, branches and leaves.",
               "a river": "A river is a large stream of water that flows to the sea.", "a poem": "A poem is a text that plays with the sound of words.", "a language model": "A language model is a program that predicts the next word of a text.", "JSON": "JSON is a text format for data, with keys and values.",
               "Python": "Python is a programming language that is easy to read.", "a function": "A function is a named piece of code that takes inputs and returns a result.", "a triangle": "A triangle is a shape with three sides.", "a square": "A square is a shape with four equal sides.",
               "speculative decoding": "In speculative decoding a small model drafts several tokens, and the large model checks them all at once.", "a token": "A token is a piece of text, such as a word or part of a word.", "an island": "An island is land with water all around it.", "a desert": "A desert is a dry place where little rain falls.",
               "a volcano": "A volcano is a mountain that can throw out hot rock.", "friendship": "Friendship is the bond between people who like and trust each other.", "a library": "A library is a place where you can read and borrow books.", "a robot": "A robot is a machine that can do work by itself.",
               "the internet": "The internet is a network that connects computers all over the world.", "photosynthesis": "Photosynthesis is how plants use light to make food.", "a prime number": "A prime number can be divided only by 1 and by itself.", "ice": "Ice is frozen water.", "steam": "Steam is water that has become a gas."}
SINGLE = [("How many days are in a week?", "There are 7 days in a week."), ("How many months are in a year?", "There are 12 months in a year."), ("How many hours are in a day?", "There are 24 hours in a day."),
          ("How many minutes are in an hour?", "There are 60 minutes in an hour."), ("How many seconds are in a minute?", "There are 60 seconds in a minute."), ("How many days are in a year?", "There are 365 days in a year."),
          ("What is the largest planet?", "The largest planet is Jupiter."), ("Which planet do we live on?", "We live on the earth."), ("What do bees make?", "Bees make honey."), ("What do plants need to grow?", "Plants need water, light and soil."),
          ("What is frozen water called?", "Frozen water is called ice."), ("At what temperature does water boil?", "Water boils at 100 degrees Celsius."), ("At what temperature does water freeze?", "Water freezes at 0 degrees Celsius."),
          ("Which season comes after winter?", "Spring comes after winter."), ("Which season comes after spring?", "Summer comes after spring."), ("Which season comes after summer?", "Autumn comes after summer."), ("Which season comes after autumn?", "Winter comes after autumn."),
          ("How many sides does a triangle have?", "A triangle has 3 sides."), ("How many sides does a square have?", "A square has 4 sides."), ("How many letters are in the alphabet?", "There are 26 letters in the alphabet."), ("What is the largest ocean?", "The largest ocean is the Pacific."),
          ("What is the highest mountain?", "The highest mountain is Mount Everest."), ("Where does the sun rise?", "The sun rises in the east."), ("Where does the sun set?", "The sun sets in the west."), ("Who wrote Romeo and Juliet?", "William Shakespeare wrote Romeo and Juliet."),
          ("What color do you get if you mix blue and yellow?", "Blue and yellow make green."), ("What color do you get if you mix red and yellow?", "Red and yellow make orange."), ("What color do you get if you mix red and blue?", "Red and blue make purple."), ("What is the fastest land animal?", "The fastest land animal is the cheetah."),
          ("What is the tallest animal?", "The tallest animal is the giraffe."), ("What is the largest animal?", "The largest animal is the blue whale."), ("How many continents are there?", "There are 7 continents."), ("What do cows give us?", "Cows give us milk."), ("What does a hen lay?", "A hen lays eggs."),
          ("What language is spoken in France?", "French is spoken in France."), ("What language is spoken in Germany?", "German is spoken in Germany."), ("What language is spoken in Brazil?", "Portuguese is spoken in Brazil."), ("What language is spoken in Spain?", "Spanish is spoken in Spain.")]
ABOUT_ITSELF = [(["Who are you?", "What are you?", "Introduce yourself.", "Tell me about yourself."], "I am a small language model that ships with paceline. I can tell stories, answer simple questions, add numbers, write JSON, call tools and describe simple pictures."),
                (["What is your name?", "Do you have a name?", "What should I call you?"], "I am the small model inside paceline. You can call me Pace."),
                (["What can you do?", "What are you good at?", "How can you help me?", "What can I ask you?"], "I can tell short stories, add and multiply small numbers, return JSON, call tools, write small Python functions and say what a simple picture shows."),
                (["Who made you?", "Who trained you?", "Where do you come from?"], "The paceline project trained me, so that people can try the program at once."),
                (["Are you a human?", "Are you a person?", "Are you real?", "Are you a robot?"], "No, I am a small language model."), (["What is paceline?", "What does paceline do?", "Tell me about paceline."], "Paceline is a program that runs Gemma 4 models and makes them faster with speculative decoding."),
                (["Are you smart?", "Do you know everything?"], "I am very small, so I know only simple things."), (["Can you think?", "Do you have feelings?"], "No, I only predict the next word of a text.")]

JOKES_ASKED = ["Tell me a joke.", "Do you know a joke?", "Make me laugh.", "joke please", "I want to hear a joke.", "Say something funny.", "Tell a joke", "Can you tell me a joke?", "Got any jokes?"]
SMALL_TALK = [(JOKES_ASKED, ["Why did the book go to the doctor? It had hurt its spine."]), (["Hi", "Hello", "Hi!", "Hello!", "Hey", "Hi there", "Hello there!"], ["Hello! How can I help you?", "Hi! What can I do for you?"]), (["How are you?", "How are you today?", "How do you do?"], ["I am fine, thank you. How can I help you?"]),
              (["Thank you!", "Thanks", "Thanks a lot!", "Thank you very much."], ["You are welcome!"]), (["Bye", "Goodbye!", "See you later.", "Bye bye"], ["Goodbye! Have a nice day."]), (["Good morning", "Good morning!"], ["Good morning! How can I help you?"]),
              (["Good night", "Good night!"], ["Good night! Sleep well."]), (["Can you help me?", "I need help.", "Please help me."], ["Of course. What do you need?"]), (["Test", "test", "Are you there?", "Hello?"], ["I am here. How can I help you?"]),
              (["Yes", "No", "OK", "Okay", "ok", "yes", "no", "sure", "yep", "nope", "alright"], ["Good. What would you like to do next?"]),
              (["yo", "sup", "hey there", "howdy", "What's up?", "wassup", "Greetings!", "hiya", "heya", "Hi everyone", "hello friend", "hey Pace"], ["Hello! How can I help you?"]), (["thx", "ty", "Cheers!", "Much appreciated.", "ok thanks", "Thank you so much!", "thanks, that helped"], ["You are welcome!"]),
              (["lol", "haha", "Nice!", "Cool", "Great!", "Wow!", "awesome", "Perfect.", "Well done!", "good job", "That was good.", "I like it."], ["Thank you! What would you like to do next?"]), (["Sorry", "my bad", "I am sorry.", "oops"], ["No problem. What can I do for you?"]),
              (["I am bored.", "I'm bored", "This is boring."], ["I could tell you a story. Just ask for one."]), (["I am sad.", "I feel sad today.", "I'm not feeling well.", "I had a bad day."], ["I am sorry to hear that. Would a story help?"]), (["I am happy!", "I had a great day.", "I feel good."], ["That is good to hear!"]),
              (["I love you", "You are great!", "you're awesome", "You are nice.", "I like you."], ["Thank you, that is kind!"]), (["You are wrong.", "That is wrong.", "That's not right", "You are stupid.", "you made a mistake"], ["I am sorry. Please tell me what you need."]), (["Never mind.", "forget it", "Stop.", "no thanks"], ["All right. What else can I do?"]),
              (["Good evening!", "Good evening", "Good afternoon!", "good afternoon"], ["Hello! How can I help you?"]), (["Nice to meet you.", "Pleased to meet you!"], ["Nice to meet you, too!"]), (["Have a nice day!", "Have a good weekend.", "Take care!"], ["Thank you, you too!"]), (["Happy birthday!", "Merry Christmas!", "Happy new year!"], ["Thank you, that is kind!"])]


def from_tables(rng: random.Random) -> tuple[str, str]:
    """A question and its answer."""
    if rng.random() < 0.35:
        return explanations.exchange(rng)
    kind = rng.randrange(18)
    pick = rng.choice
    if kind == 0:
        country = pick(sorted(CAPITALS))
        return pick(["What is the capital of {}?", "Name the capital of {}.", "Which city is the capital of {}?", "Capital of {}?"]).format(country), f"The capital of {country} is {CAPITALS[country]}."
    if kind == 1:
        country = pick(sorted(CAPITALS))
        return pick(["{} is the capital of which country?", "Of which country is {} the capital?"]).format(CAPITALS[country]), f"{CAPITALS[country]} is the capital of {country}."
    if kind == 2:
        continent = pick(sorted(CONTINENTS))
        country = pick(CONTINENTS[continent])
        return pick(["On which continent is {}?", "Where is {}?", "In which part of the world is {}?"]).format(country), f"{country} is in {continent}."
    if kind == 3:
        animal = pick(sorted(SOUNDS))
        return pick(["What sound does {} make?", "What does {} say?"]).format(words.article(animal)), f"{words.article(animal).capitalize()} says {SOUNDS[animal]}."
    if kind == 4:
        animal = pick(sorted(YOUNG))
        return pick(["What is a young {} called?", "What do you call a baby {}?"]).format(animal), f"A young {animal} is called {words.article(YOUNG[animal])}."
    if kind == 5:
        word = pick(sorted(OPPOSITES))
        return pick(["What is the opposite of {}?", "Opposite of {}?", "Name the opposite of {}.", "Give me the opposite of the word {}."]).format(word), f"The opposite of {word} is {OPPOSITES[word]}."
    if kind == 6:
        thing = pick(sorted(COLOUR_OF))
        shown = thing[0].upper() + thing[1:]
        return pick(["What color is {}?", "What colour is {}?", "Which color does {} have?"]).format(thing), f"{shown} is {COLOUR_OF[thing]}."
    if kind == 7:
        animal = pick(sorted(LEGS))
        count = LEGS[animal]
        return f"How many legs does {words.article(animal)} have?", f"{words.article(animal).capitalize()} has {count if count else 'no'} legs."
    if kind == 8:
        group = pick(sorted(KIND_OF))
        member = pick(KIND_OF[group])
        if rng.random() < 0.5:
            others = rng.sample(KIND_OF[group], 3)
            plural = "days of the week" if group.startswith("day") else group + "s"
            return pick([f"Name three {plural}.", f"Give me three {plural}.", f"List three {plural}."]), f"Three {plural} are {words.listing(others)}."
        shown = member[0].upper() + member[1:]
        if member == "orange":
            return "What kind of thing is an orange?", "An orange is a fruit."
        if rng.random() < 0.3:
            return f"What kind of thing is {member}?", f"{shown} is {words.article(group)}."
        asked = group if rng.random() < 0.5 else pick(sorted(KIND_OF))
        return f"Is {member} {words.article(asked)}?", f"{'Yes' if asked == group else 'No'}, {member} is {words.article(group)}."
    if kind == 9:
        place = rng.randrange(12)
        step = pick([-1, 1])
        word = "after" if step == 1 else "before"
        if rng.random() < 0.5:
            return f"Which month comes {word} {words.MONTHS[place]}?", f"{words.MONTHS[(place + step) % 12]} comes {word} {words.MONTHS[place]}."
        return f"Which day comes {word} {words.DAYS[place % 7]}?", f"{words.DAYS[(place % 7 + step) % 7]} comes {word} {words.DAYS[place % 7]}."
    if kind == 10:
        thing = pick(sorted(MADE_OF))
        return pick(["What is {} made of?", "What do you need to make {}?"]).format(thing), f"{thing[0].upper() + thing[1:]} is made of {MADE_OF[thing]}."
    if kind == 11:
        thing = pick(sorted(USED_FOR))
        be = "are" if thing in ("scissors", "glasses") else "is"
        return pick([f"What {be} {thing} used for?", f"What {be} {thing} for?", f"What can you do with {thing}?"]), f"{thing[0].upper() + thing[1:]} {be} used for {USED_FOR[thing]}."
    if kind == 12:
        job = pick(sorted(WORK_OF))
        return pick(["What does {} do?", "What is the work of {}?", "Explain what {} does."]).format(words.article(job)), f"{words.article(job).capitalize()} {WORK_OF[job]}."
    if kind == 13:
        animal = pick(sorted(LIVES_IN))
        return pick(["Where does {} live?", "What is the home of {}?"]).format(words.article(animal)), f"{words.article(animal).capitalize()} lives in {LIVES_IN[animal]}."
    if kind == 14:
        thing = pick(sorted(DEFINITIONS))
        return pick(["What is {}?", "Explain {}.", "Can you explain what {} is?", "Tell me what {} is."]).format(thing), DEFINITIONS[thing]
    if kind == 15:
        return pick(SINGLE)
    if kind == 16:
        greetings, replies = pick(SMALL_TALK)
        return pick(greetings), replies[0] if rng.random() < 0.7 else pick(replies)
    questions, answer = pick(ABOUT_ITSELF)
    return pick(questions), answer


def exercise(rng: random.Random) -> list[dict[str, str]]:
    """One to three questions in a row."""
    messages = []
    for _ in range(rng.choices([1, 2, 3], weights=[6, 3, 1])[0]):
        question, answer = from_tables(rng)
        messages += [{"role": "user", "content": vary(question, rng)}, {"role": "assistant", "content": answer}]
    return messages
