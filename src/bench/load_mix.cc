#include "bench/load_mix.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "bench/texts.h"

namespace paceline {
namespace {

constexpr const char* kWords[] = {"the",  "a",     "small", "red",   "boat",  "went",  "to",     "see",
                                  "sea",  "and",   "old",   "house", "with",  "green", "door",   "where",
                                  "cat",  "dog",   "sat",   "under", "tree",  "while", "birds",  "sang",
                                  "song", "about", "sun",   "rain",  "night", "day",   "friend", "road"};

}  // namespace

LoadMaker::LoadMaker(LoadMix mix) : mix_(std::move(mix)), questions_(bench_prompts(mix_.kind)), random_(mix_.seed) {}

std::string LoadMaker::words(int32_t count) {
  std::string text;
  std::uniform_int_distribution<size_t> pick(0, std::size(kWords) - 1);
  for (int32_t i = 0; i < count; ++i) text += (i > 0 ? " " : "") + std::string(kWords[pick(random_)]);
  return text;
}

std::string LoadMaker::prompt() {
  if (mix_.shared > 0 && shared_beginning_.empty()) shared_beginning_ = words(mix_.shared_words) + ". ";
  std::string text = happens(mix_.shared) ? shared_beginning_ : "";
  if (mix_.prompt_words.empty()) return text + one_of(questions_);
  return text + "Go on with this: " + words(one_of(mix_.prompt_words));
}

std::string LoadMaker::body_of(const std::string& prompt, int32_t max_tokens, uint64_t seed, bool speculates) const {
  boost::json::object body{{"messages", {{{"role", "user"}, {"content", prompt}}}},
                           {"stream", true},
                           {"stream_options", {{"include_usage", true}}},
                           {"max_tokens", max_tokens},
                           {"temperature", mix_.temperature},
                           {"seed", seed},
                           {"speculative", {{"enabled", speculates}}}};
  if (mix_.ignores_eos) body["ignore_eos"] = true;
  if (speculates && mix_.depth) body["speculative"].as_object()["depth"] = *mix_.depth;
  if (!mix_.cache_salt.empty())
    body["cache_salt"] = mix_.shares_nothing ? fmt::format("{} {}", mix_.cache_salt, made_) : mix_.cache_salt;
  if (!mix_.model.empty()) body["model"] = mix_.model;
  return boost::json::serialize(body);
}

MixedRequest LoadMaker::next(bool speculates) {
  MixedRequest request;
  ++made_;
  const std::string text = prompt();
  const int32_t max_tokens = one_of(mix_.output_tokens);
  const uint64_t seed = std::uniform_int_distribution<uint64_t>(0, 1U << 31)(random_);
  if (happens(mix_.cancelled)) request.cancel_after = std::uniform_int_distribution<int64_t>(1, 20)(random_);
  request.body = body_of(text, max_tokens, seed, speculates);
  return request;
}

}  // namespace paceline
