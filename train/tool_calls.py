"""Conversations in which a declared tool is to be called: invented functions under several names, with several wordings."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import Any, Callable

from train import exchanges, tool_results, words
from train.composed_tools import ACTIONS, TARGETS, Invented, Make, Slot, choice, composed, integer
from train.held import Answer, Held
from train.wording import vary


CITY = Slot(["city", "location", "place"], "string", "Name of the city", words.city)
UNIT = Slot(["unit", "units"], "string", "Unit of the temperature", choice(["celsius", "fahrenheit"]), [" in {v}", ", in {v} please"], ["celsius", "fahrenheit"])
SKIES = ["sunny", "cloudy", "rainy", "clear", "foggy", "windy", "stormy", "snowy", "warm", "cold", "overcast"]


def weather_answer(values: list[Any], rng: random.Random) -> tuple[Any, str]:
    degrees, sky = rng.randint(-5, 35), rng.choice(SKIES)
    if rng.random() < 0.2:
        return sky, f"It is {sky} in {values[0]}."
    found = {rng.choice(["temperature", "temperature", "temp", "degrees", "temp_c"]): degrees, rng.choice(["sky", "condition", "weather", "description"]): sky}
    if rng.random() < 0.3:
        found |= rng.choice([{"city": values[0]}, {"humidity": rng.randint(36, 99)}, {"wind_kmh": rng.randint(40, 90)}, {"city": values[0], "humidity": rng.randint(36, 99)}])
    return found, f"It is {degrees} degrees and {sky} in {values[0]}."


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


def computed(expression: str) -> tuple[dict[str, Any], str]:
    value = round(eval(expression), 2)  # of two numbers, made here
    value = int(value) if value == int(value) else value
    return {"result": value}, f"{expression} is {value}."


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
             Slot(["day", "weekday"], "string", "Day", choice(words.DAYS + ["tomorrow", "today"]), [" for {v}", ", {v}"])],
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
             Slot(["time", "at"], "string", "Time as HH:MM", words.clock), Slot(["day", "date"], "string", "Day", choice(words.DAYS + ["tomorrow", "tonight"]), [" for {v}", ", {v}"])],
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
             ["Calculate {0} with the tool.", "Use the calculator for {0}.", "Compute {0}"], lambda values, rng: computed(values[0])),
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
MORE_REQUESTS = {
    "get_weather": ["What's the weather like in {0}{o}?", "what's the weather in {0}{o}", "Do I need a coat in {0}{o}?", "Can you check the weather in {0}{o}?", "Show me the weather for {0}{o}", "How warm is it in {0}{o}?", "Please look up the weather in {0}{o}.", "I am going to {0}. How is the weather there{o}?",
                    "Is it raining in {0}{o}?", "Current weather {0}{o}", "Get the weather for {0}{o}.", "Could you tell me the weather in {0}{o}?"],
    "get_forecast": ["How will the weather be in {0} over the next {1} days?", "I am in {0} for {1} days. What will the weather be?", "Weather forecast {0} {1} days", "Can you get the forecast for {0} for {1} days?"],
    "get_time": ["what time is it in {0}", "Current time in {0}?", "How late is it in {0}?", "Can you check the time in {0}?", "I need the local time in {0}."],
    "send_email": ["Please send {0} an email{o} saying: {1}", "Mail to {0}{o}: {1}", "Can you send an email to {0}{o} with this text: {1}"],
    "send_message": ["Please text {0}: {1}", "Let {0} know: {1}", "Can you send {0} this message: {1}", "Message {0}: {1}"],
    "set_alarm": ["Wake me up at {0}{o}, please.", "Alarm at {0}{o}", "Can you set an alarm for {0}{o}?", "Please wake me at {0}{o}"],
    "set_timer": ["Timer for {0} minutes", "Please set a {0} minute timer", "Count down {0} minutes", "Can you start a timer of {0} minutes?"],
    "create_reminder": ["Can you remind me to {0} at {1}?", "Don't let me forget to {0} at {1}.", "I need a reminder at {1}: {0}", "Set a reminder to {0} at {1}"],
    "convert_currency": ["What is {0} {1} in {2}?", "I have {0} {1}. How many {2} is that?", "{0} {1} in {2}", "Please convert {0} {1} into {2}"],
    "get_stock_price": ["How is the {0} stock doing?", "Check the share price of {0}.", "What does a {0} share cost?", "price of {0} stock"],
    "play_music": ["Let's listen to some {0}.", "Could you play {0} music?", "play {0}", "I'd like some {0} music"],
    "search_web": ["Can you search the web for {0}?", "Google {0}", "Please search for {0} online.", "Find information on {0}."],
    "book_flight": ["I need a flight from {0} to {1}{o}.", "Book me a flight from {0} to {1}{o}.", "Is there a flight from {0} to {1}{o}?", "fly from {0} to {1}{o}"],
    "get_distance": ["How many kilometers is it from {0} to {1}?", "What's the distance from {0} to {1}?", "How long is the way from {0} to {1}?"],
    "track_order": ["Has order {0} been shipped?", "track {0}", "I am waiting for my order {0}. Where is it?", "Check order {0}, please."],
    "add_numbers": ["Please add {0} and {1} with the tool.", "sum of {0} and {1}", "How much is {0} + {1}?"],
    "multiply_numbers": ["How much is {0} x {1}?", "product of {0} and {1}", "Please multiply {0} and {1}."],
}
for _function in FUNCTIONS:
    _function.requests += MORE_REQUESTS.get(_function.names[0], [])
# Questions that need no tool could go to these; what they are declared with is small talk only.
BROAD = {"search_web", "get_news", "define_word", "translate", "calculate", "add_numbers", "multiply_numbers", "get_population", "get_distance", "rectangle_area", "send_message", "add_todo", "create_reminder", "find_recipe"}
NONE_FITS = ["I am sorry, none of my tools can do that.", "Sorry, I have no tool that can do that.", "None of my tools fits that, so I can't do it."]


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
            entry["items"] = {"type": "integer" if slot.names[0] in ("numbers", "values") else "string"}
        properties[own] = entry
    required = [own for own, slot in zip(parameter_names, invented.slots) if not slot.clauses]
    function = {"name": name, "description": rng.choice(invented.about),
                "parameters": {"type": "object", "properties": properties, "required": required}}
    return Chosen(invented, name, parameter_names, {"type": "function", "function": function})


NUMBER_WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()


def said(value: Any, slot: Slot, rng: random.Random) -> Any:
    """A value as people say it."""
    if slot.kind == "integer" and 1 < value < len(NUMBER_WORDS) and rng.random() < 0.15:
        return NUMBER_WORDS[value]
    if slot.shown:
        return slot.shown(value)
    if isinstance(value, list):
        return words.listing([str(one) for one in value])
    return str(value).lower() if isinstance(value, bool) else value


def request(chosen: Chosen, rng: random.Random) -> tuple[str, dict[str, Any], list[Any]]:
    """A user's words that need the function, the arguments they imply, and the values of its required slots."""
    arguments: dict[str, Any] = {}
    required: list[Any] = []
    shown: list[Any] = []
    optional = ""
    for own, slot in zip(chosen.parameter_names, chosen.invented.slots):
        if slot.clauses and rng.random() < 0.5:
            continue
        value = slot.make(rng)
        while value in required and isinstance(value, str):
            value = slot.make(rng)
        arguments[own] = value
        if slot.clauses:
            optional += rng.choice(slot.clauses).format(v=said(value, slot, rng))
        else:
            required.append(value)
            shown.append(said(value, slot, rng))
    text = rng.choice(chosen.invented.requests).format(*shown, o=optional)
    ends_in_value = any(isinstance(value, str) and text.endswith(value) for value in arguments.values())
    return text if ends_in_value else vary(text, rng, keeps_case=True), arguments, required


