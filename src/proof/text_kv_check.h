// What a model's formats of keys and values cost on a file's text: read, checked, and told as a table for people and as
// JSON for programs.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "proof/kv_check.h"
#include "session/opened_model.h"

namespace paceline {

struct TextKvCheck {
  std::string kv;  // the formats that were asked for
  KvCheck check;
  std::vector<std::string> ways;  // bf16 first
};

Result<TextKvCheck> check_text_kv(const RunOptions& run, const std::string& text_file);

std::string text_kv_table(const TextKvCheck& checked);
boost::json::object text_kv_json(const TextKvCheck& checked);

}  // namespace paceline
