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
#include "server/answer_format.h"
#include "server/api_error.h"
#include "server/metrics.h"
#include "server/model_ticket.h"
#include "session/choice_output.h"
#include "session/output_parser.h"

namespace paceline {

struct ExchangePlan {
  ModelLease model;  // stays until this has ended
  std::unique_ptr<AnswerFormat> format;
  bool stream = false;
  std::vector<OutputSettings> outputs;  // one per request
  std::vector<Request> requests;        // their choices are counted on, one behind the other
  EngineClock::time_point arrived;
  std::string cache_salt;          // of the request, for its scope
  std::string route;               // it came by
  std::string client;              // whose it is: an address
  std::optional<size_t> key = {};  // and which of the server's keys it has
  int32_t max_tokens = 0;          // of each choice
  std::string left_out;            // of what it asks for, and is of no consequence; names
};

class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  // The metrics must outlive it.
  Exchange(ExchangePlan plan, Metrics& metrics);

  // Hands the requests to the engine. Where one is refused, none runs; the size is what it would have needed.
  Submission submit();

  [[nodiscard]] bool streams() const { return plan_.stream; }
  [[nodiscard]] std::string_view stream_type() const { return plan_.format->stream_type(); }
  [[nodiscard]] const std::string& id() const { return plan_.format->id(); }
  [[nodiscard]] const std::string& route() const { return plan_.route; }
  [[nodiscard]] const std::string& client() const { return plan_.client; }
  [[nodiscard]] const std::optional<size_t>& key() const { return plan_.key; }
  [[nodiscard]] int32_t max_tokens() const { return plan_.max_tokens; }
  [[nodiscard]] const std::string& model() const { return plan_.model->name(); }
  // For the answer's header: what was asked for and left out.
  [[nodiscard]] const std::string& left_out() const { return plan_.left_out; }
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
  // Streams: nothing came for a while.
  std::string show_life();

  [[nodiscard]] bool finished();
  // When it is finished, once: the whole answer.
  struct Whole {
    int status = 200;
    std::string body;
  };
  Whole whole();

  // How it fares.
  struct Progress {
    std::string id;
    Usage usage;
    double age_s = 0;
    double queued_s = 0;                                // until the engine began with it
    std::optional<double> first_token_s, last_token_s;  // since it arrived; none: there is none yet
    SpeculationCounters counters = {};                  // until now
    int32_t depth = 0;                                  // of the newest round
    size_t kv_bytes = 0;                                // that it holds
    int64_t prompt_read = 0;                            // tokens of it that have been run or were cached
    bool has_begun = false, has_ended = false;
    std::string end;  // "": it goes on
  };
  [[nodiscard]] Progress progress();

  // As whoever asks for it by its id is told; none: it is not.
  [[nodiscard]] std::optional<boost::json::object> standing(const std::optional<size_t>& owner, const char* status,
                                                            const std::optional<Usage>& usage) const {
    return plan_.format->standing(owner, status, usage);
  }
  // It may not have more; `why` is what the client is told, if it is still there.
  void cancel(ApiError why);
  // The engine will not say anything any more: it ends here, as failed.
  void abandon(const std::string& why);
  [[nodiscard]] Usage usage();

 private:
  class Ear;
  // Of a choice, what the engine's thread knows.
  struct Choice {
    explicit Choice(ChoiceOutput made) : output(std::move(made)) {}
    ChoiceOutput output;
    int32_t prompt_read = 0;  // of the prompt that it shares, if it is the first
    EngineClock::time_point last_token{};
    size_t kv_bytes = 0;
    bool ended = false;
  };
  Heard hear(int32_t first_choice, const Event& event);
  void count_round(const Event& event, size_t stand);
  void time_tokens(Choice& choice, size_t count);
  void note_end(Choice& choice, const SequenceEnd& end);
  Usage take_all(std::vector<ChoiceNews>& news, std::optional<ApiError>& problem);
  [[nodiscard]] bool all_ended() const { return ended_ == choices_.size(); }

  ExchangePlan plan_;
  Engine& engine_;
  Metrics& metrics_;

  bool opened_ = false, told_end_ = false;  // whoever calls take()

  std::mutex mutex_;  // guards all below; held for moments only, since the engine waits for it
  std::vector<std::unique_ptr<Choice>> choices_;
  std::vector<RequestId> ids_;
  std::function<void()> wake_;
  std::optional<ApiError> problem_;
  size_t ended_ = 0;
  bool cancelled_ = false;
  std::optional<EngineClock::time_point> begun_, first_token_, last_token_;  // of all choices
  SpeculationCounters counters_;
  int32_t depth_ = 0;  // of the newest round
  Usage usage_;
};

}  // namespace paceline