def call_message(name: str, arguments: dict[str, Any], call_id: str = "call_0") -> dict[str, Any]:
    return {"role": "assistant", "content": "", "tool_calls": [call_of(name, arguments, call_id)]}


def call_of(name: str, arguments: dict[str, Any], call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def any_function(rng: random.Random) -> Invented:
    kind = rng.random()
    return rng.choice(FUNCTIONS) if kind < 0.42 else tool_results.lookup(rng) if kind < 0.55 else composed(rng)


def words_of(name: str) -> frozenset[str]:
    """What a name says, however it is written."""
    return frozenset(re.sub(r"([A-Z])", r"_\1", name).lower().split("_")) - {"the", "do", "info", "details", "data"}


def declared_tools(rng: random.Random) -> list[Chosen]:
    """One to six functions with different names, some of them alike in verb or thing."""
    count = rng.choices([1, 2, 3, 4, 5, 6], weights=[5, 5, 4, 3, 2, 1])[0]
    found = [any_function(rng)]
    verb, thing = rng.choice(ACTIONS), rng.choice(TARGETS)
    while len(found) < count:
        alike = rng.random()
        found.append(composed(rng, verb=verb) if alike < 0.15 else composed(rng, thing=thing) if alike < 0.3 else any_function(rng))
    different: dict[frozenset[str], Chosen] = {}
    for one in found:
        different.setdefault(words_of(one.names[0]), declare(one, rng))
    return rng.sample(list(different.values()), len(different))


def call_exercise(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str, dict[str, Any]]:
    """Messages up to the request, the tools, and the call that is expected."""
    declared = declared_tools(rng)
    chosen = rng.choice(declared)
    text, arguments, _ = request(chosen, rng)
    return [{"role": "user", "content": text}], [one.tool for one in declared], chosen.name, arguments


def is_near(invented: Invented, declared: list[Chosen]) -> bool:
    """Whether one of the declared functions might do what this one does."""
    parts = set(re.findall(r"[a-z]+", re.sub(r"([A-Z])", r" \1", " ".join(invented.names)).lower())) & set(TARGETS + [*NEAR])
    names = " ".join([one.name for one in declared] + [name for one in declared for name in one.invented.names]).lower()
    return any(part in names for part in parts) or any(part in names for one in parts for part in NEAR.get(one, ()))


# Words of names that mean much the same.
NEAR = {"weather": ("forecast",), "forecast": ("weather",), "alarm": ("timer", "remind", "wake"), "timer": ("alarm", "countdown"), "reminder": ("todo", "task", "alarm", "event"), "todo": ("remind", "task", "list"), "task": ("todo", "remind"), "email": ("message", "mail"), "mail": ("message",),
        "message": ("mail", "text", "sms"), "event": ("meeting", "calendar", "remind"), "meeting": ("event", "calendar"), "stock": ("price",), "currency": ("exchange", "money"), "exchange": ("currency",), "flight": ("trip",), "light": ("lamp",), "thermostat": ("heater", "temperature"), "temperature": ("heat",),
        "song": ("music",), "music": ("song", "playlist"), "file": ("document",), "user": ("customer", "account"), "customer": ("user",), "list": ("todo", "cart"), "cart": ("order",), "order": ("cart", "shipment", "package"), "table": ("reserv", "booking"), "reservation": ("table", "booking"), "photo": ("tags", "picture"), "tags": ("photo",),
        "dice": ("random",), "number": ("random", "dice"), "time": ("clock",), "distance": ("route",), "route": ("distance",), "news": ("article",), "recipe": ("meal",), "word": ("dictionary",), "dictionary": ("word",)}


def no_call(rng: random.Random) -> tuple[str, str, list[Chosen], str, bool]:
    """A message that none of the declared tools serves: question, answer, tools, key, and whether it asks for a deed."""
    while True:
        declared = declared_tools(rng)
        broad = any(one.invented.names[0] in BROAD for one in declared)
        if rng.random() < 0.5:
            exchange = exchanges.of_small_talk(rng) if broad or rng.random() < 0.3 else exchanges.any_exchange(rng, [(exchanges.of_facts, 5), (exchanges.of_sums, 2), (exchanges.of_copies, 2), (exchanges.of_records, 1), (exchanges.of_languages, 1)])
            return exchange.question, exchange.answer, declared, exchange.key or "no tool " + exchange.question.lower(), False
        wanted = any_function(rng)
        if not broad and not is_near(wanted, declared):
            text, _, _ = request(declare(wanted, rng), rng)
            answer = NONE_FITS[0] if rng.random() < 0.8 else rng.choice(NONE_FITS[1:])
            return text, answer, declared, "no tool " + text.lower(), True


def answered(chosen: Chosen, required: list[Any], arguments: dict[str, Any], rng: random.Random, number: int = 0) -> tuple[list[dict[str, Any]], tool_results.Result]:
    """The call, the tool's answer and what the model says of it."""
    result = tool_results.result(chosen.invented, required, rng)
    return [call_message(chosen.name, arguments, f"call_{number}"), {"role": "tool", "tool_call_id": f"call_{number}", "content": result.content}, {"role": "assistant", "content": result.text}], result


def chained(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """A first call finds the number that a second one needs."""
    find, act, text, first, second, results, answer = tool_results.chain(rng)
    tools = [declare(one, rng).tool for one in (find, act)] + [one.tool for one in declared_tools(rng)[:rng.randint(0, 2)] if one.name not in (find.names[0], act.names[0])]
    rng.shuffle(tools)
    messages = [{"role": "user", "content": text}]
    for number, (name, arguments, result) in enumerate(((find.names[0], first, results[0]), (act.names[0], second, results[1]))):
        messages += [call_message(name, arguments, f"call_{number}"), {"role": "tool", "tool_call_id": f"call_{number}", "content": result}]
    return [*messages, {"role": "assistant", "content": answer}], tools, "tools " + text


def twice(declared: list[Chosen], rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str] | None:
    """Two requests of one message, called together."""
    if len(declared) < 2:
        return None
    one, other = rng.sample(declared, 2)
    (text, arguments, required), (more, others, other_required) = request(one, rng), request(other, rng)
    first, second = tool_results.result(one.invented, required, rng), tool_results.result(other.invented, other_required, rng)
    calls = [call_of(one.name, arguments, "call_0"), call_of(other.name, others, "call_1")]
    asked = f"{text.rstrip('.')}{'' if text[-1] in '?!' else '.'} {rng.choice(['Also: ', 'And then: ', '', 'And: '])}{more}"
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": "", "tool_calls": calls}, {"role": "tool", "tool_call_id": "call_0", "content": first.content},
                {"role": "tool", "tool_call_id": "call_1", "content": second.content}, {"role": "assistant", "content": f"{first.text} {second.text}"}]
    return messages, [one.tool for one in declared], "tools " + asked


def before(declared: list[Chosen], rng: random.Random) -> list[dict[str, Any]]:
    """Sometimes talk before the first request."""
    if rng.random() < 0.8:
        return []
    broad = any(one.invented.names[0] in BROAD for one in declared)
    talk = [exchanges.of_small_talk(rng) if broad or rng.random() < 0.5 else exchanges.of_facts(rng) for _ in range(rng.randint(1, 2))]
    return [message for one in talk for message in ({"role": "user", "content": one.question}, {"role": "assistant", "content": one.answer})]


def conversation(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], str]:
    """A whole conversation with tools, and the key that decides its split."""
    kind = rng.random()
    if kind < 0.18:
        question, answer, declared, key, _ = no_call(rng)
        return [*before(declared, rng), {"role": "user", "content": question}, {"role": "assistant", "content": answer}], [one.tool for one in declared], key
    if kind < 0.23:
        return chained(rng)
    declared = declared_tools(rng)
    tools = [one.tool for one in declared]
    both = twice(declared, rng) if kind < 0.27 else None
    if both:
        return both
    chosen = rng.choice(declared)
    text, arguments, required = request(chosen, rng)
    if rng.random() < 0.35:
        return [*before(declared, rng), {"role": "user", "content": text}, call_message(chosen.name, arguments)], tools, "tools " + text
    messages, result = answered(chosen, required, arguments, rng)
    messages = [*before(declared, rng), {"role": "user", "content": text}, *messages]
    if result.more and rng.random() < 0.5:
        question, answer = rng.choice(result.more)
        messages += [{"role": "user", "content": vary(question, rng)}, {"role": "assistant", "content": answer}]
    if rng.random() < 0.2:
        chosen = rng.choice(declared)
        again, arguments, required = request(chosen, rng)
        more, _ = answered(chosen, required, arguments, rng, 1)
        messages += [{"role": "user", "content": again}, *(more if rng.random() < 0.6 else more[:1])]
    elif rng.random() < 0.1:
        talk = exchanges.of_small_talk(rng)
        messages += [{"role": "user", "content": talk.question}, {"role": "assistant", "content": talk.answer}]
    return messages, tools, "tools " + text


def held_call(rng: random.Random) -> Held:
    messages, tools, name, arguments = call_exercise(rng)
    return Held("tools " + messages[0]["content"], messages, lambda answer: answer.calls == [(name, arguments)], tools)


def held_no_call(rng: random.Random) -> Held:
    question, _, declared, key, is_deed = no_call(rng)

    def right(answer: Answer) -> bool:
        says_so = re.search(r"\b(none|no tool|not|can't|cannot|don't|unable)\b", answer.text, re.I)
        return not answer.calls and bool(answer.text.strip()) and (not is_deed or bool(says_so))

    return Held(key, [{"role": "user", "content": question}], right, [one.tool for one in declared])


def held_result(rng: random.Random) -> Held:
    declared = declared_tools(rng)
    chosen = rng.choice(declared)
    text, arguments, required = request(chosen, rng)
    messages, result = answered(chosen, required, arguments, rng)
    return Held("tools " + text, [{"role": "user", "content": text}, *messages[:2]], lambda answer: not answer.calls and tool_results.tells(answer.text, result), [one.tool for one in declared])


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
