"""Stories asked for in chat: told on a subject, or continued from their beginning."""

from __future__ import annotations

import random
import re

NAMED = re.compile(r"\b(girl|boy|cat|dog|bird|bunny|bear|fish|mouse|man|woman|frog|car|duck|rabbit|puppy|kitten|child|squirrel|lion|fox|pig|cow|horse|turtle|monkey) (?:named|called) ([A-Z][a-z]+)")
SENTENCE_END = re.compile(r"(?<=[.!?]) +|\n")
COMMON = set("""once upon time there named called little very would could with they were that this have then than them what when said went like liked their
from into about after again because before every other over some still thing things through under until wanted which while your always another around away""".split())


def request(story: str, rng: random.Random) -> tuple[str, str]:
    """A user's request and the story, or the part of it, that answers."""
    kind = rng.random()
    named = NAMED.search(story[:300])
    if kind < 0.35:
        ends = [found.end() for found in SENTENCE_END.finditer(story)]
        if len(ends) > 4:
            cut = ends[rng.randint(0, min(4, len(ends) - 3))]
            ask = rng.choice(["Continue this story: {}", "Continue the story.\n\n{}", "How does this story go on? {}", "Finish this story: {}", "Here is the beginning of a story. Continue it.\n\n{}"])
            return ask.format(story[:cut].strip()), story[cut:].strip()
    if named and kind < 0.7:
        creature, name = named.groups()
        ask = rng.choice(["Tell me a story about a {c} named {n}.", "Write a short story about a {c} called {n}.", "Tell me a story about {n} the {c}.", "Write a story about a {c}.",
                          "I want to hear a story about {n}.", "Please tell me a story about a {c}.", "Can you tell me a story about a {c} named {n}?"])
        return ask.format(c=creature, n=name), story
    if kind < 0.85:
        long = [word for word in set(re.findall(r"\b[a-z]{4,9}\b", story)) if word not in COMMON]
        if len(long) >= 3:
            chosen = rng.sample(sorted(long), 3)
            return rng.choice(["Write a short story with the words {}, {} and {}.", "Tell me a story that uses the words {}, {} and {}."]).format(*chosen), story
    return rng.choice(["Tell me a story.", "Write a short story.", "Tell me a short story, please.", "Can you tell me a story?", "I want to hear a story.", "Tell a story for children.", "Make up a story."]), story
