#include "session/output_forms.h"

#include <boost/json/serialize.hpp>
#include <iterator>

#include "grammar/constraint.h"
#include "session/token_vocabulary.h"

namespace paceline {
namespace {

// A compiled schema takes some kilobytes, the largest accepted some tens of megabytes.
constexpr size_t kKept = 32, kKeptBytes = size_t{128} << 20;

std::string key_of(const OutputForm& form) {
  boost::json::array tools;
  for (const auto& tool : form.tools) tools.push_back({boost::json::value(tool.name), tool.parameters});
  return boost::json::serialize(boost::json::array{static_cast<int>(form.kind), form.schema, tools, form.max_calls,
                                                   static_cast<int>(form.thinking)});
}

}  // namespace

Result<std::shared_ptr<const TokenConstraint>> OutputForms::find(const OutputForm& form) {
  std::string key = key_of(form);
  if (Constraint kept = look_up(key)) return kept;
  TRY_ASSIGN(Constraint made, compile(form));
  keep(std::move(key), made);
  return made;
}

Result<std::shared_ptr<const TokenConstraint>> OutputForms::compile(const OutputForm& form) {
  std::optional<grammar::ThoughtForm> thought;
  if (form.thinking != Thinking::none) thought = model_.dialect->thought_form(form.thinking == Thinking::begun);
  if (!form.tools.empty()) return compile_calls(form, thought);
  auto made = form.kind == OutputForm::Kind::json_object ? grammar::json_object_grammar(thought)
                                                         : grammar::json_schema_grammar(form.schema, thought);
  if (!made.ok()) return std::move(made).error();
  TRY_ASSIGN(auto index, this->index());
  return grammar::GrammarConstraint::make(std::move(*made), std::move(index), model_.stop_ids);
}

Result<std::shared_ptr<const TokenConstraint>> OutputForms::compile_calls(
    const OutputForm& form, const std::optional<grammar::ThoughtForm>& thought) {
  using Instead = grammar::InsteadOfCalls::Kind;
  grammar::ToolCallOptions options{form.max_calls, thought, {}};
  switch (form.kind) {
    case OutputForm::Kind::text: options.instead.kind = Instead::text; break;
    case OutputForm::Kind::json_object: options.instead.kind = Instead::object; break;
    case OutputForm::Kind::json_schema: options.instead = {Instead::schema, &form.schema}; break;
    case OutputForm::Kind::tool_calls: break;
  }
  TRY_ASSIGN(grammar::Automaton made,
             model_.dialect->call_grammar(TokenVocabulary(model_.tokenizer), form.tools, options));
  TRY_ASSIGN(auto index, this->index());
  return grammar::GrammarConstraint::make(std::move(made), std::move(index), model_.stop_ids);
}

Result<std::shared_ptr<const grammar::TokenIndex>> OutputForms::index() {
  const std::lock_guard lock(index_mutex_);
  if (index_ == nullptr) {
    TRY_ASSIGN(index_, make_token_index(model_.tokenizer));
  }
  return index_;
}

std::shared_ptr<const TokenConstraint> OutputForms::look_up(const std::string& key) {
  const std::lock_guard lock(kept_mutex_);
  for (auto it = kept_.begin(); it != kept_.end(); ++it) {
    if (it->key != key) continue;
    kept_.splice(kept_.begin(), kept_, it);
    return it->constraint;
  }
  return nullptr;
}

void OutputForms::keep(std::string key, Constraint constraint) {
  const std::lock_guard lock(kept_mutex_);
  kept_.push_front({std::move(key), std::move(constraint)});
  kept_bytes_ += kept_.front().bytes();
  while (kept_.size() > kKept || kept_bytes_ > kKeptBytes) {
    kept_bytes_ -= kept_.back().bytes();
    kept_.pop_back();
  }
}

size_t OutputForms::kept_bytes() {
  const std::lock_guard lock(kept_mutex_);
  return kept_bytes_;
}

}  // namespace paceline
