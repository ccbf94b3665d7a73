// Any bytes as a schema and as choices among what its masks allow: the masks are what trying every token by itself
// gives, by a matcher that remembers and merges nothing; what comes out is a document of the schema; and no mask takes
// more than it may.
#include <boost/json/parse.hpp>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "grammar/constraint.h"
#include "grammar/documents.h"
#include "grammar/json_calls.h"
#include "grammar/tagged_calls.h"
#include "grammar/token_walk.h"
#include "grammar/validator_for_tests.h"
#include "session/token_vocabulary.h"

namespace {

using namespace paceline;
using namespace paceline::grammar;
namespace json = boost::json;

// ---- bytes to schemas

class Choices {
 public:
  Choices(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}
  [[nodiscard]] bool empty() const { return at_ >= size_; }
  // 0 once there are no more: whatever is chosen by these ends.
  uint8_t next() { return at_ < size_ ? bytes_[at_++] : 0; }
  std::string_view rest() const { return {reinterpret_cast<const char*>(bytes_) + at_, size_ - at_}; }
  void skip(size_t count) { at_ += std::min(count, size_ - at_); }

 private:
  const uint8_t* bytes_;
  size_t size_, at_ = 0;
};

constexpr std::string_view kWords[] = {"a", "ab", "abc", "b", "\"", "\\", "é", "", "true", "x y", "<", "|", "0"};

json::value constant_of(Choices& choices) {
  const uint8_t choice = choices.next();
  switch (choice % 8) {
    case 0: return nullptr;
    case 1: return true;
    case 2: return static_cast<int64_t>(choices.next()) - 128;
    case 3: return (choices.next() - 128) / 8.0;
    case 4: return json::array{1, "a"};
    case 5: return json::object{{"a", nullptr}};
    default: return json::value(kWords[choice / 8 % std::size(kWords)]);
  }
}

json::value schema_of(Choices& choices, int depth);

json::object bounded(json::object schema, Choices& choices, std::string_view low, std::string_view high) {
  const uint8_t which = choices.next();
  const int64_t least = which / 4 % 8;
  if (which % 2 == 1) schema[low] = least;
  if (which % 4 >= 2) schema[high] = least + choices.next() % (which >= 224 ? 70 : 6);
  return schema;
}

json::object object_schema(Choices& choices, int depth) {
  json::object schema{{"type", "object"}};
  const uint8_t shape = choices.next();
  json::object properties;
  json::array required;
  for (int i = 0; i < shape % 4; ++i) {
    const std::string_view name = kWords[choices.next() % 4];
    properties[name] = schema_of(choices, depth + 1);
    if (choices.next() % 2 == 0) required.emplace_back(name);
  }
  schema["properties"] = std::move(properties);
  if (shape & 4) schema["required"] = std::move(required);
  if (shape & 8) schema["additionalProperties"] = shape & 16 ? json::value(false) : schema_of(choices, depth + 1);
  return schema;
}

json::object number_schema(Choices& choices) {
  json::object schema{{"type", choices.next() % 2 == 0 ? "integer" : "number"}};
  for (const char* name : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}) {
    const uint8_t choice = choices.next();
    if (choice % 4 == 1) schema[name] = static_cast<int64_t>(choices.next()) * (choice - 128);
    if (choice % 4 == 2) schema[name] = (choices.next() - 128) / 16.0;
  }
  return schema;
}

json::value schema_of(Choices& choices, int depth) {
  const uint8_t choice = depth > 3 ? 0 : choices.next();
  switch (choice % 12) {
    case 0: return json::object{{"type", "boolean"}};
    case 1: return json::object{};
    case 2:
    case 3: return bounded({{"type", "string"}}, choices, "minLength", "maxLength");
    case 4: return number_schema(choices);
    case 5: {
      json::object schema{{"type", "array"}};
      if (choices.next() % 4 > 0) schema["items"] = schema_of(choices, depth + 1);
      return bounded(std::move(schema), choices, "minItems", "maxItems");
    }
    case 6:
    case 7: return object_schema(choices, depth);
    case 8:
    case 9: {
      json::array list;
      for (int i = 0; i <= choices.next() % 5; ++i) list.push_back(schema_of(choices, depth + 1));
      return json::object{{choice % 2 == 0 ? "anyOf" : "oneOf", std::move(list)}};
    }
    case 10: {
      json::array list;
      for (int i = 0; i <= choices.next() % 6; ++i) list.push_back(constant_of(choices));
      return json::object{{"enum", std::move(list)}};
    }
    default: return json::object{{"$ref", choice < 128 ? "#" : "#/properties/a"}};
  }
}

// ---- a vocabulary of some eighty tokens, with single bytes among them

