"""Kinds of records and the clauses that state their fields, from which sentences of many shapes are put together."""

from __future__ import annotations

import random
from typing import Any, Callable, NamedTuple

from train import words

Make = Callable[[random.Random], Any]


class Field(NamedTuple):
    """A field: its usual key, other keys one may ask for, how a value is made, what follows the subject, and whole sentences. {v} is the value, {p} a pronoun,
    {yes|no} a choice by truth."""

    key: str
    others: list[str]
    make: Make
    follows: list[str]
    sentences: list[str] = []


class Kind(NamedTuple):
    """A kind of record: its name, the field that names the subject, how the subject is written, its pronoun, and its other fields."""

    name: str
    lead: Field
    subject: str
    pronoun: str
    fields: list[Field]


def integer(low: int, high: int) -> Make:
    return lambda rng: rng.randint(low, high)


def choice(options: list[str]) -> Make:
    return lambda rng: rng.choice(options)


def price(rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.4:
        return rng.randint(1, 200)
    return rng.randint(100, 9999) / 100 if kind < 0.85 else rng.randint(1, 90) * 50


def decimal(low: int, high: int) -> Make:
    return lambda rng: rng.randint(low * 10, high * 10) / 10


def some(options: list[str], low: int = 2, high: int = 4) -> Make:
    return lambda rng: rng.sample(options, rng.randint(low, high))


def truth(rng: random.Random) -> bool:
    return rng.random() < 0.5


def thing(rng: random.Random) -> str:
    return (rng.choice(words.ADJECTIVES) + " " if rng.random() < 0.4 else "") + rng.choice(words.THINGS)


def title(rng: random.Random) -> str:
    return f"The {rng.choice(words.ADJECTIVES).capitalize()} {rng.choice(words.ANIMALS + words.THINGS).capitalize()}"


def person(rng: random.Random) -> str:
    return words.any_first_name(rng) if rng.random() < 0.55 else words.any_full_name(rng)


def date(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return words.iso_date(rng)
    if kind < 0.7:
        return words.date(rng)
    return f"{rng.choice(words.MONTHS)} {rng.randint(1, 28)}, {rng.randint(1990, 2030)}" if kind < 0.85 else f"{rng.randint(1, 28)} {rng.choice(words.MONTHS)} {rng.randint(1990, 2030)}"


def street(rng: random.Random) -> str:
    return f"{rng.randint(1, 199)} {rng.choice(words.STREETS)} {rng.choice(['Street', 'Road', 'Avenue', 'Lane'])}"


def website(rng: random.Random) -> str:
    return f"www.{rng.choice(words.COMPANIES).lower()}.{rng.choice(['com', 'org', 'net'])}"


def clock(rng: random.Random) -> str:
    return words.clock(rng) if rng.random() < 0.7 else f"{rng.randint(1, 12)}{rng.choice([':00', ':30', ''])} {rng.choice(['am', 'pm'])}"


def number_words(rng: random.Random) -> int:
    return rng.randint(1, 12)


LANGUAGES = ["English", "French", "German", "Spanish", "Italian", "Polish", "Hindi", "Arabic", "Dutch", "Greek", "Japanese", "Turkish", "Korean", "Russian"]
SUBJECTS = ["math", "history", "biology", "physics", "music", "art", "geography", "chemistry", "literature", "economics"]
GENRES = ["mystery", "fantasy", "history", "poetry", "travel", "romance", "adventure", "science", "comedy", "drama", "thriller"]
SPORTS = ["football", "tennis", "hockey", "basketball", "rugby", "volleyball", "cricket", "handball"]
INSTRUMENTS = ["piano", "guitar", "violin", "drums", "flute", "trumpet", "cello", "harp"]
MATERIALS = ["wood", "steel", "glass", "plastic", "leather", "cotton", "paper", "stone", "silk", "copper"]
PLATFORMS = ["Windows", "Linux", "macOS", "Android", "iOS"]
STATUSES = ["open", "closed", "pending", "done", "blocked", "new", "shipped", "delayed", "cancelled", "ready"]
DISHES = ["soup", "salad", "pancakes", "stew", "omelette", "pie", "curry", "risotto", "sandwich", "pizza", "lasagna", "burger", "ramen", "paella"]
BRANDS = ["Toyota", "Ford", "Honda", "Fiat", "Volvo", "Audi", "Mazda", "Kia", "Skoda", "Opel", "Tesla", "Renault", "Nissan"]
EVENTS = ["concert", "meeting", "workshop", "party", "lecture", "match", "wedding", "picnic", "exhibition", "race", "interview", "conference", "dinner", "festival", "seminar"]

AGE = Field("age", ["years", "age_years", "years_old"], integer(3, 95), ["is {v} years old", "is {v}", "turned {v} this year", "is aged {v}", "has just turned {v}"], ["At the age of {v}, {p} is doing well."])
CITY = Field("city", ["town", "location", "home", "lives_in", "place", "residence", "hometown"], words.any_city,
             ["lives in {v}", "is from {v}", "comes from {v}", "is based in {v}", "moved to {v}", "resides in {v}"], ["{P} home is in {v}."])
COUNTRY = Field("country", ["nation", "country_name"], choice(words.COUNTRIES), ["comes from {v}", "was born in {v}", "is a citizen of {v}"], [])
JOB = Field("job", ["occupation", "profession", "job_title", "work", "role"], choice(words.JOBS), ["works as {a}", "is {a}", "is {a} by profession", "earns a living as {a}"], ["{P} job is {v}."])
HOBBY = Field("hobby", ["interest", "likes", "pastime"], choice(words.HOBBIES), ["likes {v}", "enjoys {v}", "loves {v}", "spends weekends on {v}"], ["{P} hobby is {v}."])
HOBBIES = Field("hobbies", ["interests", "likes"], some(words.HOBBIES, 2, 4), ["likes {v}", "enjoys {v}", "loves {v}", "is into {v}"], ["{P} hobbies are {v}."])
EMAIL = Field("email", ["mail", "email_address", "contact"], words.any_email, ["can be reached at {v}", "uses the address {v}", "has the email {v}"], ["Email: {v}.", "Write to {v}.", "{P} email is {v}."])
PHONE = Field("phone", ["phone_number", "telephone", "tel"], words.any_phone, ["can be called at {v}", "has the phone number {v}"], ["Call {v}.", "{P} phone number is {v}.", "Phone: {v}."])
LANGUAGES_SPOKEN = Field("languages", ["speaks", "languages_spoken"], some(LANGUAGES, 2, 3), ["speaks {v}", "is fluent in {v}"], ["{P} languages are {v}."])
MARRIED = Field("married", ["is_married"], truth, ["is {married|not married}", "is {married|single}"], [])
CHILDREN = Field("children", ["kids", "number_of_children", "child_count"], number_words, ["has {n} children", "has {n} kids", "is a parent of {n}"], [])
HEIGHT = Field("height_cm", ["height"], integer(95, 205), ["is {v} cm tall", "stands {v} cm tall"], ["{P} height is {v} cm."])
SALARY = Field("salary", ["income", "pay", "annual_salary"], lambda rng: rng.randint(20, 150) * 1000, ["earns ${c} a year", "makes {v} dollars a year", "has a salary of {v}"], ["{P} salary is {v}."])
COMPANY = Field("company", ["employer", "workplace", "organization", "organisation"], words.any_company, ["works for {v}", "works at {v}", "is employed by {v}", "joined {v}"], ["{P} employer is {v}."])
SINCE = Field("start_year", ["since", "year_started", "hired"], integer(1990, 2025), ["started in {v}", "has been there since {v}", "joined in {v}"], [])
COLOUR = Field("colour", ["color"], choice(words.COLOURS), ["is {v}", "comes in {v}", "is painted {v}", "is {v} in colour"], ["Its colour is {v}.", "The color is {v}."])
PRICE = Field("price", ["cost", "price_usd", "amount"], price, ["costs {m}", "costs {m}", "sells for {m}", "is priced at {m}", "is on sale for {m}"], ["The price is {m}.", "You pay {m} for it."])
STOCK = Field("quantity", ["stock", "count", "units", "in_stock_count"], integer(0, 400), ["has {v} units in stock"], ["There are {v} in stock.", "We have {v} of them.", "{v} pieces are left."])
AVAILABLE = Field("in_stock", ["available", "is_available"], truth, ["is {in stock|out of stock}", "is {available|sold out}", "is {available now|not available}"], [])
CODE = Field("code", ["sku", "id", "item_code", "product_code"], words.any_code, ["has the code {v}", "carries the number {v}", "is listed as {v}"], ["Its code is {v}.", "Order it under {v}."])
MAKER = Field("maker", ["brand", "manufacturer", "made_by"], words.any_company, ["is made by {v}", "comes from {v}", "is a product of {v}"], ["The maker is {v}."])
RATING = Field("rating", ["score", "stars"], decimal(1, 5), ["is rated {v}", "has a rating of {v}", "got {v} stars", "has {v} out of 5 stars"], ["Its rating is {v}."])
WEIGHT = Field("weight_kg", ["weight", "kg"], integer(1, 90), ["weighs {v} kg", "has a weight of {v} kg"], ["The weight is {v} kg."])
DATE = Field("date", ["day", "when"], date, ["is on {v}", "takes place on {v}", "is planned for {v}", "happens on {v}"], ["The date is {v}.", "Mark {v} in your calendar."])
TIME = Field("time", ["start_time", "starts_at", "start"], clock, ["starts at {v}", "begins at {v}", "is at {v}"], ["Be there at {v}.", "The time is {v}."])
PLACE = Field("city", ["location", "place", "venue", "where"], words.any_city, ["is in {v}", "takes place in {v}", "will be held in {v}", "happens in {v}"], ["The place is {v}."])
GUESTS = Field("guests", ["attendees", "participants", "people", "visitors"], integer(3, 900), ["has {v} guests", "is open to {v} people", "expects {v} people"], ["{v} guests are expected.", "There will be {v} people."])
OWNER = Field("owner", ["belongs_to", "owned_by", "owner_name"], person, ["belongs to {v}", "is owned by {v}"], ["The owner is {v}.", "{v} owns it."])
YEAR = Field("year", ["year_built", "built", "released"], integer(1900, 2026), ["is from {v}", "was made in {v}", "came out in {v}", "dates from {v}"], ["The year is {v}."])
MATERIAL = Field("material", ["made_of"], choice(MATERIALS), ["is made of {v}", "consists of {v}"], ["The material is {v}."])
STATUS = Field("status", ["state"], choice(STATUSES), ["is {v}", "is marked as {v}", "has the status {v}"], ["The status is {v}.", "Status: {v}."])
TOTAL = Field("total", ["amount", "sum", "price"], price, ["comes to {m}", "costs {m} in all", "has a total of {m}"], ["The total is {m}.", "In all that is {m}."])
PAID = Field("paid", ["is_paid"], truth, ["is {already paid|not paid yet}", "has {been paid|not been paid}"], [])

NAME = Field("name", ["full_name", "person", "who"], person, [])
KINDS: list[Kind] = [
    Kind("person", NAME, "{v}", "they", [AGE, AGE, CITY, CITY, JOB, HOBBY, HOBBIES, EMAIL, PHONE, LANGUAGES_SPOKEN, MARRIED, CHILDREN, HEIGHT, COUNTRY, COMPANY]),
    Kind("person", NAME, "{v}", "they", [AGE, CITY, JOB, HOBBY, EMAIL, COUNTRY]),
    Kind("employee", Field("name", ["employee", "full_name"], person, []), "{v}", "they", [
        COMPANY, Field("position", ["title", "job_title", "role", "job"], choice(words.JOBS), ["works as {a}", "was hired as {a}"], ["The position is {v}."]), SALARY, SINCE, EMAIL, PHONE, AGE,
        Field("department", ["team", "unit"], choice(["sales", "marketing", "finance", "support", "research", "logistics", "design", "legal"]), ["works in {v}", "is in the {v} department", "is part of the {v} team"]),
        Field("remote", ["works_remotely", "is_remote"], truth, ["works {from home|in the office}", "works {remotely|on site}"])]),
    Kind("student", Field("name", ["student", "pupil"], person, []), "{v}", "they", [
        AGE, CITY, Field("grade", ["class", "school_year"], integer(1, 12), ["is in grade {v}", "goes to grade {v}"]), Field("subject", ["favourite_subject", "major"], choice(SUBJECTS), ["studies {v}", "likes {v} best", "majors in {v}"]),
        Field("score", ["points", "result", "mark"], integer(0, 100), ["scored {v} points", "got {v} points in the test", "has a score of {v}"]), Field("passed", ["has_passed", "pass"], truth, ["{passed|did not pass} the exam", "{passed|failed} the test"]),
        Field("subjects", ["courses", "classes"], some(SUBJECTS, 2, 3), ["takes {v}", "studies {v}"])]),
    Kind("product", Field("product", ["name", "item", "product_name", "article"], thing, []), "the {v}", "it", [PRICE, PRICE, COLOUR, STOCK, AVAILABLE, CODE, MAKER, RATING, WEIGHT, MATERIAL]),
    Kind("order", Field("order_id", ["id", "order", "order_number", "number"], words.any_code, []), "order {v}", "it", [
        Field("customer", ["client", "buyer", "customer_name", "name"], person, ["was placed by {v}", "is for {v}", "came from {v}"], ["The customer is {v}.", "{v} made this order."]),
        Field("items", ["products", "goods", "articles"], some(words.FOODS + words.THINGS, 2, 4), ["contains {v}", "includes {v}"], ["The items are {v}."]), TOTAL, PAID, STATUS,
        Field("date", ["order_date", "ordered_on", "day"], date, ["was placed on {v}", "came in on {v}"], ["It was ordered on {v}."]), Field("city", ["destination", "ship_to"], words.any_city, ["goes to {v}", "ships to {v}"], ["Send it to {v}."])]),
    Kind("event", Field("event", ["name", "title", "what"], choice(EVENTS), []), "the {v}", "it", [
        DATE, DATE, TIME, PLACE, GUESTS, Field("host", ["organizer", "organiser", "organized_by"], person, ["is hosted by {v}", "is organised by {v}"], ["{v} is the host."]),
        Field("ticket_price", ["price", "ticket", "cost"], price, ["costs {m} per ticket"], ["Tickets are {m}.", "A ticket costs {m}."]), Field("free", ["is_free"], truth, ["is {free|not free}"])]),
    Kind("book", Field("title", ["book", "name"], title, []), "{v}", "it", [
        Field("author", ["writer", "written_by"], words.any_full_name, ["was written by {v}", "is a book by {v}", "is by {v}"], ["The author is {v}."]), Field("year", ["published", "year_published", "publication_year"], integer(1900, 2025), ["came out in {v}", "was published in {v}"]),
        Field("pages", ["page_count", "length", "number_of_pages"], integer(40, 900), ["has {v} pages", "is {v} pages long"]), Field("genre", ["category", "type"], choice(GENRES), ["is a {v} book", "belongs to the {v} genre"], ["The genre is {v}."]), PRICE, RATING]),
    Kind("film", Field("title", ["movie", "film", "name"], title, []), "{v}", "it", [
        Field("director", ["directed_by", "film_maker"], words.any_full_name, ["was directed by {v}", "is a film by {v}"], ["The director is {v}."]), YEAR, RATING, Field("genre", ["category"], choice(GENRES), ["is a {v} film"], ["The genre is {v}."]),
        Field("minutes", ["length", "duration", "runtime"], integer(60, 210), ["runs {v} minutes", "is {v} minutes long", "lasts {v} minutes"]), Field("cast", ["actors", "stars"], lambda rng: [words.any_full_name(rng) for _ in range(rng.randint(2, 3))], ["stars {v}", "features {v}"])]),
    Kind("pet", Field("name", ["pet", "pet_name"], words.any_first_name, []), "{v}", "it", [
        Field("animal", ["species", "type", "kind"], choice(words.ANIMALS), ["is {a}"], ["{P} kind is {v}."]), Field("age", ["years"], integer(1, 18), ["is {v} years old", "has just turned {v}"]), COLOUR, OWNER, WEIGHT,
        Field("vaccinated", ["is_vaccinated"], truth, ["is {vaccinated|not vaccinated}"])]),
    Kind("flight", Field("flight", ["flight_number", "number", "id"], words.any_code, []), "flight {v}", "it", [
        Field("from", ["origin", "departure_city", "start"], words.any_city, ["leaves from {v}", "departs from {v}"]), Field("to", ["destination", "arrival_city", "target"], words.any_city, ["flies to {v}", "lands in {v}", "goes to {v}"]),
        Field("departure", ["departure_time", "leaves_at", "time"], clock, ["departs at {v}", "leaves at {v}"]), Field("arrival", ["arrival_time", "arrives_at"], clock, ["arrives at {v}"]),
        Field("gate", ["gate_number"], integer(1, 60), ["boards at gate {v}", "leaves from gate {v}"]), Field("seats", ["capacity"], integer(20, 400), ["has {v} seats"]), Field("delayed", ["is_delayed", "late"], truth, ["is {delayed|on time}"])]),
    Kind("weather report", Field("city", ["location", "place"], words.any_city, []), "{v}", "it", [
        Field("temperature", ["temp", "degrees", "temperature_c"], integer(-15, 40), ["has {v} degrees"], ["The temperature is {v} degrees.", "It is {v} degrees there."]),
        Field("sky", ["weather", "condition", "conditions"], choice(["sunny", "cloudy", "rainy", "foggy", "clear", "stormy", "snowy", "windy"]), ["is {v} today", "has a {v} day"], ["It is {v} there."]),
        Field("wind_kmh", ["wind", "wind_speed"], integer(0, 90), ["has winds of {v} km/h"], ["The wind blows at {v} km/h."]), Field("humidity", ["humidity_percent"], integer(20, 100), ["has {v} percent humidity"], ["Humidity is {v}%."]),
        Field("day", ["weekday", "date"], choice(words.DAYS), [], ["This is the report for {v}.", "It was measured on {v}."])]),
    Kind("recipe", Field("dish", ["recipe", "name", "meal"], choice(DISHES), []), "the {v}", "it", [
        Field("ingredients", ["needs", "items"], some(words.FOODS, 2, 5), ["needs {v}", "is made with {v}", "contains {v}"], ["The ingredients are {v}."]), Field("minutes", ["time", "cooking_time", "duration"], integer(5, 120), ["takes {v} minutes", "is ready in {v} minutes"]),
        Field("servings", ["serves", "portions"], integer(1, 12), ["serves {v}", "is enough for {v} people"]), Field("difficulty", ["level"], choice(["easy", "medium", "hard"]), ["is {v} to make", "is rated {v}"]), Field("vegetarian", ["is_vegetarian"], truth, ["is {vegetarian|not vegetarian}"])]),
    Kind("car", Field("brand", ["make", "car", "model", "maker"], choice(BRANDS), []), "the {v}", "it", [
        Field("year", ["built", "year_built", "model_year"], integer(1985, 2025), ["was built in {v}", "is from {v}"]), COLOUR, Field("km", ["mileage", "kilometers", "odometer"], integer(1000, 250000), ["has run {v} km", "has {c} km on the clock"]), OWNER,
        Field("price", ["cost", "asking_price"], integer(500, 60000), ["costs {c} euros", "is for sale at {v} euros", "costs ${c}"]), Field("electric", ["is_electric"], truth, ["is {electric|not electric}"])]),
    Kind("house", Field("address", ["street", "location"], street, []), "the house at {v}", "it", [
        Field("city", ["town"], words.any_city, ["is in {v}", "stands in {v}"]), Field("rooms", ["room_count", "number_of_rooms"], number_words, ["has {n} rooms"]), Field("garden", ["has_garden"], truth, ["{has a garden|has no garden}"]),
        Field("rent", ["monthly_rent", "price"], integer(300, 4000), ["rents for {v} a month", "costs {v} euros a month"]), Field("area_m2", ["area", "size"], integer(30, 300), ["has {v} square metres", "is {v} square metres large"])]),
    Kind("company", Field("company", ["name", "company_name", "business"], words.any_company, []), "{v}", "it", [
        Field("founded", ["year", "founded_in", "year_founded"], integer(1890, 2024), ["was founded in {v}", "was started in {v}"]), Field("employees", ["staff", "employee_count", "headcount"], integer(2, 9000), ["employs {c} people", "has {v} employees"]),
        Field("ceo", ["boss", "director", "head"], words.any_full_name, ["is led by {v}", "is run by {v}"], ["The CEO is {v}."]), Field("city", ["location", "headquarters", "based_in"], words.any_city, ["is based in {v}", "has its headquarters in {v}"]),
        Field("industry", ["sector", "field"], choice(["software", "food", "banking", "energy", "fashion", "travel", "education", "transport"]), ["works in {v}", "is in the {v} business"]), Field("website", ["url", "site"], website, ["can be found at {v}"], ["The website is {v}."])]),
    Kind("team", Field("team", ["name", "club"], lambda rng: f"{rng.choice(words.CITIES)} {rng.choice(['Tigers', 'Lions', 'Stars', 'Eagles', 'United', 'Rovers', 'Wolves', 'Rangers'])}", []), "{v}", "it", [
        Field("sport", ["game"], choice(SPORTS), ["plays {v}"]), Field("coach", ["trainer"], words.any_full_name, ["is coached by {v}"], ["The coach is {v}."]), Field("wins", ["won", "victories"], integer(0, 40), ["has won {v} games", "has {v} wins"]),
        Field("losses", ["lost", "defeats"], integer(0, 40), ["has lost {v} games", "has {v} losses"]), Field("players", ["squad"], lambda rng: [words.any_first_name(rng) for _ in range(rng.randint(2, 4))], ["has the players {v}"], ["The players are {v}."]),
        Field("stadium", ["arena", "home_ground"], lambda rng: f"{rng.choice(words.STREETS)} Park", ["plays at {v}"])]),
    Kind("ticket", Field("ticket_id", ["id", "ticket", "number", "issue"], words.any_code, []), "ticket {v}", "it", [
        STATUS, Field("priority", ["urgency", "level"], choice(["low", "medium", "high", "urgent"]), ["has {v} priority"], ["The priority is {v}."]), Field("assignee", ["assigned_to", "owner"], person, ["is assigned to {v}", "was given to {v}"]),
        Field("reporter", ["reported_by", "author"], person, ["was reported by {v}", "was opened by {v}"]), Field("platform", ["os", "system"], choice(PLATFORMS), ["happens on {v}", "is about {v}"]), Field("due", ["due_date", "deadline"], date, ["is due on {v}"], ["The deadline is {v}."])]),
    Kind("invoice", Field("invoice", ["invoice_number", "id", "number"], words.any_code, []), "invoice {v}", "it", [
        Field("amount", ["total", "sum"], price, ["is over {m}", "amounts to {m}"], ["The amount is {m}."]), Field("customer", ["client", "to", "billed_to"], person, ["is addressed to {v}", "was sent to {v}"]), PAID, Field("due", ["due_date", "payable_by"], date, ["is due on {v}", "must be paid by {v}"]),
        Field("vendor", ["from", "seller"], words.any_company, ["comes from {v}", "was issued by {v}"])]),
    Kind("musician", Field("name", ["artist", "musician"], words.any_full_name, []), "{v}", "they", [
        Field("instrument", ["plays"], choice(INSTRUMENTS), ["plays the {v}"]), Field("band", ["group"], lambda rng: f"The {rng.choice(words.COLOURS).capitalize()} {words.plural(rng.choice(words.ANIMALS)).capitalize()}", ["is in the band {v}", "plays with {v}"]), AGE, CITY, COUNTRY]),
    Kind("planet", Field("planet", ["name"], lambda rng: words.invented_word(rng).capitalize(), []), "the planet {v}", "it", [
        Field("moons", ["moon_count", "number_of_moons"], number_words, ["has {n} moons"]), Field("radius_km", ["radius"], integer(1000, 70000), ["has a radius of {v} km"]), Field("habitable", ["is_habitable"], truth, ["is {habitable|not habitable}"]),
        Field("discovered", ["year", "discovery_year"], integer(1700, 2025), ["was discovered in {v}"]), Field("discoverer", ["discovered_by", "found_by"], words.any_full_name, ["was found by {v}"])]),
    Kind("appointment", Field("with", ["doctor", "person", "name"], lambda rng: f"Dr. {rng.choice(words.LAST_NAMES)}", []), "the appointment with {v}", "it", [
        DATE, TIME, Field("room", ["office"], integer(1, 400), ["is in room {v}"]), Field("minutes", ["duration", "length"], integer(10, 90), ["takes {v} minutes", "lasts {v} minutes"]), Field("confirmed", ["is_confirmed"], truth, ["is {confirmed|not confirmed yet}"])]),
]
