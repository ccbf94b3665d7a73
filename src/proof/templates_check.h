// Does our interpreter render as Hugging Face's environment does? For `paceline check --templates`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"

namespace paceline {

struct TemplateReport {
  std::string name;
  size_t conversations = 0, equal = 0;
  size_t refused = 0;            // of those equal: where both refuse the conversation
  std::string first_difference;  // empty: none
};

struct TemplatesReport {
  std::vector<TemplateReport> templates;
  std::string day;  // what strftime_now said, as 2026-11-15; empty: no template asked

  [[nodiscard]] size_t conversations() const;
  [[nodiscard]] size_t equal() const;
  [[nodiscard]] bool all_equal() const { return conversations() == equal(); }
};

// `folder` has templates, and renderings.json: {"variables": {...}, "conversations": {name: {"messages", "options"}},
// "renderings": {file: {conversation: {"text"} or {"error"}}}}.
Result<TemplatesReport> check_templates(const std::string& folder);

}  // namespace paceline
