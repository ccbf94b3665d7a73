"""Conversations in which a declared tool is to be called: invented functions under several names, with several wordings."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass, field
from typing import Any, Callable

from train import words

Make = Callable[[random.Random], Any]


def integer(low: int, high: int) -> Make:
    return lambda rng: rng.randint(low, high)


def choice(options: list[str]) -> Make:
    return lambda rng: rng.choice(options)


@dataclass
class Slot:
    """A parameter: its possible names, type, description, values, and a clause for requests if it may be left out."""

    names: list[str]
    kind: str
    about: str
    make: Make
    clauses: list[str] = field(default_factory=list)  # optional parameters: how a request mentions it
    options: list[str] | None = None


@dataclass
class Invented:
    """A function that may be declared, with requests that need it and what it answers."""

    names: list[str]
    about: list[str]
    slots: list[Slot]
    requests: list[str]  # {0}, {1}: the slots without clauses, in order
    answer: Callable[[list[Any], random.Random], tuple[dict[str, Any], str]] | None = None


CITY = Slot(["city", "location", "place"], "string", "Name of the city", words.city)
UNIT = Slot(["unit", "units"], "string", "Unit of the temperature", choice(["celsius", "fahrenheit"]), [" in {v}", ", in {v} please"], ["celsius", "fahrenheit"])
SKIES = ["sunny", "cloudy", "rainy", "clear", "foggy"]


def weather_answer(values: list[Any], rng: random.Random) -> tuple[dict[str, Any], str]:
    degrees, sky = rng.randint(-5, 35), rng.choice(SKIES)
    return {"temperature": degrees, "sky": sky}, f"It is {degrees} degrees and {sky} in {values[0]}."


def time_answer(values: list[Any], rng: random.Random) -> tuple[dict[str, Any], str]:
    now = words.clock(rng)
    return {"time": now}, f"It is {now} in {values[0]}."


def price_answer(values: list[Any], rng: random.Random) -> tuple[dict[str, Any], str]:
    cost = rng.randint(5, 500)
    return {"price": cost}, f"The price of {values[0]} is {cost} dollars."


def number_answer(key: str, shape: str, low: int, high: int) -> Callable[[list[Any], random.Random], tuple[dict[str, Any], str]]:
    def answer(values: list[Any], rng: random.Random) -> tuple[dict[str, Any], str]:
        found = rng.randint(low, high)
        return {key: found}, shape.format(*values, r=found)
    return answer


def done(shape: str) -> Callable[[list[Any], random.Random], tuple[dict[str, Any], str]]:
    return lambda values, rng: ({"status": "ok"}, shape.format(*values))


def text_answer(key: str, make: Make, shape: str) -> Callable[[list[Any], random.Random], tuple[dict[str, Any], str]]:
    def answer(values: list[Any], rng: random.Random) -> tuple[dict[str, Any], str]:
        found = make(rng)
        return {key: found}, shape.format(*values, r=found)
    return answer


def topic(rng: random.Random) -> str:
    return rng.choice([rng.choice(words.ANIMALS), rng.choice(words.HOBBIES), rng.choice(words.COUNTRIES), f"{rng.choice(words.ADJECTIVES)} {words.plural(rng.choice(words.THINGS))}"])


def note(rng: random.Random) -> str:
    return rng.choice([f"buy {rng.choice(words.FOODS)}", f"call {rng.choice(words.FIRST_NAMES)}", f"clean the {rng.choice(['kitchen', 'car', 'garden', 'room'])}",
                       f"water the {rng.choice(['plants', 'flowers', 'garden'])}", f"pick up {rng.choice(words.FIRST_NAMES)}", f"return the {rng.choice(words.THINGS)}",
                       f"write to {rng.choice(words.FIRST_NAMES)}", f"feed the {rng.choice(words.ANIMALS)}"])


def saying(rng: random.Random) -> str:
    return rng.choice(["I will be late", "See you soon", "Happy birthday", "The meeting is at " + words.clock(rng), "Thank you for the " + rng.choice(words.THINGS),
                       "Please call me back", "I am at the station", "Dinner is ready", "Good luck on " + rng.choice(words.DAYS), "Can you bring " + rng.choice(words.FOODS)])


LANGUAGES = ["French", "German", "Spanish", "Italian", "Polish", "Japanese", "Dutch", "Greek"]
CURRENCIES = ["USD", "EUR", "GBP", "JPY", "CHF", "SEK", "INR"]
ROOMS = ["kitchen", "bedroom", "bathroom", "hall", "office", "garage", "living room"]
FUNCTIONS = [
    Invented(["get_weather", "weather_lookup", "current_weather", "fetch_weather"], ["Weather of a city", "Get the current weather for a city"], [CITY, UNIT],
             ["What is the weather in {0}{o}?", "How is the weather in {0}{o}?", "Tell me the weather in {0}{o}", "Weather in {0}{o}", "Is it warm in {0} today{o}?"], weather_answer),
    Invented(["get_forecast", "weather_forecast", "forecast"], ["Weather forecast for some days", "Get the forecast for a city"],
             [CITY, Slot(["days", "num_days", "day_count"], "integer", "Number of days", integer(1, 10))],
             ["What will the weather be in {0} for the next {1} days?", "Give me the {1} day forecast for {0}.", "Forecast for {0}, {1} days"], text_answer("forecast", choice(SKIES), "It will be mostly {r} in {0}.")),
    Invented(["get_time", "current_time", "local_time"], ["Current time in a city", "Get the local time of a place"], [CITY],
             ["What time is it in {0}?", "Tell me the time in {0}.", "What is the local time in {0}?"], time_answer),
    Invented(["send_email", "mail_send", "write_email"], ["Send an email", "Send an email to an address"],
             [Slot(["to", "recipient", "address"], "string", "Address of the recipient", words.email), Slot(["body", "text", "message"], "string", "Text of the mail", saying),
              Slot(["subject", "title"], "string", "Subject of the mail", choice(["Hello", "Meeting", "Question", "News", "Invitation"]), [" with the subject {v}"])],
             ["Send an email to {0}{o} that says: {1}", "Write an email to {0}{o}: {1}", "Email {0}{o} this: {1}"], done("I sent the email to {0}.")),
    Invented(["send_message", "send_text", "message_contact"], ["Send a text message to a person"],
             [Slot(["to", "name", "contact"], "string", "Name of the person", words.first_name), Slot(["text", "message", "content"], "string", "What to say", saying)],
             ["Text {0}: {1}", "Send a message to {0}: {1}", "Tell {0}: {1}", "Write to {0}: {1}"], done("I sent your message to {0}.")),
    Invented(["set_alarm", "create_alarm", "add_alarm"], ["Set an alarm"], [Slot(["time", "at", "alarm_time"], "string", "Time as HH:MM", words.clock),
             Slot(["day", "weekday"], "string", "Day of the week", choice(words.DAYS), [" on {v}", " for {v}"])],
             ["Set an alarm for {0}{o}.", "Wake me at {0}{o}.", "I need an alarm at {0}{o}."], done("The alarm is set for {0}.")),
    Invented(["set_timer", "start_timer", "countdown"], ["Start a timer"], [Slot(["minutes", "duration", "mins"], "integer", "Length in minutes", integer(1, 90))],
             ["Set a timer for {0} minutes.", "Start a {0} minute timer.", "Tell me when {0} minutes are over."], done("The timer runs for {0} minutes.")),
    Invented(["create_reminder", "add_reminder", "remind_me"], ["Create a reminder"], [Slot(["text", "task", "what"], "string", "What to remember", note),
             Slot(["time", "when"], "string", "Time as HH:MM", words.clock)],
             ["Remind me at {1} to {0}.", "Remind me to {0} at {1}.", "At {1} I have to {0}. Remind me."], done("I will remind you at {1} to {0}.")),
    Invented(["add_todo", "create_task", "add_task"], ["Add a task to the list of things to do"], [Slot(["task", "title", "item"], "string", "The task", note)],
             ["Add to my list: {0}", "Put {0} on my todo list.", "New task: {0}"], done("I added it to your list.")),
    Invented(["translate", "translate_text", "get_translation"], ["Translate a text"], [Slot(["text", "phrase"], "string", "Text to translate", saying),
             Slot(["language", "target", "target_language"], "string", "Language to translate to", choice(LANGUAGES))],
             ["Translate to {1}: {0}", "How do you say '{0}' in {1}?", "Put this into {1}: {0}"], None),
    Invented(["convert_currency", "exchange", "currency_convert"], ["Convert an amount of money", "Convert money from one currency to another"],
             [Slot(["amount", "value"], "number", "Amount of money", integer(1, 999)), Slot(["from_currency", "source"], "string", "Currency code to convert from", choice(CURRENCIES)),
              Slot(["to_currency", "target"], "string", "Currency code to convert to", choice(CURRENCIES))],
             ["Convert {0} {1} to {2}.", "How much is {0} {1} in {2}?", "Change {0} {1} into {2}."], number_answer("result", "{0} {1} is {r} {2}.", 1, 2000)),
    Invented(["search_web", "web_search", "search"], ["Search the web"], [Slot(["query", "q", "search_query"], "string", "What to look for", topic)],
             ["Search the web for {0}.", "Look up {0}.", "Find something about {0}.", "Search for {0}"], None),
    Invented(["get_stock_price", "stock_price", "quote_stock"], ["Price of a stock"], [Slot(["company", "symbol", "name"], "string", "The company", words.company)],
             ["What is the stock price of {0}?", "How much is a share of {0}?", "Stock price of {0}"], price_answer),
    Invented(["play_music", "play_song", "start_music"], ["Play music"], [Slot(["genre", "style", "kind"], "string", "Kind of music", choice(["jazz", "rock", "pop", "classical", "folk", "blues", "techno"]))],
             ["Play some {0} music.", "I want to hear {0}.", "Put on {0}, please."], done("Now playing {0} music.")),
    Invented(["set_light", "control_light", "light_switch"], ["Switch a light on or off"], [Slot(["room", "where"], "string", "Room of the light", choice(ROOMS)),
             Slot(["state", "power"], "string", "on or off", choice(["on", "off"]), options=["on", "off"])],
             ["Turn {1} the light in the {0}.", "Switch the {0} light {1}.", "Light {1} in the {0}, please."], done("The light in the {0} is {1}.")),
    Invented(["set_temperature", "set_thermostat", "heat_room"], ["Set the temperature of a room"], [Slot(["room", "zone"], "string", "The room", choice(ROOMS)),
             Slot(["degrees", "temperature"], "integer", "Temperature in degrees", integer(15, 28))],
             ["Set the {0} to {1} degrees.", "Make the {0} {1} degrees warm.", "I want {1} degrees in the {0}."], done("The {0} is set to {1} degrees.")),
    Invented(["book_table", "reserve_table", "make_reservation"], ["Book a table in a restaurant"], [Slot(["people", "guests", "party_size"], "integer", "Number of people", integer(1, 12)),
             Slot(["time", "at"], "string", "Time as HH:MM", words.clock), Slot(["day", "date"], "string", "Day", choice(words.DAYS), [" on {v}"])],
             ["Book a table for {0} at {1}{o}.", "I need a table for {0} people at {1}{o}.", "Reserve a table at {1} for {0}{o}."], done("A table for {0} is booked at {1}.")),
    Invented(["book_flight", "find_flight", "search_flights"], ["Find a flight between two cities"], [Slot(["origin", "from_city", "departure"], "string", "City to leave from", words.city),
             Slot(["destination", "to_city", "arrival"], "string", "City to go to", words.city), Slot(["date", "day"], "string", "Date as YYYY-MM-DD", words.iso_date, [" on {v}"])],
             ["Find a flight from {0} to {1}{o}.", "I want to fly from {0} to {1}{o}.", "Flights from {0} to {1}{o}"], number_answer("price", "There is a flight from {0} to {1} for {r} dollars.", 50, 900)),
    Invented(["get_distance", "distance_between", "route_length"], ["Distance between two cities"], [Slot(["start", "from_place", "a"], "string", "First city", words.city),
             Slot(["end", "to_place", "b"], "string", "Second city", words.city)],
             ["How far is it from {0} to {1}?", "What is the distance between {0} and {1}?", "Distance from {0} to {1}"], number_answer("km", "It is {r} km from {0} to {1}.", 50, 9000)),
    Invented(["get_population", "population_of", "count_people"], ["Population of a country"], [Slot(["country", "land"], "string", "The country", choice(words.COUNTRIES))],
             ["How many people live in {0}?", "What is the population of {0}?"], number_answer("millions", "{0} has {r} million people.", 3, 300)),
    Invented(["calculate", "compute", "evaluate_expression"], ["Calculate an expression"], [Slot(["expression", "formula", "expr"], "string", "What to calculate",
             lambda rng: f"{rng.randint(10, 999)} {rng.choice('+-*/')} {rng.randint(2, 99)}")],
             ["Calculate {0} with the tool.", "Use the calculator for {0}.", "Compute {0}"], None),
    Invented(["add_numbers", "sum_two", "add"], ["Add two numbers"], [Slot(["a", "x", "first"], "number", "First number", integer(1, 999)), Slot(["b", "y", "second"], "number", "Second number", integer(1, 999))],
             ["Add {0} and {1}.", "What is the sum of {0} and {1}?", "What is {0} plus {1}?"], lambda values, rng: ({"result": values[0] + values[1]}, f"The sum is {values[0] + values[1]}.")),
    Invented(["multiply_numbers", "product", "multiply"], ["Multiply two numbers"], [Slot(["a", "x", "first"], "number", "First number", integer(2, 99)), Slot(["b", "y", "second"], "number", "Second number", integer(2, 99))],
             ["Multiply {0} by {1}.", "What is {0} times {1}?", "What is the product of {0} and {1}?"], lambda values, rng: ({"result": values[0] * values[1]}, f"The product is {values[0] * values[1]}.")),
    Invented(["rectangle_area", "area_of_rectangle", "compute_area"], ["Area of a rectangle"], [Slot(["width", "w"], "number", "Width", integer(1, 50)), Slot(["height", "h", "length"], "number", "Height", integer(1, 50))],
             ["What is the area of a rectangle {0} wide and {1} high?", "Area of a rectangle with width {0} and height {1}"], lambda values, rng: ({"area": values[0] * values[1]}, f"The area is {values[0] * values[1]}.")),
    Invented(["find_recipe", "search_recipes", "get_recipe"], ["Find a recipe with an ingredient", "Search recipes"], [Slot(["ingredient", "food", "main"], "string", "Main ingredient", choice(words.FOODS)),
             Slot(["max_minutes", "time_limit"], "integer", "Longest time in minutes", integer(10, 60), [" in at most {v} minutes"])],
             ["Find a recipe with {0}{o}.", "What can I cook with {0}{o}?", "I have {0}. Find a recipe{o}."], text_answer("recipe", choice(["a soup", "a salad", "a pie", "a stew"]), "You could make {r} with {0}.")),
    Invented(["add_to_cart", "cart_add", "order_item"], ["Put a product into the cart"], [Slot(["product", "item", "name"], "string", "The product", choice(words.THINGS + words.FOODS)),
             Slot(["quantity", "count", "amount"], "integer", "How many", integer(1, 12))],
             ["Put {1} {0} into my cart.", "Add {1} of {0} to the cart.", "I want to buy {1} {0}."], done("I put {1} of {0} into your cart.")),
    Invented(["track_order", "order_status", "get_order"], ["Status of an order"], [Slot(["order_id", "order", "id"], "string", "Number of the order", words.code)],
             ["Where is my order {0}?", "What is the status of order {0}?", "Track order {0}."], text_answer("status", choice(["shipped", "packed", "delivered", "on its way"]), "Your order {0} is {r}.")),
    Invented(["get_user", "find_user", "lookup_customer"], ["Look up a customer"], [Slot(["user_id", "id", "customer_id"], "integer", "Number of the customer", integer(1, 9999))],
             ["Show me customer {0}.", "Who is customer number {0}?", "Look up user {0}."], text_answer("name", words.full_name, "Customer {0} is {r}.")),
    Invented(["create_event", "add_event", "schedule_meeting"], ["Put an event into the calendar"], [Slot(["title", "name", "event"], "string", "Name of the event", choice(["lunch", "meeting", "yoga", "dentist", "dinner", "training", "call with the team"])),
             Slot(["date", "day"], "string", "Date as YYYY-MM-DD", words.iso_date), Slot(["time", "start"], "string", "Time as HH:MM", words.clock, [" at {v}"])],
             ["Put {0} into my calendar on {1}{o}.", "Schedule {0} for {1}{o}.", "Plan {0} on {1}{o}."], done("I put {0} into your calendar.")),
    Invented(["get_news", "news_about", "latest_news"], ["Latest news about a topic"], [Slot(["topic", "subject"], "string", "The topic", topic), Slot(["limit", "count"], "integer", "How many", integer(1, 10), [", {v} articles", ", only {v}"])],
             ["What is new about {0}{o}?", "Show me news about {0}{o}.", "News on {0}{o}"], None),
    Invented(["define_word", "dictionary", "lookup_word"], ["Meaning of a word"], [Slot(["word", "term"], "string", "The word", choice(words.ADJECTIVES + words.VERBS + words.THINGS))],
             ["What does {0} mean?", "Define {0}.", "Look up the word {0}."], None),
    Invented(["roll_dice", "throw_dice", "dice"], ["Roll dice"], [Slot(["sides", "faces"], "integer", "Number of sides", choice([4, 6, 8, 10, 12, 20])), Slot(["count", "number"], "integer", "Number of dice", integer(1, 6))],
             ["Roll {1} dice with {0} sides.", "Throw {1} dice, {0} sides each."], number_answer("total", "You rolled {r}.", 1, 60)),
    Invented(["random_number", "pick_number", "rand_int"], ["A random whole number"], [Slot(["low", "minimum", "min"], "integer", "Smallest", integer(0, 10)), Slot(["high", "maximum", "max"], "integer", "Largest", integer(20, 1000))],
             ["Pick a number between {0} and {1}.", "Give me a random number from {0} to {1}."], number_answer("number", "Your number is {r}.", 10, 20)),
    Invented(["open_file", "read_file", "load_file"], ["Read a file"], [Slot(["path", "file", "filename"], "string", "Name of the file", lambda rng: f"{rng.choice(words.THINGS)}.{rng.choice(['txt', 'csv', 'json', 'md'])}")],
             ["Open {0}.", "Read the file {0}.", "What is in {0}?"], None),
    Invented(["tag_photo", "label_photo", "add_tags"], ["Add tags to a photo"], [Slot(["photo_id", "id", "photo"], "integer", "Number of the photo", integer(1, 999)),
             Slot(["tags", "labels"], "array", "The tags", lambda rng: rng.sample(words.ANIMALS + words.COLOURS, rng.randint(1, 3)))],
             ["Tag photo {0} with {1}.", "Add the tags {1} to photo {0}."], done("I tagged photo {0}.")),
    Invented(["make_list", "shopping_list", "save_list"], ["Save a shopping list"], [Slot(["items", "products"], "array", "What to buy", lambda rng: rng.sample(words.FOODS, rng.randint(2, 4)))],
             ["Save a shopping list with {0}.", "I need {0}. Make a list.", "Shopping list: {0}"], done("I saved your shopping list.")),
]
NO_TOOL = [("Hello!", "Hello! How can I help you?"), ("Thank you!", "You are welcome!"), ("Hi", "Hi! What can I do for you?"), ("Who are you?", "I am a small model that runs inside paceline."),
           ("Good morning", "Good morning! How can I help you?"), ("Can you help me?", "Of course. What do you need?"), ("Bye", "Goodbye!"), ("What is the capital of France?", "The capital of France is Paris."),
           ("What color is the sky?", "The sky is blue."), ("How are you?", "I am fine, thank you. How can I help you?")]


@dataclass
class Chosen:
    """An invented function with the names it has in one conversation."""

    invented: Invented
    name: str
    parameter_names: list[str]
    tool: dict[str, Any]


def declare(invented: Invented, rng: random.Random) -> Chosen:
    """The function as a tool in OpenAI's form, under one of its names."""
    name = rng.choice(invented.names)
    parameter_names: list[str] = []
    properties: dict[str, Any] = {}
    describes = rng.random() < 0.7
    for slot in invented.slots:
        own = rng.choice([one for one in slot.names if one not in parameter_names])
        parameter_names.append(own)
        entry: dict[str, Any] = {"type": slot.kind}
        if describes:
            entry["description"] = slot.about
        if slot.options:
            entry["enum"] = slot.options
        if slot.kind == "array":
            entry["items"] = {"type": "string"}
        properties[own] = entry
    required = [own for own, slot in zip(parameter_names, invented.slots) if not slot.clauses]
    function = {"name": name, "description": rng.choice(invented.about),
                "parameters": {"type": "object", "properties": properties, "required": required}}
    return Chosen(invented, name, parameter_names, {"type": "function", "function": function})


