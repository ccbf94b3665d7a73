// How an answer is written on one wire: whole, or as a stream's events.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/api_error.h"
#include "server/sse.h"
#include "session/choice_output.h"

namespace paceline {

// What a choice has to say since it was last asked.
struct ChoiceNews {
  std::vector<OutputDelta> deltas;
  OutputEnd end = OutputEnd::none;  // none: it goes on
  std::string stop_string;          // that ended it; "": another end
  TracedRounds rounds = {};         // where they are traced
};

// Called by one at a time. A whole answer has the same text as a stream's events together.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  [[nodiscard]] virtual const std::string& id() const = 0;
  [[nodiscard]] virtual std::string_view stream_type() const { return kSseType; }

  // Streams, in this order. Of open() and show_life() the prompt alone has been counted.
  virtual void open(const Usage& usage, std::string& out) = 0;
  virtual void tell(int32_t choice, const ChoiceNews& news, const Usage& usage, std::string& out) = 0;
  // All choices have ended.
  virtual void close(const Usage& usage, const std::optional<ApiError>& problem, std::string& out) = 0;
  // Nothing was written for a while, and a client shall know that nothing is wrong.
  virtual void show_life(std::string& out) = 0;

  // By any thread: as it stands, for those who ask for it by its id. None: it is not told, or not to this owner.
  [[nodiscard]] virtual std::optional<boost::json::object> standing(const std::optional<size_t>& /*owner*/,
                                                                    const char* /*status*/,
                                                                    const std::optional<Usage>& /*usage*/) const {
    return std::nullopt;
  }

  // When all has ended, and no problem was found: the body.
  virtual std::string whole(const std::vector<ChoiceNews>& choices, const Usage& usage) = 0;
  // Otherwise.
  virtual std::string failed(const ApiError& error, const Usage& usage) = 0;
};

// A line that clients skip.
inline constexpr std::string_view kSseComment = ": \n\n";

}  // namespace paceline