struct FuzzedVocabulary {
  FuzzedVocabulary() {
    std::vector<std::string> pieces{"<eos>",      "<|\"|>",     "<|tool_call>", "<tool_call|>",
                                    "<|channel>", "<channel|>", "<unk>"};
    const size_t special = pieces.size();
    for (const int byte : {0x0A, 0x22, 0x5C, 0xC3, 0xA9, 0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0x98, 0x80, 0xFF}) {
      char text[8];
      std::snprintf(text, sizeof(text), "<0x%02X>", byte);
      pieces.emplace_back(text);
    }
    for (const char* text :
         {"\"",  "{",  "}",    "[",    "]",   ":",   ",",   " ",      "\n",  "-",        ".",       "0",
          "1",   "2",  "9",    "12",   "e",   "E",   "+",   "\\",     "a",   "ab",       "abc",     "b",
          "u",   "t",  "true", "fa",   "lse", "nu",  "ll",  "null",   "\":", "\": ",     "\",\"",   "{\"",
          "\"}", "[]", "{}",   "}]",   "], ", "\"a", "a\"", "\"a\":", "éé",  "é",        "€",       "x y",
          "<",   "|",  "<|",   "\n  ", "  ",  "\\n", "\\u", "00",     "d8",  "aaaaaaaa", "call:f{", "thought\n"}) {
      pieces.emplace_back(text);
    }
    json::object vocab;
    json::array added;
    for (size_t id = 0; id < pieces.size(); ++id) {
      vocab[pieces[id]] = id;
      if (id < special) {
        added.push_back({{"id", id},
                         {"content", pieces[id]},
                         {"single_word", false},
                         {"lstrip", false},
                         {"rstrip", false},
                         {"normalized", false},
                         {"special", true}});
      }
    }
    const json::object file{
        {"version", "1.0"},
        {"truncation", nullptr},
        {"padding", nullptr},
        {"added_tokens", added},
        {"normalizer", nullptr},
        {"pre_tokenizer", nullptr},
        {"post_processor", nullptr},
        {"decoder", {{"type", "Sequence"}, {"decoders", {{{"type", "ByteFallback"}}, {{"type", "Fuse"}}}}}},
        {"model",
         {{"type", "BPE"},
          {"dropout", nullptr},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"unk_token", "<unk>"},
          {"fuse_unk", true},
          {"byte_fallback", true},
          {"ignore_merges", false},
          {"vocab", vocab},
          {"merges", json::array()}}}};
    auto loaded = Tokenizer::load(json::serialize(file));
    CHECK(loaded.ok());
    tokenizer.emplace(std::move(*loaded));
    index = make_token_index(*tokenizer).value();
    count = static_cast<TokenId>(pieces.size());
  }
  std::optional<Tokenizer> tokenizer;
  std::shared_ptr<const TokenIndex> index;
  TokenId end = 0, count = 0;
};

// ---- the slow matcher

class SlowMatcher {
 public:
  struct Frame {
    StateId back;
    bool nests;
    auto operator<=>(const Frame&) const = default;
  };
  using Way = std::pair<StateId, std::vector<Frame>>;
  using Ways = std::set<Way>;
  static constexpr size_t kMost = 300;

  explicit SlowMatcher(const Automaton& automaton) : automaton_(automaton) { reach({automaton.start, {}}, ways_); }

  [[nodiscard]] bool gave_up() const { return gave_up_; }
  [[nodiscard]] bool is_complete() const { return ways_.contains({kAccept, {}}); }
  Ways behind(const Ways& ways, EdgeKind kind, int symbol) {
    Ways found;
    for (const auto& [state, stack] : ways) {
      for (const Edge& edge : automaton_.edges_of(state)) {
        const bool eats = kind == EdgeKind::token ? edge.token == symbol : edge.low <= symbol && symbol <= edge.high;
        if (edge.kind == kind && eats) follow({state, stack}, edge, found);
      }
    }
    return found;
  }
  Ways behind(const TokenIndex& index, TokenId token) {
    const std::string_view bytes = index.bytes_of(token);
    if (bytes.empty()) return behind(ways_, EdgeKind::token, token);
    Ways at = ways_;
    for (const char byte : bytes) at = behind(at, EdgeKind::bytes, static_cast<uint8_t>(byte));
    return at;
  }
  void take(const TokenIndex& index, TokenId token) { ways_ = behind(index, token); }

 private:
  void follow(Way way, const Edge& edge, Ways& found) {
    const StateId from = way.first;
    if (edge.push != kNoState) way.second.push_back({automaton_.target(from, edge.push), edge.nests});
    way.first = automaton_.target(from, edge.to);
    if (edge.push != kNoState && !fits({way.second.back().back, {way.second.begin(), way.second.end() - 1}})) return;
    reach(std::move(way), found);
  }
  [[nodiscard]] bool fits(const Way& way) const {
    int32_t nesting = 0;
    for (const Frame& frame : way.second) nesting += frame.nests ? 1 : 0;
    return nesting + automaton_.heights[way.first] <= automaton_.max_nesting;
  }
  // All that is passed, with what it leads to.
  void reach(Way way, Ways& found) {
    std::vector<Way> waiting{std::move(way)};
    while (!waiting.empty()) {
      Way now = std::move(waiting.back());
      waiting.pop_back();
      if (!fits(now) || !found.insert(now).second) continue;
      if (found.size() > kMost) {
        gave_up_ = true;
        return;
      }
      if (now.first == kAccept) {
        if (now.second.empty()) continue;
        const StateId back = now.second.back().back;
        now.second.pop_back();
        waiting.emplace_back(back, std::move(now.second));
        continue;
      }
      for (const Edge& edge : automaton_.edges_of(now.first)) {
        if (edge.kind != EdgeKind::nothing) continue;
        Way next{automaton_.target(now.first, edge.to), now.second};
        if (edge.push != kNoState) {
          const StateId back = automaton_.target(now.first, edge.push);
          if (!fits({back, now.second})) continue;
          next.second.push_back({back, edge.nests});
        }
        waiting.push_back(std::move(next));
      }
    }
  }