def request(chosen: Chosen, rng: random.Random) -> tuple[str, dict[str, Any], list[Any]]:
    """A user's words that need the function, the arguments they imply, and the values of its required slots."""
    arguments: dict[str, Any] = {}
    required: list[Any] = []
    optional = ""
    for own, slot in zip(chosen.parameter_names, chosen.invented.slots):
        if slot.clauses and rng.random() < 0.5:
            continue
        value = slot.make(rng)
        while value in required and isinstance(value, str):
            value = slot.make(rng)
        arguments[own] = value
        if slot.clauses:
            optional += rng.choice(slot.clauses).format(v=value)
        else:
            required.append(value)
    shown = [words.listing(value) if isinstance(value, list) else str(value).lower() if isinstance(value, bool) else value for value in required]
    return rng.choice(chosen.invented.requests).format(*shown, o=optional), arguments, required


def call_message(name: str, arguments: dict[str, Any], call_id: str = "call_0") -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}]}


ACTIONS = "start stop open close check update delete create move copy print scan load save show hide lock unlock count sort build rent clean fetch mark reset test sync".split()
TARGETS = "file door engine report order user map game record photo server printer door sensor robot camera account ticket invoice folder page device car boat room".split()
ANY_SLOTS: list[tuple[list[str], str, Make]] = [
    (["name", "label", "title", "owner"], "string", words.first_name), (["city", "region", "site"], "string", words.city), (["count", "level", "number", "speed", "size"], "integer", integer(1, 99)),
    (["id", "key", "ref"], "string", words.code), (["date", "day"], "string", words.iso_date), (["mode", "style", "color"], "string", choice(words.COLOURS + words.ADJECTIVES)),
    (["enabled", "force", "fast"], "boolean", lambda rng: rng.random() < 0.5), (["item", "object", "part"], "string", choice(words.THINGS))]


