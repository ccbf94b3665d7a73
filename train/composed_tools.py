"""Functions that nobody has seen before: a verb, a thing and some parameters, with requests that say every value."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any, Callable

from train import words

Make = Callable[[random.Random], Any]


def integer(low: int, high: int) -> Make:
    return lambda rng: rng.randint(low, high)


def choice(options: list[Any]) -> Make:
    return lambda rng: rng.choice(options)


def decimal(low: int, high: int) -> Make:
    def make(rng: random.Random) -> float | int:
        tenths = rng.randint(low * 10, high * 10)
        return tenths // 10 if tenths % 10 == 0 or rng.random() < 0.3 else tenths / 10
    return make


def some(pool: list[str], low: int = 1, high: int = 4) -> Make:
    return lambda rng: rng.sample(pool, rng.randint(low, high))


@dataclass
class Slot:
    """A parameter: its possible names, type, description, values, and clauses for requests if it may be left out."""

    names: list[str]
    kind: str
    about: str
    make: Make
    clauses: list[str] = field(default_factory=list)  # optional parameters: how a request mentions it
    options: list[str] | None = None
    shown: Callable[[Any], str] | None = None  # how a value is said, if not as it is
    says: list[str] = field(default_factory=list)  # composed functions: how requests say it


@dataclass
class Invented:
    """A function that may be declared, with requests that need it and what it answers."""

    names: list[str]
    about: list[str]
    slots: list[Slot]
    requests: list[str]  # {0}, {1}: the slots without clauses, in order; {o}: the others
    answer: Callable[[list[Any], random.Random], tuple[Any, str]] | None = None
    done: str = ""  # what a successful call has done, as a sentence without its end
    verb: str = ""  # composed functions: what is done
    thing: str = ""  # and to what


@dataclass
class Parameter:
    """A parameter of composed functions, and how requests say it."""

    names: list[str]
    kind: str
    about: list[str]
    make: Make
    says: list[str]
    options: list[str] | None = None
    shown: Callable[[Any], str] | None = None


def flag(names: list[str], about: list[str], yes: str, no: str) -> Parameter:
    return Parameter(names, "boolean", about, lambda rng: rng.random() < 0.55, ["{v}"], None, lambda value: yes if value else no)


def option(names: list[str], about: list[str], options: list[str], says: list[str]) -> Parameter:
    return Parameter(names, "string", about, choice(options), says, options)


def title(rng: random.Random) -> str:
    return rng.choice([f"{rng.choice(words.ADJECTIVES).capitalize()} {rng.choice(words.THINGS).capitalize()}", f"{rng.choice(words.MONTHS)} {rng.choice(['plan', 'list', 'notes', 'trip', 'budget', 'party'])}", f"{rng.choice(words.FIRST_NAMES)}'s {rng.choice(words.THINGS)}",
                       f"Project {words.invented_word(rng).capitalize()}", rng.choice(words.THINGS)])


def short_text(rng: random.Random) -> str:
    return rng.choice([f"Please bring the {rng.choice(words.THINGS)}", f"See you on {rng.choice(words.DAYS)}", f"The {rng.choice(words.THINGS)} is {rng.choice(words.ADJECTIVES)}", f"{rng.choice(words.FIRST_NAMES)} is waiting", "We are ready", f"Do not forget the {rng.choice(words.FOODS)}",
                       f"I like {rng.choice(words.HOBBIES)}", f"Dinner at {words.clock(rng)}", "All went well", f"Call {rng.choice(words.FIRST_NAMES)} back", f"The code is {rng.randint(100, 9999)}", f"Happy birthday, {rng.choice(words.FIRST_NAMES)}"])


def file_name(rng: random.Random) -> str:
    return f"{rng.choice(words.THINGS + words.ANIMALS)}{rng.choice(['', '', '_' + str(rng.randint(1, 99))])}.{rng.choice(['txt', 'csv', 'json', 'md', 'pdf', 'png', 'py', 'log'])}"


def web_address(rng: random.Random) -> str:
    return f"https://{rng.choice(words.COMPANIES).lower()}.{rng.choice(['com', 'org', 'net'])}/{rng.choice(words.THINGS)}"


TAGS = words.ANIMALS + words.COLOURS + words.HOBBIES + ["urgent", "family", "work", "travel", "food", "old", "holiday"]
PARAMETERS = [
    Parameter(["city", "location", "place", "town"], "string", ["Name of the city", "City", "Where it is", "The place, for example Paris"], words.city, ["in {v}", "for {v}", "at {v}"]),
    Parameter(["name", "person", "customer", "user", "owner"], "string", ["Name of the person", "Who it is for", "Person"], words.first_name, ["for {v}", "under the name {v}", "in the name of {v}"]),
    Parameter(["full_name", "customer_name", "guest"], "string", ["First and last name", "Full name of the person"], words.full_name, ["for {v}", "with the name {v}"]),
    Parameter(["date", "day", "on_date", "start_date"], "string", ["Date as YYYY-MM-DD", "The date"], words.iso_date, ["on {v}", "for {v}", "dated {v}"]),
    Parameter(["weekday", "day_of_week"], "string", ["Day of the week"], choice(words.DAYS), ["on {v}", "for {v}", "every {v}"]),
    Parameter(["time", "at", "start_time", "hour"], "string", ["Time as HH:MM", "Time of day"], words.clock, ["at {v}", "starting at {v}"]),
    Parameter(["count", "quantity", "number", "amount_of_items"], "integer", ["How many", "Number of pieces", "Quantity"], integer(1, 60), ["{v} times", "with a count of {v}", "with quantity {v}"]),
    Parameter(["max_price", "budget", "price_limit"], "number", ["Highest price in dollars", "Maximum price"], decimal(5, 900), ["for at most {v} dollars", "with a budget of {v} dollars", "below {v} dollars"]),
    Parameter(["color", "colour"], "string", ["The colour", "Color to use"], choice(words.COLOURS), ["in {v}", "with the color {v}"]),
    option(["size"], ["Size", "How large"], ["small", "medium", "large"], ["in size {v}", "with size {v}", "of {v} size"]),
    option(["priority", "urgency"], ["How urgent it is", "Priority"], ["low", "normal", "high"], ["with {v} priority", "with priority {v}"]),
    option(["format", "file_format", "output"], ["Format of the file", "Output format"], ["pdf", "csv", "html", "xml"], ["as {v}", "in {v} format"]),
    option(["status", "state"], ["State", "Which state"], ["open", "closed", "pending", "done"], ["with status {v}", "with the state {v}"]),
    option(["mode"], ["Mode of work"], ["fast", "safe", "quiet", "eco"], ["in {v} mode", "with mode {v}"]),
    option(["sort_by", "order_by"], ["Sort the results by this"], ["price", "name", "date", "rating"], ["sorted by {v}", "ordered by {v}"]),
    option(["direction"], ["Where to"], ["left", "right", "up", "down"], ["to the {v}", "with direction {v}"]),
    option(["category", "type"], ["Kind of thing"], ["private", "business", "school", "sport"], ["in the category {v}", "of type {v}"]),
    option(["unit", "units"], ["Unit"], ["celsius", "fahrenheit", "kelvin"], ["in {v}"]),
    option(["class", "travel_class"], ["Class"], ["economy", "business", "first"], ["in {v} class"]),
    option(["level", "difficulty"], ["How hard"], ["easy", "medium", "hard"], ["at level {v}", "with {v} difficulty"]),
    flag(["notify", "send_notification"], ["Whether to notify the user"], "and notify me", "without notifying me"),
    flag(["urgent", "is_urgent"], ["Whether it is urgent"], "and mark it as urgent", "but it is not urgent"),
    flag(["public", "is_public", "shared"], ["Whether all can see it"], "visible to everyone", "not visible to others"),
    flag(["repeat", "recurring"], ["Whether it repeats"], "and repeat it", "without repeating it"),
    flag(["force"], ["Do it without asking"], "by force", "without force"),
    flag(["backup", "keep_copy"], ["Whether to keep a copy"], "and keep a copy", "without keeping a copy"),
    Parameter(["tags", "labels", "keywords"], "array", ["Tags", "List of labels"], some(TAGS, 1, 3), ["with the tags {v}", "tagged {v}"]),
    Parameter(["people", "members", "invitees", "recipients"], "array", ["Names of the people", "Who takes part"], some(words.FIRST_NAMES, 2, 4), ["with {v}", "for {v}", "together with {v}"]),
    Parameter(["items", "products", "articles"], "array", ["List of items", "What it contains"], some(words.FOODS + words.THINGS, 2, 4), ["with the items {v}", "containing {v}"]),
    Parameter(["numbers", "values"], "array", ["List of numbers"], lambda rng: [rng.randint(1, 99) for _ in range(rng.randint(2, 4))], ["with the values {v}", "for the numbers {v}"]),
    Parameter(["text", "message", "note", "content"], "string", ["The text", "What to write", "Content"], short_text, ["with the text '{v}'", "that says: {v}", "saying \"{v}\""]),
    Parameter(["title", "subject", "headline"], "string", ["The title", "Title"], title, ["with the title {v}", "titled {v}", "called {v}"]),
    Parameter(["id", "reference", "ref", "item_id", "code"], "string", ["Identifier", "Number like AB-123", "Reference code"], words.code, ["with id {v}", "number {v}", "{v}", "with the reference {v}"]),
    Parameter(["number_id", "record_id", "no"], "integer", ["Number of the record", "Numeric id"], integer(1, 99999), ["number {v}", "with number {v}", "with the id {v}"]),
    Parameter(["email", "to", "address"], "string", ["Email address"], words.email, ["to {v}", "for {v}"]),
    Parameter(["phone", "phone_number"], "string", ["Phone number"], words.phone, ["with the phone number {v}", "to {v}"]),
    Parameter(["language", "lang"], "string", ["Language", "Which language"], choice(["French", "German", "Spanish", "Italian", "Polish", "Japanese", "Dutch", "Greek", "English"]), ["in {v}", "with language {v}"]),
    Parameter(["room", "zone", "area"], "string", ["The room", "Which room"], choice(["kitchen", "bedroom", "bathroom", "hall", "office", "garage", "living room", "cellar", "garden"]), ["in the {v}", "for the {v}"]),
    Parameter(["minutes", "duration", "duration_minutes"], "integer", ["Length in minutes", "Duration in minutes"], integer(1, 180), ["for {v} minutes", "that lasts {v} minutes"]),
    Parameter(["hours"], "number", ["Length in hours"], decimal(1, 24), ["for {v} hours"]),
    Parameter(["days", "num_days"], "integer", ["Number of days"], integer(1, 30), ["for {v} days", "over {v} days"]),
    Parameter(["distance", "radius", "distance_km"], "number", ["Distance in kilometers", "Radius in km"], decimal(1, 300), ["within {v} km", "over {v} km"]),
    Parameter(["rating", "min_rating", "score"], "number", ["Rating from 1 to 5", "Lowest rating"], decimal(1, 5), ["with a rating of {v}", "rated {v}"]),
    Parameter(["weight", "weight_kg"], "number", ["Weight in kilograms"], decimal(1, 90), ["with a weight of {v} kg", "weighing {v} kg"]),
    Parameter(["temperature", "degrees"], "number", ["Degrees Celsius"], decimal(5, 90), ["at {v} degrees", "with {v} degrees"]),
    Parameter(["percent", "discount", "percentage"], "number", ["Percent"], integer(1, 100), ["by {v} percent", "with {v} percent"]),
    Parameter(["amount", "sum", "total"], "number", ["Amount of money", "How much"], decimal(1, 2000), ["over {v} dollars", "with an amount of {v}", "of {v} dollars"]),
    Parameter(["file", "path", "filename"], "string", ["Name of the file", "Path"], file_name, ["in the file {v}", "from {v}", "using {v}"]),
    Parameter(["url", "link"], "string", ["Address of the page"], web_address, ["from {v}", "at {v}"]),
    Parameter(["topic", "query", "theme"], "string", ["Topic", "What it is about"], lambda rng: rng.choice([rng.choice(words.ANIMALS), rng.choice(words.HOBBIES), rng.choice(words.COUNTRIES), words.plural(rng.choice(words.THINGS)), f"{rng.choice(words.ADJECTIVES)} {words.plural(rng.choice(words.THINGS))}"]), ["about {v}", "on {v}"]),
    Parameter(["country"], "string", ["The country"], choice(words.COUNTRIES), ["in {v}", "for {v}"]),
    Parameter(["company", "firm", "supplier"], "string", ["Name of the company"], words.company, ["for {v}", "from {v}", "at {v}"]),
    Parameter(["department", "team"], "string", ["Department"], choice(["sales", "support", "finance", "marketing", "research", "design"]), ["for the {v} team", "in {v}"]),
    Parameter(["year"], "integer", ["The year"], integer(1950, 2035), ["for the year {v}", "from {v}"]),
    Parameter(["month"], "string", ["The month"], choice(words.MONTHS), ["for {v}", "in {v}"]),
    Parameter(["limit", "max_results"], "integer", ["Most results", "How many results"], integer(1, 50), ["with at most {v} results", "limited to {v}"]),
    Parameter(["seats", "guests", "passengers"], "integer", ["Number of people"], integer(1, 12), ["for {v} people", "with {v} seats"]),
    Parameter(["speed"], "integer", ["Speed"], integer(1, 120), ["at speed {v}", "with a speed of {v}"]),
    Parameter(["width"], "number", ["Width"], decimal(1, 300), ["with a width of {v}"]),
    Parameter(["height"], "number", ["Height"], decimal(1, 300), ["with a height of {v}"]),
    Parameter(["material"], "string", ["What it is made of"], choice(["wood", "steel", "glass", "paper", "cotton", "leather", "plastic"]), ["made of {v}", "in {v}"]),
    Parameter(["street", "delivery_address"], "string", ["Street and number"], lambda rng: f"{rng.randint(1, 199)} {rng.choice(words.STREETS)} Street", ["to {v}", "at {v}"]),
]
# Verb, what it says has happened, how a description begins.
ACTIONS = [verb.split(":") for verb in """create:created,start:started,stop:stopped,open:opened,close:closed,check:checked,update:updated,delete:deleted,move:moved,copy:copied,print:printed,scan:scanned,load:loaded,save:saved,show:shown,hide:hidden,lock:locked,unlock:unlocked,
count:counted,sort:sorted,build:built,rent:rented,clean:cleaned,fetch:fetched,mark:marked,reset:reset,test:tested,sync:synced,book:booked,cancel:canceled,order:ordered,send:sent,share:shared,rename:renamed,archive:archived,publish:published,export:exported,import:imported,
assign:assigned,approve:approved,reject:rejected,schedule:scheduled,pause:paused,resume:resumed,register:registered,remove:removed,add:added,edit:edited,merge:merged,split:split,compress:compressed,encrypt:encrypted,download:downloaded,upload:uploaded,install:installed,
restart:restarted,monitor:monitored,repair:repaired,buy:bought,sell:sold,pay:paid,refund:refunded,ship:shipped,track:tracked,reserve:reserved,renew:renewed,activate:activated,block:blocked,measure:measured,record:recorded,verify:verified,draw:drawn,plan:planned""".replace("\n", "").split(",")]
# Verbs that do much the same; of different groups none stands for another.
ALIKE = [group.split() for group in ("create add build register draw plan record save load open start install activate resume restart reset import book reserve schedule order rent buy renew", "delete remove cancel archive close stop pause lock hide block reject", "check verify test measure monitor track scan count fetch show load record",
         "send share publish ship export upload download print", "repair clean", "move", "sort", "rename", "compress", "encrypt", "pay refund", "sell", "approve", "assign")]
TARGETS = """file door engine report order user map game record photo server printer sensor robot camera account ticket invoice folder page device car boat room table flight hotel meeting event task project message email contact note list playlist song video movie book article
recipe meal shipment package delivery payment card loan contract customer product item catalog survey form poll vote chart graph sheet document database backup website domain password key alarm timer reminder calendar lesson course exam class student teacher employee shift
machine pump lamp light heater fan oven fridge window curtain gate bike taxi truck train bus drone parcel letter gift coupon subscription membership booking reservation tour guide museum concert match team league field garden plant tree pet vaccine prescription appointment
patient clinic lab sample test_kit telescope satellite channel stream podcast newsletter banner badge avatar profile group forum comment review rating wallet budget expense salary tax claim policy license passport visa""".split()
PLAIN_WORDS = {"test_kit": "test kit"}
HEADS = ["{Verb} {a_thing}{c}.", "Please {verb} {a_thing}{c}.", "{Verb} the {thing}{c}.", "Can you {verb} {a_thing}{c}?", "Could you {verb} the {thing}{c}, please?", "I want to {verb} {a_thing}{c}.", "I need you to {verb} the {thing}{c}.", "{verb} {thing}{c}", "I'd like to {verb} {a_thing}{c}.",
         "Let's {verb} {a_thing}{c}.", "Hi! Please {verb} the {thing}{c}.", "It would be great if you could {verb} {a_thing}{c}.", "Go ahead and {verb} the {thing}{c}.", "My boss asked me to {verb} {a_thing}{c}.", "Use your tools to {verb} {a_thing}{c}.", "{Verb} {a_thing}{c}, please."]


def camel(text: str) -> str:
    first, *rest = text.split("_")
    return first + "".join(part.capitalize() for part in rest)


def name_of(verb: str, thing: str, rng: random.Random) -> str:
    snake = rng.choice([f"{verb}_{thing}", f"{verb}_{thing}", f"{verb}_{thing}", f"{thing}_{verb}", f"{verb}_the_{thing}", f"do_{verb}_{thing}"])
    return camel(snake) if rng.random() < 0.2 else snake


def spelt_out(slots: list[Slot], name: str, thing: str) -> list[str]:
    told = words.listing([f"{slot.names[0]} {{{number}}}" for number, slot in enumerate(slots)])
    set_to = words.listing([f"{slot.names[0]} set to {{{number}}}" for number, slot in enumerate(slots)])
    equal = ", ".join(f"{slot.names[0]}={{{number}}}" for number, slot in enumerate(slots))
    return [f"Use {name} with {told}.", f"Call {name} with {set_to}.", f"{name}: {told}", f"Run {name} with {equal}", f"Call the tool {name} with {told}, please."]


def slots_of(rng: random.Random) -> list[Slot]:
    """Up to five parameters, no two of one name; about a third may be left out."""
    count = rng.choices([0, 1, 2, 3, 4, 5], weights=[1, 5, 7, 5, 3, 1])[0]
    slots: list[Slot] = []
    for parameter in rng.sample(PARAMETERS, count):
        names = [name for name in parameter.names if name not in [slot.names[0] for slot in slots]]
        slots.append(Slot([rng.choice(names)] if names else [parameter.names[0] + "_2"], parameter.kind, rng.choice(parameter.about), parameter.make,
                          [" " + one for one in parameter.says] if slots and rng.random() < 0.35 else [], parameter.options, parameter.shown, parameter.says))
    return slots


def requests_for(verb: str, plain: str, slots: list[Slot], rng: random.Random, left_out: int = -1) -> list[str]:
    """Requests that say the values of the slots without clauses; one of these may be left out."""
    required = [slot for slot in slots if not slot.clauses]
    requests = []
    for head in rng.sample(HEADS, 3):
        order = [number for number in range(len(required)) if number != left_out]
        rng.shuffle(order)
        clauses = "".join(" " + rng.choice(required[number].says).replace("{v}", f"{{{number}}}") for number in order)
        requests.append(head.format(Verb=verb.capitalize(), verb=verb, a_thing=words.article(plain), thing=plain, c=clauses + "{o}"))
    return requests


def composed(rng: random.Random, verb: list[str] | None = None, thing: str | None = None) -> Invented:
    """A function of a verb and a thing; the same verb or thing as another's, if given."""
    (doing, did), target = verb or rng.choice(ACTIONS), thing or rng.choice(TARGETS)
    if rng.random() < 0.12:
        target = words.invented_word(rng)
    plain = PLAIN_WORDS.get(target, target)
    slots = slots_of(rng)
    required = [slot for slot in slots if not slot.clauses]
    name = name_of(doing, target, rng)
    requests = requests_for(doing, plain, slots, rng)
    if slots and len(required) == len(slots) and not any(slot.kind == "boolean" for slot in slots) and rng.random() < 0.15:
        requests = spelt_out(slots, name, plain)
    about = rng.choice([f"{doing.capitalize()} {words.article(plain)}", f"{doing.capitalize()} the {plain}", f"{doing.capitalize()}s {words.article(plain)}", f"Use this to {doing} {words.article(plain)}.", f"Function to {doing} {words.article(plain)}", f"{doing.capitalize()} {words.article(plain)} of the user.",
                        f"This tool can {doing} {words.article(plain)} and returns the result.", ""])
    return Invented([name], [about], slots, requests, None, f"The {plain} was {did}", doing, target)


def is_alike(verb: str, other: str) -> bool:
    return verb == other or any(verb in group and other in group for group in ALIKE)
