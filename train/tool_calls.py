"""Conversations in which a declared tool is to be called: invented functions under several names, with several wordings."""

from __future__ import annotations

import json
import random
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from train import exchanges, tool_results, words
from train.composed_tools import ACTIONS, PLAIN_WORDS, TARGETS, Invented, Slot, composed, is_alike, requests_for
from train.held import Answer, Held
from train.known_tools import FUNCTIONS
from train.wording import vary


# Questions could go to these, so beside them only talk and tasks are asked that no tool is for.
BROAD = {"get_current_time", "get_date", "tell_joke", "convert_units", "search_products", "find_restaurant", "search_web", "get_news", "define_word", "translate", "calculate", "add_numbers", "multiply_numbers", "get_population", "get_distance", "rectangle_area", "find_recipe", "run_command", "open_url"}
# Deeds could be done with these.
ABLE = {"run_command", "open_url", "search_web", "take_note", "switch_device", "search_products", "send_message", "add_todo", "create_reminder"}
NONE_FITS = ["I am sorry, none of my tools can do that.", "Sorry, I have no tool that can do that.", "None of my tools fits that, so I can't do it."]
# What nobody can do who is not told more, by the function's first name.
TOO_SHORT = {"get_weather": ["What's the weather?", "How is the weather?", "Tell me the weather.", "weather please"], "get_forecast": ["What will the weather be like?", "Give me the forecast."], "send_email": ["Send an email.", "I want to send an email.", "Write an email for me."], "send_message": ["Send a message.", "I want to text someone."],
             "set_alarm": ["Set an alarm.", "Wake me up."], "set_timer": ["Start a timer.", "Set a timer, please."], "create_reminder": ["Create a reminder.", "Remind me, please."], "translate": ["Translate something.", "Can you translate for me?"], "get_stock_price": ["What is the stock price?", "Look up a stock."], "book_table": ["Book a table.", "I want to reserve a table."],
             "book_flight": ["Book a flight.", "I need a flight."], "get_distance": ["How far is it?"], "find_recipe": ["Find a recipe."], "track_order": ["Where is my order?", "Track my order."], "get_user": ["Look up a user."], "create_event": ["Create an event.", "Put a meeting into my calendar."], "define_word": ["Define a word."], "open_file": ["Open a file.", "Read a file for me."],
             "search_hotels": ["Find a hotel.", "I need a hotel."], "get_directions": ["Give me directions.", "How do I get there?"], "cancel_order": ["Cancel my order."], "transfer_money": ["Send some money.", "Make a payment."], "order_pizza": ["Order a pizza.", "I want pizza."], "book_ride": ["Call a taxi.", "I need a ride."], "call_contact": ["Make a call."], "convert_currency": ["Convert some money."]}
CALL_WORTH = 4  # of a call, and of saying that none fits: a few tokens behind hundreds of declarations
ASK_BACK = ["I need to know one more thing for that: {}.", "Please tell me the {}.", "For that I need the {}. Please tell me."]


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
    return {"role": "assistant", "content": "", "tool_calls": [call_of(name, arguments, call_id)], "worth": CALL_WORTH}


