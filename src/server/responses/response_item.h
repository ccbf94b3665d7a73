// One item of a response's output while it is written: a thought, a text or a call, and the events that tell of it.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "server/responses/response_tools.h"

namespace paceline::responses {

class OutputItem {
 public:
  enum class Kind : uint8_t { reasoning, summary, message, call };
  // Hears events by their type, with what they say besides.
  using Emit = std::function<void(const char* type, boost::json::object fields)>;

  // `letters` are its own; `index`: its place in the output. Of a call: how it is called, and by whom.
  OutputItem(Kind kind, const std::string& letters, size_t index, const ToolName& tool = {});

  [[nodiscard]] Kind kind() const { return kind_; }
  void begin(const Emit& emit) const;
  void add(std::string_view text, const boost::json::array& logprobs, const Emit& emit);
  // The whole of it. Not complete: it was cut off.
  boost::json::object finish(bool complete, const Emit& emit);

 private:
  [[nodiscard]] boost::json::object object(const char* status) const;
  [[nodiscard]] boost::json::object part(const std::string& text) const;
  // With where it belongs.
  [[nodiscard]] boost::json::object about(boost::json::object fields) const;
  void finish_text(const Emit& emit) const;
  void finish_call(const Emit& emit) const;
  [[nodiscard]] std::string call_input() const;

  Kind kind_;
  std::string id_, call_id_;
  size_t index_;
  ToolName tool_;
  std::string text_;  // or the arguments
  boost::json::array logprobs_;
};

}  // namespace paceline::responses
