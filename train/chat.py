"""Renders conversations in Gemma 4's chat format, as pieces of text that say whether the model is to learn them.

The text is what chat_template.jinja gives for the same messages; thinking is left out.
"""

from __future__ import annotations

from typing import Any, Iterable, NamedTuple

Message = dict[str, Any]
Tool = dict[str, Any]

BOS, EOS = "<bos>", "<eos>"
TURN_END = "<turn|>"
STRING_MARK = '<|"|>'
RESPONSE_BEGIN, RESPONSE_END = "<|tool_response>", "<tool_response|>"
IMAGE = "<|image|>"
IMAGE_BEGIN, IMAGE_END = "<|image>", "<image|>"
STANDARD_KEYS = ("description", "type", "properties", "required", "nullable")


class Segment(NamedTuple):
    """A stretch of a document; `learn` says how much it counts that its tokens are predicted: 0 where nothing is to be learnt."""

    text: str
    learn: int


def quoted(text: Any) -> str:
    return f"{STRING_MARK}{text}{STRING_MARK}"


def by_key(mapping: dict[str, Any]) -> list[tuple[str, Any]]:
    """The items as Jinja's dictsort orders them: by key, capital letters counting as small ones."""
    return sorted(mapping.items(), key=lambda item: item[0].lower())


def format_argument(value: Any, quote_keys: bool = True) -> str:
    """One value of a call, a response or a declaration."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        inside = (f"{quoted(key) if quote_keys else key}:{format_argument(item, quote_keys)}" for key, item in by_key(value))
        return "{" + ",".join(inside) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(format_argument(item, quote_keys) for item in value) + "]"
    return str(value)


def quoted_list(names: Iterable[str]) -> str:
    return "[" + ",".join(quoted(name) for name in names) + "]"


def type_name(value: dict[str, Any]) -> str:
    return str(value.get("type", "")).upper()


def format_items(items: dict[str, Any]) -> str:
    """What an array of a declaration holds."""
    parts = []
    for key, value in by_key(items):
        if value is None:
            continue
        if key == "properties":
            parts.append("properties:{" + (format_properties(value) if isinstance(value, dict) else "") + "}")
        elif key == "required":
            parts.append("required:" + quoted_list(value))
        elif key == "type":
            upper = value.upper() if isinstance(value, str) else [one.upper() for one in value]
            parts.append("type:" + format_argument(upper))
        else:
            parts.append(f"{key}:{format_argument(value)}")
    return ",".join(parts)


def format_properties(properties: dict[str, Any], skip_standard_keys: bool = False) -> str:
    """The parameters of a declaration."""
    shown = []
    for key, value in by_key(properties):
        if skip_standard_keys and key in STANDARD_KEYS:
            continue
        parts = []
        kind = type_name(value)
        if value.get("description"):
            parts.append("description:" + quoted(value["description"]))
        if kind == "STRING" and value.get("enum"):
            parts.append("enum:" + format_argument(value["enum"]))
        if kind == "ARRAY" and isinstance(value.get("items"), dict) and value["items"]:
            parts.append("items:{" + format_items(value["items"]) + "}")
        if value.get("nullable"):
            parts.append("nullable:true")
        if kind == "OBJECT":
            if isinstance(value.get("properties"), dict):
                parts.append("properties:{" + format_properties(value["properties"]) + "}")
            else:
                inner = {name: one for name, one in value.items() if name not in STANDARD_KEYS and isinstance(one, dict)}
                parts.append("properties:{" + format_properties(inner, True) + "}")
            if value.get("required"):
                parts.append("required:" + quoted_list(value["required"]))
        parts.append("type:" + quoted(kind))
        shown.append(f"{key}:" + "{" + ",".join(parts) + "}")
    return ",".join(shown)


def format_declaration(tool: Tool) -> str:
    """A tool as the system turn declares it."""
    function = tool["function"]
    text = f"declaration:{function['name']}" + "{description:" + quoted(function.get("description", ""))
    parameters = function.get("parameters")
    if parameters:
        text += ",parameters:{"
        if parameters.get("properties"):
            text += "properties:{" + format_properties(parameters["properties"]) + "},"
        if parameters.get("required"):
            text += "required:" + quoted_list(parameters["required"]) + ","
        if parameters.get("type"):
            text += "type:" + quoted(type_name(parameters)) + "}"
    return text + "}"


def format_call(name: str, arguments: dict[str, Any]) -> str:
    inside = ",".join(f"{key}:{format_argument(value, False)}" for key, value in by_key(arguments))
    return f"<|tool_call>call:{name}" + "{" + inside + "}<tool_call|>"


def format_response(name: str, response: Any) -> str:
    """A tool's answer, without the token that opens it."""
    if isinstance(response, dict):
        inside = ",".join(f"{key}:{format_argument(value, False)}" for key, value in by_key(response))
    else:
        inside = "value:" + format_argument(response, False)
    return f"response:{name}" + "{" + inside + "}" + RESPONSE_END


