"""The chat template and the renderer in Python give the same text, and Gemma's renderings where those are at hand."""

from __future__ import annotations

import json
import os
import pathlib
import unittest

from train import chat

HERE = pathlib.Path(__file__).resolve().parent
TEMPLATE = HERE.parent / "chat_template.jinja"
SHARED = pathlib.Path(os.environ.get("PACELINE_SHARED", HERE.parents[2] / "shared"))
RENDERINGS = SHARED / "templates" / "renderings.json"

WEATHER = {"type": "function", "function": {"name": "get_weather", "description": "Weather of a city", "parameters": {
    "type": "object", "properties": {
        "city": {"type": "string", "description": "Name"}, "unit": {"type": "string", "enum": ["C", "F"]},
        "days": {"type": "array", "items": {"type": "integer"}},
        "place": {"type": "object", "properties": {"Zip": {"type": "string"}, "lane": {"type": "string"}}, "required": ["Zip"]}},
    "required": ["city"]}}}
CALL = {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": {
    "name": "get_weather", "arguments": {"city": "Oslo", "days": [1, 2], "place": {"Zip": "1"}, "hot": True, "f": 1.5, "n": None}}}]}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "{\"temp\": 7}"}
CONVERSATIONS = {
    "plain": ([{"role": "user", "content": " Hi "}, {"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Bye"}], None),
    "system": ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}], None),
    "call": ([{"role": "user", "content": "Weather?"}, CALL], [WEATHER]),
    "answered": ([{"role": "user", "content": "Weather?"}, CALL, ANSWER], [WEATHER, WEATHER]),
    "finished": ([{"role": "user", "content": "Weather?"}, CALL, ANSWER, {"role": "assistant", "content": "Cool."}], [WEATHER]),
    "two calls": ([{"role": "user", "content": "Weather?"}, CALL, ANSWER, CALL, ANSWER, {"role": "assistant", "content": "Cool."},
                   {"role": "user", "content": "Thanks"}], [WEATHER]),
    "picture": ([{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]}], None),
}


def has_picture_behind_text(messages) -> bool:
    parts = [[part["type"] for part in m["content"]] for m in messages if isinstance(m.get("content"), list)]
    return any("image" in kinds and "text" in kinds[: kinds.index("image")] for kinds in parts)


def template_environment():
    try:
        import jinja2.ext
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise unittest.SkipTest("jinja2 is not installed")
    return ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])


class ChatTest(unittest.TestCase):
    def test_template_and_renderer_agree(self) -> None:
        template = template_environment().from_string(TEMPLATE.read_text())
        for name, (messages, tools) in CONVERSATIONS.items():
            with self.subTest(name):
                for prompt in (True, False):
                    expected = template.render(messages=messages, tools=tools, bos_token="<bos>", add_generation_prompt=prompt)
                    found = "".join(segment.text for segment in chat.render(messages, tools, prompt))
                    self.assertEqual(expected, found)

    def test_template_gives_gemmas_renderings(self) -> None:
        if not RENDERINGS.exists():
            raise unittest.SkipTest("no renderings here")
        template = template_environment().from_string(TEMPLATE.read_text())
        table = json.loads(RENDERINGS.read_text())
        for name, row in table["conversations"].items():
            options = dict(row["options"])
            # This template puts pictures first.
            if options.pop("continue_final_message", False) or has_picture_behind_text(row["messages"]):
                continue
            options.setdefault("add_generation_prompt", True)
            found = template.render(messages=row["messages"], **table["variables"], **options)
            self.assertEqual(table["renderings"]["gemma-4-small-it.jinja"][name]["text"], found, name)

    def test_the_program_recognises_the_template(self) -> None:
        text = TEMPLATE.read_text()
        for part in ("{{- '<|turn>' + role + '\\n' }}", "{%- set continues_into_next = (", "loop.index0 > ns_turn.last_user_idx",
                     "captured_content | trim | length > 0"):
            self.assertIn(part, text)

    def test_a_document_ends_with_what_the_model_says(self) -> None:
        segments = chat.render_document(chat.conversation("Hi", "Hello"))
        self.assertEqual([("<bos><|turn>user\nHi<turn|>\n<|turn>model\n", False), ("Hello<turn|>", True)], [tuple(s) for s in segments])
        messages, tools = CONVERSATIONS["call"]
        segments = chat.render_document(messages, tools)
        self.assertTrue(segments[-1].text.endswith("<tool_call|><|tool_response>"))
        messages, tools = CONVERSATIONS["finished"]
        self.assertEqual("Cool.<turn|>", chat.render_document(messages, tools)[-1].text)

    def test_a_prompt_continues_into_its_document(self) -> None:
        messages = chat.conversation("Hi", "Hello")
        document = "".join(segment.text for segment in chat.render_document(messages))
        self.assertTrue(document.startswith(chat.render_prompt(messages[:1])))


if __name__ == "__main__":
    unittest.main()
