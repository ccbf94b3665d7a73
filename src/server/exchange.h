// A completion on its way: hears the engine, and holds what the client is still to be told.
//
// The engine's thread puts text in; whoever serves the connection takes it out, when the client is ready for more. A
// client that reads slowly lets its own exchange grow, by no more than what the request may emit.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/api_error.h"
#include "server/metrics.h"
#include "server/wire_answer.h"
#include "session/choice_output.h"
#include "session/output_parser.h"

namespace paceline {

struct ExchangePlan {
  AnswerHead head;
  bool stream = false;
  bool include_usage = false;
  bool has_logprobs = false;
  std::vector<OutputSettings> outputs;  // one per request
  std::vector<Request> requests;        // their choices are counted on, one behind the other
  EngineClock::time_point arrived;
  std::string cache_salt;  // of the request, for its scope
};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // Tokenizer, engine and metrics must outlive it.
  struct Around {
    const Tokenizer* tokenizer = nullptr;
    const OutputDialect* dialect = nullptr;
    Engine* engine = nullptr;
    Metrics* metrics = nullptr;
  };
  Exchange(ExchangePlan plan, const Around& around);

  // Hands the requests to the engine. Where one is refused, none runs; the size is what it would have needed.
  Submission submit();

  [[nodiscard]] bool streams() const { return plan_.stream; }
  [[nodiscard]] const std::string& id() const { return plan_.head.id; }
  // Called, by any thread, when take() or finished() have something new to say.
  void set_wake(std::function<void()> wake);

  // About the bytes that take() or whole() would write now.
  [[nodiscard]] size_t weight();

  // Streams: the events since the last call. `finished`: nothing follows.
  struct Step {
    std::string bytes;
    bool finished = false;
  };
  Step take();

  [[nodiscard]] bool finished();
  // When it is finished, once: the whole answer.
  struct Whole {
    int status = 200;
    std::string body;
  };
  Whole whole();

  // It may not have more; `why` is what the client is told, if it is still there.
  void cancel(ApiError why);
  [[nodiscard]] Usage usage();

 private:
  class Ear;
  // Of a choice, what the engine's thread knows.
  struct Choice {
    explicit Choice(ChoiceOutput made) : output(std::move(made)) {}
    ChoiceOutput output;
    EngineClock::time_point last_token{};
    std::string finish_reason;  // "": it goes on
  };
  // And how far the client has been told.
  struct Told {
    bool opened = false, closed = false;
    int32_t calls = 0;
    size_t content_bytes = 0;
  };
  // What take() has taken of a choice, to be written without holding up the engine.
  struct News {
    std::vector<OutputDelta> deltas;
    std::string finish_reason;
  };

  Heard hear(int32_t first_choice, const Event& event);
  void time_tokens(Choice& choice, size_t count);
  void note_end(Choice& choice, const SequenceEnd& end);
  Usage take_all(std::vector<News>& news, std::optional<ApiError>& problem);
  void tell(int32_t number, const News& news, std::string& out);
  void add_chunk(boost::json::object chunk, std::string& out) const;
  [[nodiscard]] bool all_ended() const { return ended_ == choices_.size(); }

  ExchangePlan plan_;
  Around around_;
  AnswerWriter writer_;

  std::vector<Told> told_;  // whoever calls take()
  bool told_end_ = false;

  std::mutex mutex_;  // guards all below; held for moments only, since the engine waits for it
  std::vector<std::unique_ptr<Choice>> choices_;
  std::vector<RequestId> ids_;
  std::function<void()> wake_;
  std::optional<ApiError> problem_;
  size_t ended_ = 0;
  bool cancelled_ = false, had_first_token_ = false;
  Usage usage_;
};

}  // namespace paceline