def content_text(content: Any) -> str:
    """A message's content, with a placeholder for each picture."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content.strip()
    return "".join(part["text"].strip() if part["type"] == "text" else IMAGE for part in content)


def system_turn(messages: list[Message], tools: list[Tool] | None) -> tuple[str, list[Message]]:
    """The system turn, if there is one, and the messages behind it."""
    has_system = bool(messages) and messages[0]["role"] in ("system", "developer")
    if not has_system and not tools:
        return "", messages
    text = "<|turn>system\n"
    if has_system:
        text += content_text(messages[0]["content"])
        messages = messages[1:]
    for tool in tools or []:
        text += "<|tool>" + format_declaration(tool) + "<tool|>"
    return text + TURN_END + "\n", messages


def worth_of(message: Message) -> int:
    """How much a message's tokens count: those of the model once, or as often as the message says. What is worth more is short and decides."""
    return message.get("worth", 1) if message["role"] == "assistant" else 0


def call_segments(message: Message, answers: list[Message]) -> list[Segment]:
    """The calls of a message and the answers that followed. The model ends its calls with the token that opens an answer."""
    calls = message.get("tool_calls") or []
    if not calls:
        return []
    text = "".join(format_call(call["function"]["name"], call["function"].get("arguments") or {}) for call in calls)
    segments = [Segment(text + RESPONSE_BEGIN, worth_of(message))]
    names = {call.get("id"): call["function"]["name"] for call in calls}
    for number, answer in enumerate(answers):
        name = names.get(answer.get("tool_call_id"), answer.get("name") or "unknown")
        opening = RESPONSE_BEGIN if number > 0 else ""
        segments.append(Segment(opening + format_response(name, answer.get("content")), 0))
    return segments


def render(messages: list[Message], tools: list[Tool] | None = None, generation_prompt: bool = False) -> list[Segment]:
    """The conversation's pieces; only what the model itself says is to be learnt."""
    head, messages = system_turn(messages, tools)
    segments = [Segment(BOS + head, 0)]
    previous_role = None
    ends_in_tools = False
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            continue
        is_model = message["role"] == "assistant"
        role = "model" if is_model else message["role"]
        if not (is_model and previous_role == "assistant"):
            segments.append(Segment(f"<|turn>{role}\n", 0))
        answers = []
        rest = index + 1
        while rest < len(messages) and messages[rest]["role"] == "tool":
            answers.append(messages[rest])
            rest += 1
        next_role = messages[rest]["role"] if rest < len(messages) else None
        calls = call_segments(message, answers)
        segments += calls
        text = content_text(message.get("content"))
        if text:
            segments.append(Segment(text, worth_of(message)))
        ends_in_tools = bool(calls)
        goes_on = is_model and next_role == "assistant" and (not calls or bool(answers))
        if not (calls and not answers) and not goes_on and not (calls and not text and next_role is None):
            segments.append(Segment(TURN_END, worth_of(message)))
            segments.append(Segment("\n", 0))
        previous_role = message["role"]
    if generation_prompt and not ends_in_tools:
        segments.append(Segment("<|turn>model\n", 0))
    return joined(segments)


def joined(segments: list[Segment]) -> list[Segment]:
    """Neighbours that agree about learning become one."""
    result: list[Segment] = []
    for segment in segments:
        if result and result[-1].learn == segment.learn:
            result[-1] = Segment(result[-1].text + segment.text, segment.learn)
        elif segment.text:
            result.append(segment)
    return result


def render_document(messages: list[Message], tools: list[Tool] | None = None) -> list[Segment]:
    """A document to train on: it ends with the last thing the model says."""
    segments = render(messages, tools)
    while segments and not segments[-1].learn:
        segments.pop()
    return segments


def render_prompt(messages: list[Message], tools: list[Tool] | None = None) -> str:
    """What the model is given to answer."""
    return "".join(segment.text for segment in render(messages, tools, generation_prompt=True))


def expand_images(text: str, soft_tokens: int) -> str:
    """Each picture's placeholder becomes its delimiters with as many placeholders as it has soft tokens."""
    return text.replace(IMAGE, IMAGE_BEGIN + IMAGE * soft_tokens + IMAGE_END)


def conversation(question: str, answer: str) -> list[Message]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