def anything(rng: random.Random) -> Invented:
    """A function that nobody has seen before, with a request that spells everything out."""
    action, target = rng.choice(ACTIONS), rng.choice(TARGETS)
    if rng.random() < 0.3:
        target = words.invented_word(rng)
    slots = [Slot([rng.choice(names)], kind, f"The {names[0]} to use", make) for names, kind, make in rng.sample(ANY_SLOTS, rng.randint(1, 3))]
    told = words.listing([f"{slot.names[0]} {{{number}}}" for number, slot in enumerate(slots)])
    set_to = words.listing([f"{slot.names[0]} set to {{{number}}}" for number, slot in enumerate(slots)])
    name = f"{action}_{target}"
    requests = [f"{action.capitalize()} the {target} with {told}.", f"Please {action} a {target} with {set_to}.", f"Use {name} with {told}.", f"Call {name} with {set_to}.", f"{action} {target}: {told}"]
    return Invented([name], [f"{action.capitalize()} a {target}", f"{action.capitalize()} the {target} of the system"], slots, requests, done(f"Done: the {target} is ready.") if rng.random() < 0.5 else None)


def declared_tools(rng: random.Random) -> list[Chosen]:
    """One to four functions with different names, most of them known ones."""
    count = rng.choices([1, 2, 3, 4], weights=[4, 4, 3, 2])[0]
    invented = [anything(rng) if rng.random() < 0.25 else known for known in rng.sample(FUNCTIONS, count)]
    different = {one.names[0]: one for one in invented}
    return [declare(one, rng) for one in different.values()]


