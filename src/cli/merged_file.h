// A file of settings with what we want in it: everything else in it stays.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace paceline {

// JSON, also with comments: objects are joined, other values are ours, and the text of what is not ours stays as it is.
// What is called `ours` is replaced whole. Here and below an error says in which line the old text is broken.
Result<std::string> merged_json(std::string_view old, std::string_view ours_text, std::string_view ours = "paceline");

// TOML: what `ours_text` sets is taken out and set anew, keys before the first table at the top and tables at the end.
// `dropped` are keys, with dots, that go with all that is below them, whether or not they are set anew.
Result<std::string> merged_toml(std::string_view old, std::string_view ours_text,
                                const std::vector<std::string>& dropped);

// The way back, for a text that others have edited since ours was merged into it: what ours had set is as it was
// `before`, or goes where it was not there; all else stays.
Result<std::string> unmerged_json(std::string_view now, std::string_view before, std::string_view ours_text,
                                  std::string_view ours = "paceline");
Result<std::string> unmerged_toml(std::string_view now, std::string_view before,
                                  const std::vector<std::string>& dropped);

// Whether something is in a text that ours set and that was not there before. What cannot be read holds nothing.
bool holds_json(std::string_view now, std::string_view before, std::string_view ours_text,
                std::string_view ours = "paceline");
bool holds_toml(std::string_view now, std::string_view before, const std::vector<std::string>& dropped);

}  // namespace paceline
