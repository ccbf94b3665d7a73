#include "tokenizer/normalizer.h"

#include <algorithm>

#include "base/utf8.h"

namespace paceline {
namespace {

struct Stretch {
  size_t begin, end;
  bool is_match;
};

std::vector<Stretch> find_stretches(std::string_view text, std::string_view pattern) {
  std::vector<Stretch> stretches;
  size_t pos = 0;
  for (size_t found; (found = text.find(pattern, pos)) != std::string_view::npos; pos = found + pattern.size()) {
    if (found > pos) stretches.push_back({pos, found, false});
    stretches.push_back({found, found + pattern.size(), true});
  }
  if (pos < text.size()) stretches.push_back({pos, text.size(), false});
  return stretches;
}

// Joins stretches into words. A match joins its neighbour only where the stretch before it (behind it, for
// merged_with_next) was none itself: of two spaces in a row the second stands alone.
std::vector<Stretch> apply_behavior(std::vector<Stretch> stretches, SplitStep::Behavior behavior) {
  using Behavior = SplitStep::Behavior;
  if (behavior == Behavior::isolated) return stretches;
  const bool backwards = behavior == Behavior::merged_with_next;
  if (backwards) std::reverse(stretches.begin(), stretches.end());
  std::vector<Stretch> words;
  bool after_match = false;
  for (const Stretch& stretch : stretches) {
    bool joins = stretch.is_match && !after_match;
    if (behavior == Behavior::contiguous) joins = stretch.is_match == after_match;
    if (behavior == Behavior::removed) joins = false;
    after_match = stretch.is_match;
    if (behavior == Behavior::removed && stretch.is_match) continue;
    if (joins && !words.empty()) {
      words.back().begin = std::min(words.back().begin, stretch.begin);
      words.back().end = std::max(words.back().end, stretch.end);
    } else {
      words.push_back(stretch);
    }
  }
  if (backwards) std::reverse(words.begin(), words.end());
  return words;
}

}  // namespace

std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text) {
  std::string normal(text);
  for (const NormalizerStep& step : steps) {
    switch (step.kind) {
      case NormalizerStep::Kind::replace: normal = with_replaced(normal, step.pattern, step.content); break;
      case NormalizerStep::Kind::prepend:
        if (!normal.empty()) normal.insert(0, step.content);
        break;
    }
  }
  return normal;
}

std::vector<std::string_view> split_words(const std::vector<SplitStep>& steps, std::string_view text) {
  std::vector<std::string_view> words;
  if (!text.empty()) words.push_back(text);
  for (const SplitStep& step : steps) {
    std::vector<std::string_view> parts;
    for (const std::string_view word : words) {
      for (const Stretch& part : apply_behavior(find_stretches(word, step.pattern), step.behavior)) {
        parts.push_back(word.substr(part.begin, part.end - part.begin));
      }
    }
    words = std::move(parts);
  }
  return words;
}

}  // namespace paceline
