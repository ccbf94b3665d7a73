#include "bench/texts.h"

#include "base/philox.h"
#include "session/generate.h"

namespace paceline {
namespace {

constexpr int kPromptsPerKind = 3;

struct Kind {
  const char* name;
  const char* chat[kPromptsPerKind];  // asked for
  const char* raw[kPromptsPerKind];   // begun, for models that only go on
};

constexpr Kind kKinds[] = {
    {"prose",
     {"Tell a short story about a small boat that wanted to see the sea.", "Write a story about a girl and her dog.",
      "Tell me about a bird that lost its song."},
     {"Once upon a time there was a small boat that wanted to see the sea. Every morning",
      "Lily had a brown dog. One day they went to the park and",
      "There was a little bird that could not sing any more. It flew to the old tree and"}},
    {"code",
     {"Write a Python function that returns the sum of the even numbers in a list.",
      "Write a Python function that counts the vowels in a string.",
      "Write a Python function that returns the largest of three numbers."},
     {"def sum_of_even(numbers):\n    total = 0\n    for number in numbers:\n",
      "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n",
      "def largest(a, b, c):\n    if a >= b and a >= c:\n        return a\n"}},
    {"arithmetic",
     {"What is 47 + 38? Work it out step by step.", "What is 82 - 45? Work it out step by step.",
      "What is 7 * 12? Work it out step by step."},
     {"Add step by step.\n23 + 45: 3 + 5 = 8, 20 + 40 = 60, 60 + 8 = 68\n47 + 38:", "1 + 1 = 2\n2 + 2 = 4\n3 + 3 = 6\n",
      "x = 7 * 12\ny = 8 * 12\nz = 9 * 12\n"}},
    {"json",
     {"Return JSON with the fields name, age and city: Anna is 31 years old and lives in Oslo.",
      "Return JSON with the fields title, author and year: \"The Long Road\" was written by Ben Hill in 1984.",
      "Return JSON with the fields item, price and count: We bought 4 lamps at 25 each."},
     {"[\n  {\"name\": \"Anna\", \"age\": 31, \"city\": \"Oslo\"},\n  {\"name\": \"Ben\", \"age\": 27, \"city\":",
      "{\"title\": \"The Long Road\", \"author\": \"Ben Hill\", \"year\": 1984}\n{\"title\":",
      "{\"item\": \"lamp\", \"price\": 25, \"count\": 4}\n{\"item\":"}},
    {"copying",
     {"Repeat this text: The old clock on the wall struck nine, and the cat got up and walked slowly to the door.",
      "Repeat this text: My brother has a red car, two bicycles and a very small boat.",
      "Write this in capital letters: the train leaves at noon from the second platform."},
     {"The old clock on the wall struck nine, and the cat got up and walked slowly to the door.\nThe old clock on the "
      "wall",
      "My brother has a red car, two bicycles and a very small boat.\nMy brother has a red",
      "the train leaves at noon from the second platform\nthe train leaves at noon from the second platform\nthe"}},
};

Result<BenchText> text_of(const Kind& kind, const TextModel& model, const SampleSettings& sampling,
                          int32_t max_tokens) {
  BenchText text{kind.name, {}};
  for (const char* prompt : model.has_chat() ? kind.chat : kind.raw) {
    GenerateRequest request;
    request.raw = !model.has_chat();
    request.prompt = prompt;
    request.sampling = sampling;
    request.max_tokens = max_tokens;
    TRY_ASSIGN(PreparedRequest prepared, prepare(model, request));
    text.requests.push_back(std::move(prepared.request));
  }
  return text;
}

BenchText random_text(const ModelConfig& config, const SampleSettings& sampling, int32_t max_tokens) {
  constexpr uint64_t kSeed = 17;
  constexpr int32_t kPromptTokens = 32;
  Request request;
  for (int32_t i = 0; i < kPromptTokens; ++i) {
    const uint32_t word = random_block(kSeed, static_cast<uint64_t>(i), 0, 0)[0];
    request.prompt.push_back(static_cast<TokenId>(word % static_cast<uint32_t>(config.vocab)));
  }
  request.sampling = sampling;
  request.max_tokens = max_tokens;
  request.context = config.context;
  return {"random", {request}};
}

}  // namespace

std::vector<std::string> bench_kinds() {
  std::vector<std::string> names;
  for (const Kind& kind : kKinds) names.emplace_back(kind.name);
  return names;
}

std::vector<std::string> bench_prompts(std::string_view kind) {
  std::vector<std::string> all;
  for (const Kind& one : kKinds)
    if (kind.empty() || kind == one.name) all.insert(all.end(), std::begin(one.chat), std::end(one.chat));
  return all;
}

Result<std::vector<BenchText>> bench_texts(const BenchTarget& target, const SampleSettings& sampling,
                                           int32_t max_tokens) {
  if (!target.text) return std::vector{random_text(target.weights->facts(), sampling, max_tokens)};
  std::vector<BenchText> texts;
  for (const Kind& kind : kKinds) {
    TRY_ASSIGN(BenchText text, text_of(kind, *target.text, sampling, max_tokens));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace paceline
