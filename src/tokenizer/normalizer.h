// What happens to text before its pieces are looked for: replacements, and cuts that no piece may cross.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace paceline {

struct NormalizerStep {
  enum class Kind { replace, prepend };
  Kind kind;
  std::string pattern;  // replace only; not empty
  std::string content;
};

// The steps in order. An empty text stays empty.
std::string normalize(const std::vector<NormalizerStep>& steps, std::string_view text);

// Cuts at each occurrence of a string; what becomes of the occurrence is the behaviour.
struct SplitStep {
  enum class Behavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };
  std::string pattern;  // not empty
  Behavior behavior;
};

// The parts of `text`, in order, none of them empty; views into it.
std::vector<std::string_view> split_words(const std::vector<SplitStep>& steps, std::string_view text);

}  // namespace paceline
