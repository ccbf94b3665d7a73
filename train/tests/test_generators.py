"""What the generators make is right: calls, copies, stories, and the same for the same seed. Sums, records and code have tests of their own."""

from __future__ import annotations

import random
import re
import unittest

from train import arithmetic, chat, code_writing, copying, explanations, facts, json_extraction, languages, memory, shared_data, story_plots, story_requests, tool_calls, tool_results, unknown
from train.composed_tools import is_alike
from train.held import Answer

STORY = """Once upon a time there was a little girl named Lily. She had a red ball. What a fine thing it was! One day she lost it in the park. Tom found it under a big tree. "Is this yours?" asked Tom. Lily was very happy. They played."""


class GeneratorsTest(unittest.TestCase):
    def test_calls_are_declared_and_can_be_read_back(self) -> None:
        rng = random.Random(3)
        for _ in range(2000):
            messages, tools, name, arguments = tool_calls.call_exercise(rng)
            declared = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
            self.assertEqual(len(declared), len(tools))
            self.assertIn(name, declared)
            self.assertLessEqual(set(declared[name]["required"]), set(arguments))
            self.assertLessEqual(set(arguments), set(declared[name]["properties"]))
            self.assertEqual((name, arguments), tool_calls.parse_call(chat.format_call(name, arguments)))
            self.assertNotIn("{", messages[0]["content"])

    def test_broken_calls_are_no_calls(self) -> None:
        for text in ("", "Hello", "<|tool_call>call:f{a:<tool_call|>", '<|tool_call>call:f{a:<|"|>x}<tool_call|>', "<|tool_call>call:f{a:[1<tool_call|>", "<|tool_call>call:f{a:zz}<tool_call|>"):
            self.assertIsNone(tool_calls.parse_call(text), text)

    def test_conversations_with_tools_end_with_the_model(self) -> None:
        rng = random.Random(4)
        for _ in range(1000):
            messages, tools, _ = tool_calls.conversation(rng)
            last = chat.render_document(messages, tools)[-1]
            self.assertTrue(last.learn)
            self.assertTrue(last.text.endswith(("<turn|>", "<|tool_response>")))

    def test_copies_answer_something(self) -> None:
        rng = random.Random(6)
        passages = ["Lily went to the park. She saw a dog. The dog was big.\nLily was happy. They played all day."]
        for _ in range(2000):
            question, answer = copying.exercise(rng, passages)
            self.assertTrue(question.strip() and answer.strip())
        self.assertEqual(("a-b", "c"), ("-".join("ab"), "c"))

    def test_replacing_a_name_leaves_none_of_the_old(self) -> None:
        rng = random.Random(7)
        for _ in range(300):
            question, answer = copying.replace_name(rng, ["Lily went to the park. Tom saw Lily. Lily ran home with Tom."])
            self.assertNotEqual(question, answer)

    def test_facts_are_conversations(self) -> None:
        rng = random.Random(8)
        for _ in range(2000):
            messages = facts.exercise(rng)
            self.assertEqual(["user", "assistant"] * (len(messages) // 2), [message["role"] for message in messages])

    def test_stories_are_told_or_continued_whole(self) -> None:
        rng = random.Random(9)
        for _ in range(200):
            request, answer = story_requests.request(STORY, rng)
            if STORY.endswith(answer):
                if answer != STORY:
                    self.assertIn(STORY[:len(STORY) - len(answer)].strip(), request)
                continue
            # Told whole, with one sentence more behind the first, of things that are asked for.
            first = STORY[:STORY.index(". ") + 1]
            self.assertTrue(answer.startswith(first))
            rest = STORY[len(first):].rstrip()
            self.assertTrue(answer.endswith(rest))
            self.assertLess(len(answer), len(STORY) + 120)
            self.assertTrue(any(word in request for word in re.findall(r"[a-z]{3,}", answer[len(first):-len(rest)])), (request, answer))

    def test_requests_ask_for_what_occurs(self) -> None:
        rng = random.Random(10)
        for _ in range(400):
            story = story_requests.varied(STORY, rng)
            parts = story_requests.chosen(story_requests.parts_of(story), rng)
            self.assertTrue(story_requests.fulfils(Answer(story), parts.needed()), (story, parts))
        needed = story_requests.parts_of(STORY).needed()
        self.assertLessEqual({"girl", "Lily", "Tom", "ball"}, set(needed))
        self.assertNotIn("hat", needed, "it is only part of a word")
        self.assertFalse(story_requests.fulfils(Answer(STORY), ["dragon"]))
        self.assertFalse(story_requests.fulfils(Answer(STORY + " They played."), []))

    def test_plots_fulfil_their_requests(self) -> None:
        for seed in range(150):
            cast, story = story_plots.story(random.Random(seed), story_requests.THINGS, story_requests.PLACES)
            needed = [cast.hero, cast.name, cast.place, cast.helper[1], *(thing.split()[-1] for thing in cast.things)]
            self.assertTrue(story_requests.fulfils(Answer(story), [one for one in needed if one]), (cast, story))
            asked, _ = story_requests.plot_request(random.Random(seed))
            self.assertIn(cast.hero, asked)

    def test_stories_that_are_not_told_well_are_left_out(self) -> None:
        long = STORY + " In the evening they went home, and Lily's mother gave them warm soup and bread. Both of them were happy and slept well that night."
        self.assertTrue(shared_data.is_told_well(long))
        for worse in (long[:-1], long.replace("soup", "soup soup"), long + " They played.", long.replace("warm", "w\u00e4rm"), long.replace("girl", "boy"), long.replace("were happy and slept", "died and slept"), long * 6):
            self.assertFalse(shared_data.is_told_well(worse), worse)

    def test_what_was_told_is_answered(self) -> None:
        for seed in range(600):
            turns, keys, needs = memory.remembered(random.Random(seed))
            held = memory.held_fact(random.Random(seed))
            self.assertEqual(keys[0], held.key)
            self.assertTrue(held.right(Answer(turns[-1][1])), turns)
            self.assertFalse(held.right(Answer("I don't know.")))
            self.assertTrue(any(need.lower() in message["content"].lower() for need in needs for message in held.messages[:-1]), turns)

    def test_other_languages_are_refused_and_english_is_not(self) -> None:
        rng = random.Random(11)
        self.assertGreaterEqual(len(languages.SPOKEN), 25)
        for _ in range(300):
            _, answer, _ = languages.exchange(rng)
            self.assertTrue(languages.held_refusal(rng).right(Answer(answer)))
            self.assertFalse(languages.held_refusal(rng).right(Answer("The capital is Paris.")))

    def test_what_is_unknown_is_said_to_be(self) -> None:
        for seed in range(300):
            _, answer, _ = unknown.exchange(random.Random(seed))
            held = unknown.held_unknown(random.Random(seed))
            self.assertTrue(held.right(Answer(answer)), answer)
            self.assertFalse(held.right(Answer("It is 7 degrees.")))

    def test_results_and_errors_are_told(self) -> None:
        for seed in range(1500):
            rng = random.Random(seed)
            chosen = rng.choice(tool_calls.declared_tools(rng))
            _, arguments, required = tool_calls.request(chosen, rng)
            messages, result = tool_calls.answered(chosen, required, arguments, rng)
            self.assertTrue(result.needs and tool_results.tells(messages[-1]["content"], result), messages)
            self.assertFalse(tool_results.tells("It worked well." if result.is_error else "I am sorry, that failed.", result))

    def test_no_tool_is_declared_for_what_none_can_do(self) -> None:
        rng = random.Random(12)
        for _ in range(500):
            held = tool_calls.held_no_call(rng)
            self.assertTrue(held.right(Answer(tool_calls.NONE_FITS[0])))
            self.assertFalse(held.right(Answer("", [(held.tools[0]["function"]["name"], {})])))

    def test_near_misses_are_no_declared_function(self) -> None:
        rng = random.Random(13)
        found = 0
        for _ in range(2000):
            declared = tool_calls.declared_tools(rng, crowded=True)
            wanted = tool_calls.near_miss(declared, rng)
            if wanted:
                found += 1
                self.assertFalse([one.name for one in declared if one.invented.thing == wanted.thing and is_alike(one.invented.verb, wanted.verb)], wanted)
        self.assertGreater(found, 500)

    def test_what_is_missing_is_asked_for(self) -> None:
        rng = random.Random(14)
        found = [one for one in (tool_calls.lacking(tool_calls.declared_tools(rng), rng) for _ in range(500)) if one]
        self.assertGreater(len(found), 100)
        self.assertFalse([one for one in found if "{" in one.question + one.answer])

    def test_calls_and_refusals_stand_beside_each_other(self) -> None:
        rng = random.Random(15)
        both = called = refused = 0
        for _ in range(2000):
            messages, _, _ = tool_calls.conversation(rng)
            calls, none = any(one.get("tool_calls") for one in messages), any(one["content"] in tool_calls.NONE_FITS for one in messages)
            both, called, refused = both + (calls and none), called + calls, refused + none
        self.assertGreater(both, 150)
        self.assertGreater(called, 1000)
        self.assertGreater(refused, 400)

    def test_woven_things_occur(self) -> None:
        story = STORY.replace("One day", "\nOne day")
        for seed in range(100):
            found = story_requests.woven(story, random.Random(seed))
            if found:
                self.assertTrue(story_requests.fulfils(Answer(found[0]), found[1].needed()), found)
        self.assertIsNotNone(story_requests.woven(story, random.Random(0)) or story_requests.woven(story, random.Random(1)))

    def test_explanations_are_whole(self) -> None:
        for question, answer in [*explanations.THINGS.items(), *((one[0], one[2]) for one in explanations.REASONS)]:
            self.assertTrue(answer.endswith(".") and answer[0].isupper(), question)
        self.assertFalse(set(explanations.THINGS) & {*facts.DEFINITIONS, *unknown.CONCEPTS}, "one question has one answer")

    def test_the_same_seed_gives_the_same(self) -> None:
        for make in (arithmetic.exercise, json_extraction.exercise, tool_calls.conversation, code_writing.exercise, facts.exercise, memory.conversation, languages.exchange, unknown.exchange):
            self.assertEqual(repr([make(random.Random(1)) for _ in range(3)]), repr([make(random.Random(1)) for _ in range(3)]))


if __name__ == "__main__":
    unittest.main()