  const Automaton& automaton_;
  Ways ways_;
  bool gave_up_ = false;
};

bool is_set(std::span<const uint64_t> mask, TokenId id) {
  return static_cast<size_t>(id) / 64 < mask.size() && (mask[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0;
}

// Some tokens, and whether the text may end.
void check_mask(const FuzzedVocabulary& vocabulary, SlowMatcher& slow, std::span<const uint64_t> mask,
                Choices& choices) {
  const int tried = choices.next() % 8;
  for (int i = 0; i < tried; ++i) {
    const auto id = static_cast<TokenId>(1 + choices.next() % (vocabulary.count - 1));
    const bool follows = !slow.behind(*vocabulary.index, id).empty();
    if (slow.gave_up()) return;
    CHECK(follows == is_set(mask, id));
    if (follows) CHECK(slow.is_complete() == is_set(mask, vocabulary.end));
  }
  if (slow.is_complete()) CHECK(is_set(mask, vocabulary.end));
}

void check_document(const FuzzedVocabulary& vocabulary, const std::vector<TokenId>& tokens, const json::value& schema) {
  json::error_code failed;
  json::parse_options options;
  options.max_depth = 512;
  const json::value document = json::parse(vocabulary.tokenizer->decode(tokens, false), failed, {}, options);
  CHECK(!failed);
  int steps = 20'000;
  CHECK(satisfies(document, schema, schema, 0, &steps));
}

void write(const FuzzedVocabulary& vocabulary, const Automaton& automaton, const json::value& schema,
           Choices& choices) {
  constexpr size_t kMostTokens = 12;
  auto made = GrammarConstraint::make(automaton, vocabulary.index, {vocabulary.end});
  CHECK(made.ok());
  const auto constraint = std::static_pointer_cast<const GrammarConstraint>(*made);
  const auto cursor = constraint->start();
  SlowMatcher slow(automaton);
  // One position of a text is compared with the slow matcher.
  const size_t checked = choices.next() % 6;
  std::vector<TokenId> tokens;
  while (tokens.size() < kMostTokens) {
    const auto mask = cursor->allowed(tokens);
    if (tokens.size() == checked && !slow.gave_up()) check_mask(vocabulary, slow, mask, choices);
    std::vector<TokenId> allowed;
    for (TokenId id = 0; id < vocabulary.count; ++id) {
      if (is_set(mask, id)) allowed.push_back(id);
    }
    CHECK(!allowed.empty());
    if (choices.empty() && is_set(mask, vocabulary.end)) break;
    const TokenId id = allowed[choices.next() % allowed.size()];
    if (id == vocabulary.end) break;
    tokens.push_back(id);
    if (tokens.size() <= checked && !slow.gave_up()) slow.take(*vocabulary.index, id);
  }
  // Where the vocabulary has no way on, the text ends without being whole.
  Matcher matcher(automaton);
  SetId position = matcher.start();
  for (const TokenId id : tokens) position = position_behind(*vocabulary.index, matcher, position, id);
  CHECK(position != kDead);
  if (matcher.complete(position)) check_document(vocabulary, tokens, schema);
  const MaskStats stats = constraint->stats();
  CHECK(stats.most_work <= kMaxMaskWork + 256 * int64_t{kMaxSetEdges});
  CHECK(stats.made <= stats.asked);
}

// As a tool's parameters, in each of the ways that calls are written.
void compile_calls(const json::value& schema) {
  const std::vector<ToolSchema> tools{{"f", schema}};
  for (const auto& made : {json_call_grammar({2, 3}, tools), tagged_call_grammar({2, 3}, tools)}) {
    CHECK(made.ok() || !made.error().message.empty());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const FuzzedVocabulary kVocabulary;
  Choices choices(bytes, size);
  json::value schema;
  // Text that begins as JSON does is read as it stands, up to a byte of 0.
  if (size > 0 && bytes[0] == '{') {
    const std::string_view text = choices.rest().substr(0, choices.rest().find('\0'));
    choices.skip(text.size() + 1);
    json::error_code failed;
    schema = json::parse(text, failed);
    if (failed) return 0;
  } else {
    schema = schema_of(choices, 0);
  }
  compile_calls(schema);
  const auto automaton = json_schema_grammar(schema);
  if (!automaton.ok()) {
    CHECK(!automaton.error().message.empty());
    return 0;
  }
  write(kVocabulary, *automaton, schema, choices);
  return 0;
}