def call_exercise(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str, dict[str, Any]]:
    """Messages up to the request, the tools, and the call that is expected."""
    declared = declared_tools(rng)
    chosen = rng.choice(declared)
    text, arguments, _ = request(chosen, rng)
    return [{"role": "user", "content": text}], [one.tool for one in declared], chosen.name, arguments


def conversation(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """A whole conversation with tools, and the key that decides its split."""
    declared = declared_tools(rng)
    tools = [one.tool for one in declared]
    if rng.random() < 0.07:
        question, answer = rng.choice(NO_TOOL)
        return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}], tools, "no tool " + question
    chosen = rng.choice(declared)
    text, arguments, required = request(chosen, rng)
    messages = [{"role": "user", "content": text}, call_message(chosen.name, arguments)]
    if chosen.invented.answer and rng.random() < 0.5:
        shown = [words.listing(value) if isinstance(value, list) else value for value in required]
        if any(isinstance(value, list) for value in required):
            shown = required
        response, answer = chosen.invented.answer(shown, rng)
        messages += [{"role": "tool", "tool_call_id": "call_0", "content": json.dumps(response)}, {"role": "assistant", "content": answer}]
    return messages, tools, "tools " + text


CALL = re.compile(r"<\|tool_call>call:([\w.\-]+)\{(.*?)\}<tool_call\|>", re.S)