def call_of(name: str, arguments: dict[str, Any], call_id: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def any_function(rng: random.Random) -> Invented:
    kind = rng.random()
    return rng.choice(FUNCTIONS) if kind < 0.42 else tool_results.lookup(rng) if kind < 0.55 else composed(rng)


def words_of(name: str) -> frozenset[str]:
    """What a name says, however it is written."""
    return frozenset(re.sub(r"([A-Z])", r"_\1", name).lower().split("_")) - {"the", "do", "info", "details", "data"}


def declared_tools(rng: random.Random, crowded: bool = False) -> list[Chosen]:
    """One to six functions with different names, some of them alike in verb or thing; crowded: more of them, and most alike."""
    count = rng.choices([1, 2, 3, 4, 5, 6], weights=[1, 2, 3, 4, 5, 5] if crowded else [5, 5, 4, 3, 2, 1])[0]
    found = [composed(rng) if crowded and rng.random() < 0.7 else any_function(rng)]
    verb, thing = rng.choice(ACTIONS), rng.choice(TARGETS)
    if crowded and found[0].verb:
        verb, thing = next(one for one in ACTIONS if one[0] == found[0].verb), found[0].thing
    limit = 0.3 if crowded else 0.15
    while len(found) < count:
        alike = rng.random()
        found.append(composed(rng, verb=verb) if alike < limit else composed(rng, thing=thing) if alike < 2 * limit else any_function(rng))
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
NEAR = {"note": ("remind", "todo"), "hotel": ("book", "reserv"), "restaurant": ("table",), "taxi": ("ride",), "ride": ("taxi",), "pizza": ("order",), "product": ("cart", "order"), "money": ("pay", "currency", "exchange"), "balance": ("account",), "device": ("light", "heater", "fan", "lamp"), "volume": ("music", "song"), "contact": ("message", "call"), "call": ("contact", "message"), "movie": ("film", "video"), "route": ("distance", "directions"), "directions": ("distance", "route", "flight"), "flights": ("trip",), "convert": ("exchange", "currency"), "users": ("customer", "account"), "folder": ("file",), "files": ("file", "open"), "page": ("web", "url"), "units": ("convert",), "joke": ("fun",), "weather": ("forecast",), "forecast": ("weather",), "alarm": ("timer", "remind", "wake"), "timer": ("alarm", "countdown"), "reminder": ("todo", "task", "alarm", "event"), "todo": ("remind", "task", "list"), "task": ("todo", "remind"), "email": ("message", "mail"), "mail": ("message",),
        "message": ("mail", "text", "sms"), "event": ("meeting", "calendar", "remind"), "meeting": ("event", "calendar"), "stock": ("price",), "currency": ("exchange", "money"), "exchange": ("currency",), "flight": ("trip",), "light": ("lamp",), "thermostat": ("heater", "temperature"), "temperature": ("heat",),
        "song": ("music",), "music": ("song", "playlist"), "file": ("document",), "user": ("customer", "account"), "customer": ("user",), "list": ("todo", "cart"), "cart": ("order",), "order": ("cart", "shipment", "package"), "table": ("reserv", "booking"), "reservation": ("table", "booking"), "photo": ("tags", "picture"), "tags": ("photo",),
        "dice": ("random",), "number": ("random", "dice"), "time": ("clock",), "distance": ("route",), "news": ("article",), "recipe": ("meal",), "word": ("dictionary",), "dictionary": ("word",)}


FOR_NO_TOOL = [(exchanges.of_copies, 3), (exchanges.of_records, 2), (exchanges.of_code, 1), (exchanges.of_stories, 2)]
NEEDS_NO_TOOL = [*FOR_NO_TOOL, (exchanges.of_facts, 8), (exchanges.of_sums, 3), (exchanges.of_languages, 1)]


class Declined(NamedTuple):
    """A message that none of the declared tools serves, and what the model says; `is_deed`: it asks for a deed."""

    question: str
    answer: str
    key: str
    is_deed: bool

    @property
    def is_short(self) -> bool:
        """A sentence: what decides is that there is no call."""
        return len(self.answer) < 80


def near_miss(declared: list[Chosen], rng: random.Random) -> Invented | None:
    """A function with the verb or with the thing of a declared one, but not both."""
    made = [one.invented for one in declared if one.invented.verb]
    if not made:
        return None
    one = rng.choice(made)
    if rng.random() < 0.5:
        wanted = composed(rng, verb=next(action for action in ACTIONS if action[0] == one.verb))
        return None if is_near(wanted, declared) else wanted
    wanted = composed(rng, thing=one.thing)
    others = [chosen for chosen in declared if one.thing.replace("_", "") not in chosen.name.replace("_", "").lower()]
    alike = any(is_alike(wanted.verb, chosen.invented.verb) or not chosen.invented.verb for chosen in declared if chosen not in others)
    return None if alike or is_near(wanted, others) else wanted


def declined(declared: list[Chosen], rng: random.Random, near: float = 0.0) -> Declined:
    """Talk that needs no tool, or a request for a deed that no tool does (none that the model could answer itself); `near` is the share of deeds much like a tool's."""
    first_names = {one.invented.names[0] for one in declared}
    for _ in range(12 if rng.random() < 0.5 and not first_names & ABLE else 0):
        wanted = near_miss(declared, rng) if rng.random() < near else next((one for one in [any_function(rng)] if not is_near(one, declared)), None)
        if wanted and wanted.names[0] not in BROAD and (wanted.verb or not first_names & BROAD):
            text, _, _ = request(declare(wanted, rng), rng)
            answer = NONE_FITS[0] if rng.random() < 0.8 else rng.choice(NONE_FITS[1:])
            return Declined(text, answer, "no tool " + text.lower(), True)
    exchange = exchanges.of_small_talk(rng) if rng.random() < 0.3 and "tell_joke" not in first_names else exchanges.any_exchange(rng, FOR_NO_TOOL if first_names & BROAD else NEEDS_NO_TOOL)
    return Declined(exchange.question, exchange.answer, exchange.key or "no tool " + exchange.question.lower(), False)


def lacking(declared: list[Chosen], rng: random.Random) -> Declined | None:
    """A request that leaves out what the function must be told: the model asks for it."""
    chosen = rng.choice(declared)
    required = [number for number, slot in enumerate(chosen.invented.slots) if not slot.clauses]
    if not required:
        return None
    if chosen.invented.names[0] in TOO_SHORT:
        text, missing = vary(rng.choice(TOO_SHORT[chosen.invented.names[0]]), rng), required[0]
    elif chosen.invented.verb:
        at = rng.randrange(len(required))
        missing = required[at]
        if chosen.invented.slots[missing].kind == "boolean":
            return None
        thing = PLAIN_WORDS.get(chosen.invented.thing, chosen.invented.thing)
        shown = [said(chosen.invented.slots[number].make(rng), chosen.invented.slots[number], rng) for number in required]
        text = rng.choice(requests_for(chosen.invented.verb, thing, chosen.invented.slots, rng, at)).format(*shown, o="")
    else:
        return None
    name = re.sub(r"([A-Z])", r" \1", chosen.parameter_names[missing]).replace("_", " ").lower()
    return Declined(text, rng.choice(ASK_BACK).format(name), "tools " + text, False)


def answered(chosen: Chosen, required: list[Any], arguments: dict[str, Any], rng: random.Random, number: int = 0) -> tuple[list[dict[str, Any]], tool_results.Result]:
    """The call, the tool's answer and what the model says of it."""
    result = tool_results.result(chosen.invented, required, rng)
    return [call_message(chosen.name, arguments, f"call_{number}"), {"role": "tool", "tool_call_id": f"call_{number}", "content": result.content}, {"role": "assistant", "content": result.text}], result


def chained(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """A first call finds the number that a second one needs."""
    find, act, text, first, second, results, answer = tool_results.chain(rng)
    tools = [declare(one, rng).tool for one in (find, act)] + [one.tool for one in declared_tools(rng)[:rng.randint(0, 2)] if one.name not in (find.names[0], act.names[0])]
    rng.shuffle(tools)
    messages = [{"role": "user", "content": text}]
    for number, (name, arguments, result) in enumerate(((find.names[0], first, results[0]), (act.names[0], second, results[1]))):
        messages += [call_message(name, arguments, f"call_{number}"), {"role": "tool", "tool_call_id": f"call_{number}", "content": result}]
    return [*messages, {"role": "assistant", "content": answer}], tools, ["tools " + text]


def twice(declared: list[Chosen], rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]] | None:
    """Two requests of one message, called together."""
    if len(declared) < 2:
        return None
    one, other = rng.sample(declared, 2)
    (text, arguments, required), (more, others, other_required) = request(one, rng), request(other, rng)
    first, second = tool_results.result(one.invented, required, rng), tool_results.result(other.invented, other_required, rng)
    calls = [call_of(one.name, arguments, "call_0"), call_of(other.name, others, "call_1")]
    asked = f"{text.rstrip('.')}{'' if text[-1] in '?!' else '.'} {rng.choice(['Also: ', 'And then: ', '', 'And: '])}{more}"
    messages = [{"role": "user", "content": asked}, {"role": "assistant", "content": "", "tool_calls": calls, "worth": CALL_WORTH}, {"role": "tool", "tool_call_id": "call_0", "content": first.content},
                {"role": "tool", "tool_call_id": "call_1", "content": second.content}, {"role": "assistant", "content": f"{first.text} {second.text}"}]
    return messages, [one.tool for one in declared], ["tools " + text, "tools " + more]


def same_again(chosen: Chosen, arguments: dict[str, Any], rng: random.Random, number: int) -> list[dict[str, Any]]:
    """"And in Rome?" behind a call with one value: the same call with another one; nothing where the call has more."""
    slots = [slot for slot in chosen.invented.slots if not slot.clauses]
    if len(slots) != 1 or len(arguments) != 1 or slots[0].kind not in ("string", "integer"):
        return []
    (own, old), value = next(iter(arguments.items())), slots[0].make(rng)
    if value == old or not chosen.invented.answer:
        return []
    shapes = ["And {v}?", "What about {v}?", "And for {v}?", "Now {v}, please.", "The same for {v}.", "how about {v}"] + (["And in {v}?", "And what about {v}?", "and in {v}"] if slots[0].make is words.city else [])
    messages, _ = answered(chosen, [value], {own: value}, rng, number + 1)
    return [{"role": "user", "content": rng.choice(shapes).format(v=value)}, *messages]


def declined_turn(declared: list[Chosen], rng: random.Random) -> tuple[list[dict[str, Any]], list[str]]:
    """A message that is answered without a call."""
    one = lacking(declared, rng) if rng.random() < 0.1 else None
    one = one or declined(declared, rng, 0.4)
    return [{"role": "user", "content": one.question}, {"role": "assistant", "content": one.answer, "worth": CALL_WORTH if one.is_short else 1}], [one.key]


def called_turn(declared: list[Chosen], rng: random.Random, number: int, is_last: bool) -> tuple[list[dict[str, Any]], list[str]]:
    """A request, its call, and mostly what comes of it; the last one may end with the call."""
    chosen = rng.choice(declared)
    text, arguments, required = request(chosen, rng)
    asked = [{"role": "user", "content": text}]
    if is_last and rng.random() < 0.5:
        return [*asked, call_message(chosen.name, arguments, f"call_{number}")], ["tools " + text]
    messages, result = answered(chosen, required, arguments, rng, number)
    if result.more and rng.random() < 0.4:
        question, answer = rng.choice(result.more)
        messages += [{"role": "user", "content": vary(question, rng)}, {"role": "assistant", "content": answer}]
    return [*asked, *messages, *(same_again(chosen, arguments, rng, number) if rng.random() < 0.25 else [])], ["tools " + text]


def conversation(rng: random.Random) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """A whole conversation with tools, and the keys that decide its split: turns that need a tool and turns that need none, in any order."""
    kind = rng.random()
    if kind < 0.05:
        return chained(rng)
    declared = declared_tools(rng, rng.random() < 0.4)
    both = twice(declared, rng) if kind < 0.09 else None
    if both:
        return both
    messages: list[dict[str, Any]] = []
    keys: list[str] = []
    count = rng.choices([1, 2, 3, 4, 5, 6], weights=[4, 4, 4, 3, 2, 1])[0]
    for number in range(count):
        more, own = declined_turn(declared, rng) if rng.random() < 0.45 else called_turn(declared, rng, 2 * number, number == count - 1)
        messages += more
        keys += own
    return messages, [one.tool for one in declared], keys


def held_call(rng: random.Random) -> Held:
    messages, tools, name, arguments = call_exercise(rng)
    return Held("tools " + messages[0]["content"], messages, lambda answer: answer.calls == [(name, arguments)], tools)


def held_no_call(rng: random.Random) -> Held:
    declared = declared_tools(rng)
    asked = declined(declared, rng)

    def right(answer: Answer) -> bool:
        says_so = re.search(r"\b(none|no tool|not|can't|cannot|don't|unable)\b", answer.text, re.I)
        return not answer.calls and bool(answer.text.strip()) and (not asked.is_deed or bool(says_so))

    return Held(asked.key, [{"role": "user", "content": asked.question}], right, [one.tool for one in declared])


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
