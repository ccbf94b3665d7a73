"""What the clients ask: long and short, beginnings that several share, several choices, pictures, long answers."""

import honest


def completion(prompt, which, **more):
    return "/v1/completions", {"prompt": prompt, "seed": which, "temperature": 1, "ignore_eos": True, **more}


def some_ids(which, count):
    return honest.ids(which, count)[1]["prompt"]


def mixture():
    asked = honest.requests()
    beginning = some_ids("beginning", 1500)
    for i in range(6):
        asked.append(completion(some_ids(f"long {i}", 1200 + 450 * i), i, max_tokens=40 + 20 * i))
    for i in range(8):
        # Some go apart within a page, some far behind it.
        asked.append(completion(beginning[:1500 - 70 * (i % 3)] + some_ids(f"own {i}", 40 + 90 * i), i, max_tokens=80))
    for i in range(4):
        asked.append(completion(some_ids(f"choices {i}", 50 + 350 * i), i, n=2 + i % 2, max_tokens=120))
    for i in range(3):
        asked.append(completion(some_ids(f"answer {i}", 30), i, max_tokens=900))
    for i in range(1, 6):
        asked.append(honest.picture(f"picture{i}.png", "What is in the picture?"))
    return asked
