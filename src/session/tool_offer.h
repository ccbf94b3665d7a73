// The tools that a conversation offers, and which of them are to be called; whichever way they were written.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/documents.h"
#include "session/field_problem.h"

namespace paceline {

struct ChatParts;
class AskFields;

struct ToolDeclaration {
  std::string name, description;
  const boost::json::object* parameters = nullptr;  // none: it takes none
  bool strict = false;  // what its schema says and no grammar follows is an error; else it is not enforced
};

struct ToolOffer {
  std::vector<grammar::ToolSchema> schemas;
  boost::json::array for_template;

  // What is wrong is said of the place that declares it.
  void add(const ToolDeclaration& tool, const std::string& place, FieldProblem& problem);
};

inline constexpr size_t kMaxTools = 256;

// The entries of the body's tools, one after the other, until something is wrong.
void each_tool(AskFields& body, const std::function<void(AskFields& tool, const std::string& place)>& read);

struct ToolChoice {
  enum class Kind : uint8_t { automatic, none, required };
  Kind kind = Kind::automatic;
  // Only these; empty: any. They are all shown either way, as the beginning of a prompt is best left alone.
  std::vector<std::string> names = {};
  bool parallel = true;          // several calls in one answer
  std::string field = {};        // that says so
  std::string names_field = {};  // and the one with the names
};

// Into the parts: what the template shows, what is read as a call, the form that the output must have.
void offer_tools(ToolOffer tools, const ToolChoice& choice, ChatParts& parts, FieldProblem& problem);

}  // namespace paceline
