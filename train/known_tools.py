"""Functions as people really declare them, with requests in several wordings and what they answer."""

from __future__ import annotations

import random
from typing import Any, Callable

from train import words
from train.composed_tools import Invented, Make, Slot, choice, decimal, file_name, integer, short_text, some, web_address

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
STATES = ["on", "off"]
CUISINES = ["Italian", "Indian", "Thai", "Mexican", "Chinese", "Greek", "Japanese", "French", "Turkish", "vegan"]
TOPPINGS = ["cheese", "mushrooms", "olives", "onions", "ham", "peppers", "tomatoes", "pineapple", "basil", "corn"]
COMMANDS = ["ls", "pwd", "date", "whoami", "df -h", "ls -la", "git status", "git log", "uname -a", "make test", "cat notes.txt", "python3 main.py", "npm test", "echo hello", "uptime", "free -m"]
UNITS = ["km", "miles", "kg", "pounds", "meters", "feet", "liters", "gallons", "cm", "inches", "grams", "ounces"]
DEVICES = ["fan", "heater", "TV", "radio", "lamp", "coffee machine", "air conditioner", "dishwasher", "printer", "router"]
FILMS = ["The Red Boat", "Night Train", "Blue Summer", "The Last Key", "Star Garden", "Two Brothers", "The Quiet House", "Rain in May"]
JOKES = ["Why did the bike fall over? It was two tired.", "What do you call a sleeping bull? A bulldozer.", "Why was the math book sad? It had too many problems.", "What has hands but can't clap? A clock."]
FUNCTIONS += [
    Invented(["search_hotels", "find_hotel", "hotel_search"], ["Find a hotel", "Search hotels in a city"], [CITY, Slot(["nights", "num_nights"], "integer", "Number of nights", integer(1, 14)), Slot(["guests", "persons"], "integer", "Number of guests", integer(1, 6), [" for {v} guests", ", {v} people"])],
             ["Find a hotel in {0} for {1} nights{o}.", "I need a hotel in {0} for {1} nights{o}", "Where can I stay in {0} for {1} nights{o}?", "Search hotels in {0}, {1} nights{o}"], text_answer("hotel", lambda rng: f"Hotel {rng.choice(words.COMPANIES)}", "You could stay at {r} in {0}.")),
    Invented(["get_directions", "find_route", "directions"], ["Directions between two places", "Get the route from one place to another"], [Slot(["start", "origin", "from"], "string", "Where to start", words.city), Slot(["destination", "end", "to"], "string", "Where to go", words.city),
             Slot(["mode", "travel_mode"], "string", "How to travel", choice(["car", "train", "bike", "bus"]), [" by {v}"], ["car", "train", "bike", "bus"])],
             ["How do I get from {0} to {1}{o}?", "Show me the way from {0} to {1}{o}.", "Directions from {0} to {1}{o}", "I want to go from {0} to {1}{o}. Which way?"], number_answer("minutes", "The way from {0} to {1} takes {r} minutes.", 10, 900)),
    Invented(["cancel_order", "stop_order"], ["Cancel an order"], [Slot(["order_id", "order", "id"], "string", "Number of the order", words.code), Slot(["reason"], "string", "Why it is canceled", choice(["too late", "too expensive", "wrong size", "not needed"]), [" because it is {v}", ", reason: {v}"])],
             ["Cancel order {0}{o}.", "Please cancel my order {0}{o}", "I don't want order {0} anymore{o}. Cancel it.", "Stop order {0}{o}"], done("Order {0} is canceled.")),
    Invented(["transfer_money", "send_money", "make_payment"], ["Send money to a person", "Transfer an amount to somebody"], [Slot(["recipient", "to", "name"], "string", "Who gets the money", words.first_name), Slot(["amount", "sum"], "number", "How much, in dollars", decimal(1, 900))],
             ["Send {1} dollars to {0}.", "Transfer {1} dollars to {0}.", "Pay {0} {1} dollars.", "I owe {0} {1} dollars. Please send it."], done("I sent {1} dollars to {0}.")),
    Invented(["get_balance", "account_balance", "check_balance"], ["Balance of an account"], [Slot(["account", "account_name", "account_type"], "string", "Which account", choice(["savings", "checking", "business", "travel"]))],
             ["What is the balance of my {0} account?", "How much money is in my {0} account?", "Check the {0} account balance"], number_answer("balance", "Your {0} account has {r} dollars.", 5, 9000)),
    Invented(["find_restaurant", "search_restaurants", "restaurant_search"], ["Find a restaurant in a city"], [CITY, Slot(["cuisine", "kind", "food"], "string", "Kind of food", choice(CUISINES))],
             ["Find a {1} restaurant in {0}.", "Where can I eat {1} food in {0}?", "I am in {0} and want {1} food.", "{1} restaurant in {0}"], text_answer("restaurant", lambda rng: f"{rng.choice(words.FIRST_NAMES)}'s Kitchen", "You could try {r} in {0}.")),
    Invented(["order_pizza", "pizza_order", "create_pizza"], ["Order a pizza"], [Slot(["size"], "string", "Size of the pizza", choice(["small", "medium", "large"]), options=["small", "medium", "large"]), Slot(["toppings", "ingredients"], "array", "What is on it", some(TOPPINGS, 1, 3))],
             ["Order a {0} pizza with {1}.", "I want a {0} pizza with {1}, please.", "{0} pizza with {1}", "Can you get me a {0} pizza with {1}?"], number_answer("minutes", "Your {0} pizza comes in {r} minutes.", 15, 70)),
    Invented(["run_command", "bash", "shell", "execute_command"], ["Run a command in the shell", "Execute a shell command"], [Slot(["command", "cmd"], "string", "The command", choice(COMMANDS))],
             ["Run {0}", "Run the command {0}", "Execute {0} in the shell", "Please run `{0}`", "What does {0} print?"], text_answer("output", lambda rng: rng.choice([words.invented_word(rng), f"{rng.randint(2, 90)} files", "clean", "all tests passed", words.iso_date(rng)]), "The command {0} printed: {r}")),
    Invented(["write_file", "save_file", "create_file"], ["Write a text into a file"], [Slot(["path", "file", "filename"], "string", "Name of the file", file_name), Slot(["content", "text", "data"], "string", "What to write", short_text)],
             ["Create the file {0} with this text: {1}", "Write into {0}: {1}", "Save this to {0}: {1}", "Make a file {0} that says: {1}"], done("I wrote the file {0}.")),
    Invented(["list_files", "list_directory", "ls"], ["List the files of a folder"], [Slot(["folder", "path", "directory"], "string", "The folder", lambda rng: rng.choice(["/tmp", "/home", "docs", "src", "photos", "music"]) + rng.choice(["", "", "/" + rng.choice(words.THINGS)]))],
             ["Which files are in {0}?", "List the files in {0}.", "Show me the folder {0}.", "What is in the directory {0}?"], lambda values, rng: listed("files", [file_name(rng) for _ in range(rng.randint(1, 4))], f"In {values[0]} there is")),
    Invented(["open_url", "fetch_page", "browse"], ["Open a web page", "Fetch a page from the web"], [Slot(["url", "address", "link"], "string", "Address of the page", web_address)], ["Open {0}", "Go to {0}", "Fetch the page {0}", "What does {0} say?"], None),
    Invented(["take_note", "add_note", "write_note", "save_note"], ["Save a note", "Writes a note"], [Slot(["text", "note", "content"], "string", "Text of the note", short_text)], ["Note: {0}", "Write a note: {0}", "Take a note that says: {0}", "Save this as a note: {0}"], done("I saved your note.")),
    Invented(["create_user", "add_user", "register_user"], ["Create an account for a person"], [Slot(["name", "username"], "string", "Name of the person", words.first_name), Slot(["email", "mail"], "string", "Email address", words.email), Slot(["admin", "is_admin"], "boolean", "Whether the person is an admin", lambda rng: True, [" as an admin", " with admin rights"])],
             ["Create a user {0} with the email {1}{o}.", "Add {0} ({1}) as a new user{o}.", "Register {0}, email {1}{o}", "We need an account for {0}, {1}{o}."], done("The account for {0} is ready.")),
    Invented(["reset_password", "send_password_reset"], ["Reset the password of an account"], [Slot(["email", "account", "user"], "string", "Email address of the account", words.email)], ["Reset the password of {0}.", "I forgot my password, my email is {0}", "Please reset the password for {0}"], done("The password of {0} was reset.")),
    Invented(["set_volume", "volume", "change_volume"], ["Set the volume"], [Slot(["level", "percent", "value"], "integer", "Volume from 0 to 100", integer(0, 100))], ["Set the volume to {0}.", "Volume {0}, please", "Make it louder: volume {0}", "Turn the volume to {0} percent."], done("The volume is {0} now.")),
    Invented(["switch_device", "control_device", "set_power"], ["Switch a device on or off"], [Slot(["device", "name", "appliance"], "string", "The device", choice(DEVICES)), Slot(["state", "power", "action"], "string", "on or off", choice(STATES), options=STATES)],
             ["Turn {1} the {0}.", "Switch the {0} {1}.", "Please turn the {0} {1}", "Can you turn {1} the {0}?", "{0} {1}"], done("The {0} is {1} now.")),
    Invented(["convert_units", "unit_converter", "convert"], ["Convert a value from one unit to another"], [Slot(["value", "amount"], "number", "The value", decimal(1, 500)), Slot(["from_unit", "source_unit"], "string", "Unit of the value", choice(UNITS)), Slot(["to_unit", "target_unit"], "string", "Unit to convert to", choice(UNITS))],
             ["Convert {0} {1} to {2}.", "How many {2} are {0} {1}?", "What is {0} {1} in {2}?", "{0} {1} in {2}"], number_answer("result", "{0} {1} are {r} {2}.", 1, 900)),
    Invented(["search_products", "find_product", "product_search"], ["Search the shop for products"], [Slot(["query", "product", "keyword"], "string", "What to look for", choice(words.THINGS)), Slot(["max_price", "price_limit"], "number", "Highest price", integer(5, 500), [" for less than {v} dollars", " under {v} dollars"])],
             ["Find a {0}{o}.", "I am looking for a {0}{o}.", "Show me a {0}{o}", "Do you sell a {0}{o}?"], price_answer),
    Invented(["book_ride", "call_taxi", "order_taxi"], ["Order a taxi"], [Slot(["pickup", "from_address", "start"], "string", "Where to pick up", lambda rng: f"{rng.randint(1, 99)} {rng.choice(words.STREETS)} Street"), Slot(["destination", "to_address"], "string", "Where to go", lambda rng: rng.choice(["the airport", "the station", "the hospital", "the museum", "the harbor"]))],
             ["Get me a taxi from {0} to {1}.", "I need a ride from {0} to {1}.", "Order a taxi, pickup at {0}, to {1}", "Please book a taxi to {1} from {0}."], number_answer("minutes", "Your taxi to {1} comes in {r} minutes.", 2, 40)),
    Invented(["call_contact", "make_call", "phone_call"], ["Call a person by phone"], [Slot(["name", "contact", "person"], "string", "Whom to call", words.first_name)], ["Call {0}.", "Phone {0}, please.", "I want to talk to {0} on the phone.", "Can you call {0}?"], done("I am calling {0}.")),
    Invented(["get_calories", "calories_of", "nutrition"], ["Calories of a food"], [Slot(["food", "item"], "string", "The food", choice(words.FOODS)), Slot(["grams", "weight"], "integer", "Weight in grams", integer(10, 500))], ["How many calories have {1} grams of {0}?", "Calories of {1} g {0}", "Calories in {1} grams of {0}?"], number_answer("calories", "{1} grams of {0} have {r} calories.", 5, 900)),
    Invented(["get_movie_times", "showtimes", "find_showtimes"], ["When a film is shown"], [Slot(["movie", "film", "title"], "string", "Name of the film", choice(FILMS)), CITY], ["When is {0} shown in {1}?", "Showtimes of {0} in {1}", "I want to see {0} in {1}. When does it start?"], text_answer("time", words.clock, "{0} starts at {r} in {1}.")),
    Invented(["get_current_time", "now", "get_time_now"], ["The current time"], [], ["What time is it?", "What time is it now?", "Tell me the time.", "How late is it?", "current time please"], text_answer("time", words.clock, "It is {r}.")),
    Invented(["get_date", "today", "current_date"], ["The date of today"], [], ["What is the date today?", "Which day is it?", "What's today's date?", "Tell me the date."], text_answer("date", words.iso_date, "Today is {r}.")),
    Invented(["tell_joke", "get_joke", "random_joke"], ["A random joke"], [], ["Tell me a joke.", "Make me laugh.", "I want to hear a joke.", "joke please", "Do you know a joke?"], text_answer("joke", choice(JOKES), "{r}")),
    Invented(["list_users", "get_users", "all_users"], ["List all users"], [], ["Which users are there?", "List all users.", "Show me the users.", "Who has an account?"], lambda values, rng: listed("users", rng.sample(words.FIRST_NAMES, rng.randint(1, 4)), "The users are")),
    Invented(["next_song", "skip_song", "play_next"], ["Skip to the next song"], [], ["Next song.", "Skip this song.", "Play the next song, please.", "I don't like this one. Skip."], done("Here is the next song.")),
]


def listed(key: str, items: list[str], lead: str) -> tuple[dict[str, Any], str]:
    return {key: items}, f"{lead} {words.listing(items)}."


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
