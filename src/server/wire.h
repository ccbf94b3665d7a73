// One way of asking for an answer: how a body is read, and how the answer is written. All of them are read into the
// same conversation and answered from the same events.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "server/answer_format.h"
#include "server/early_stream.h"
#include "server/wire_chat.h"
#include "server/wire_completions.h"
#include "tokenizer/tokenizer.h"

namespace paceline {

// What an answer says about where it comes from. The tokenizer outlives it.
struct AnswerOrigin {
  std::string model;
  int64_t created = 0;  // seconds since 1970
  const Tokenizer* tokenizer = nullptr;
  SaidEarly said = {};  // before the model was there

  [[nodiscard]] std::string letters() const;
};

// Used once.
class Wire {
 public:
  virtual ~Wire() = default;

  // A field that nobody knows is left out, and not an error.
  [[nodiscard]] virtual bool ignores_unknown() const { return false; }
  // What is wrong is said in `problem`.
  virtual void read(const boost::json::object& body, const RequestLimits& limits, FieldProblem& problem) = 0;

  // What was read: one of the two.
  [[nodiscard]] virtual ChatAsk* chat() { return nullptr; }
  [[nodiscard]] virtual CompletionAsk* text() { return nullptr; }
  // How errors call them.
  [[nodiscard]] virtual const char* prompt_field() const { return "messages"; }
  [[nodiscard]] virtual const char* form_field() const { return "response_format"; }

  // A stream of this model, before it has begun; none: it can say nothing.
  [[nodiscard]] virtual std::unique_ptr<EarlyStream> early_stream(const std::string& model,
                                                                  std::shared_ptr<SaidEarly> said) const;

  // How an answer with these letters is called.
  [[nodiscard]] virtual std::string answer_id(const std::string& letters) const = 0;
  [[nodiscard]] virtual std::unique_ptr<AnswerFormat> format(const AnswerOrigin& origin) = 0;
  // The answer to those who only ask how many tokens their prompt has.
  [[nodiscard]] virtual boost::json::object count(size_t tokens) const { return {{"count", tokens}}; }
};

// One that says `sign` as often as it is asked, and ends with an error behind the line `name`.
std::unique_ptr<EarlyStream> plain_early_stream(std::string_view sign, std::string_view name);

// Letters that nobody else has: of an answer's name and all that it holds.
std::string new_letters();

std::unique_ptr<Wire> make_chat_wire();
std::unique_ptr<Wire> make_completion_wire();

}  // namespace paceline