def parse_value(text: str, at: int) -> tuple[Any, int]:
    """One value of Gemma's call format from `at` on, and where it ends."""
    mark = '<|"|>'
    if text.startswith(mark, at):
        end = text.index(mark, at + len(mark))
        return text[at + len(mark):end], end + len(mark)
    if text[at] == "[":
        items: list[Any] = []
        at += 1
        while text[at] != "]":
            item, at = parse_value(text, at)
            items.append(item)
            if text[at] == ",":
                at += 1
        return items, at + 1
    if text[at] == "{":
        return parse_pairs(text, at + 1)
    end = at
    while end < len(text) and text[end] not in ",]}":
        end += 1
    return json.loads(text[at:end]), end


def parse_pairs(text: str, at: int) -> tuple[dict[str, Any], int]:
    pairs: dict[str, Any] = {}
    while at < len(text) and text[at] != "}":
        end = text.index(":", at)
        pairs[text[at:end].replace('<|"|>', "")], at = parse_value(text, end + 1)
        if at < len(text) and text[at] == ",":
            at += 1
    return pairs, at + 1


def parse_call(text: str) -> tuple[str, dict[str, Any]] | None:
    """The first call in what the model wrote, or none if it is not well formed."""
    found = CALL.search(text)
    if not found:
        return None
    try:
        return found.group(1), parse_pairs(found.group(2), 0)[0]
    except (ValueError, IndexError):
        return None
