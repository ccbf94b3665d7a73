// The forms that requests demand of their output, as constraints on tokens: compiled once, and kept for the requests
// that ask for the same.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/documents.h"
#include "grammar/token_constraint.h"
#include "grammar/token_index.h"
#include "session/text_model.h"

namespace paceline {

// Whether a thought stands before the output.
enum class Thinking : uint8_t { none, may, begun };

struct OutputForm {
  // Where there are tools, all but the last are what stands in place of calls; text may also stand before them.
  enum class Kind : uint8_t { text, json_object, json_schema, tool_calls };
  Kind kind = Kind::json_object;
  boost::json::value schema = {};               // json_schema
  std::vector<grammar::ToolSchema> tools = {};  // that may be called
  int max_calls = 1;
  Thinking thinking = Thinking::none;
};

// May be used by several threads.
class OutputForms {
 public:
  // The model must outlive it.
  explicit OutputForms(const TextModel& model) : model_(model) {}

  [[nodiscard]] size_t kept_bytes();
  // An error says what the form asks for that is not supported.
  Result<std::shared_ptr<const TokenConstraint>> find(const OutputForm& form);

 private:
  using Constraint = std::shared_ptr<const TokenConstraint>;
  struct Kept {
    std::string key;
    Constraint constraint;
    [[nodiscard]] size_t bytes() const { return key.size() + constraint->bytes(); }
  };
  Result<Constraint> compile(const OutputForm& form);
  Result<Constraint> compile_calls(const OutputForm& form, const std::optional<grammar::ThoughtForm>& thought);
  Result<std::shared_ptr<const grammar::TokenIndex>> index();
  Constraint look_up(const std::string& key);
  void keep(std::string key, Constraint constraint);

  const TextModel& model_;
  std::mutex index_mutex_;  // held while the index is built: whoever comes meanwhile needs it too
  std::shared_ptr<const grammar::TokenIndex> index_;
  std::mutex kept_mutex_;
  std::list<Kept> kept_;  // used last in front
  size_t kept_bytes_ = 0;
};

}  // namespace paceline
