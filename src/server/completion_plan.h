// From what a client asked for to what the engine is asked for.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

#include "server/exchange.h"
#include "server/http_call.h"
#include "server/model_ticket.h"
#include "server/settings.h"
#include "server/wire.h"

namespace paceline {

// Reads, checks, renders and encodes: all that can be wrong with a request is found here. In steps, since between them
// somebody may have to fetch media, and others decode them. They take a while; they are called one after the other, by
// whichever thread.
class CompletionPlanner {
 public:
  virtual ~CompletionPlanner() = default;
  // What can be known without the model and the media. False: something is wrong, and finish() says what.
  virtual bool read() = 0;
  // Once it was read: which model is asked for, "": it does not say; and where the answer is to be a stream, what it
  // says before that model is there (none: nothing).
  [[nodiscard]] virtual const std::string& asked_model() const = 0;
  [[nodiscard]] virtual std::unique_ptr<EarlyStream> early_stream(const std::string& model) const = 0;
  // How its answer will be called.
  [[nodiscard]] virtual std::string answer_id() const = 0;
  // The model that it is for, before all that follows; none: there is none that is called so. False as with read().
  virtual bool take_model(ModelLease model) = 0;
  // About the bytes of text that finish() works on, once it was read.
  [[nodiscard]] virtual size_t weight() const = 0;
  // Those with a URL are to be given their bytes, and all are to be decoded before finish().
  virtual std::vector<MediaFile>& media() = 0;
  // One of them, where that takes no more memory than so much. 0: it has been done, well or not; else it has not, and
  // this is what it takes. stops: asked meanwhile, whether nobody wants it any more.
  virtual size_t decode(size_t number, size_t most_bytes, const std::function<bool()>& stops) = 0;
  // The most that all of them are, decoded.
  [[nodiscard]] virtual size_t decoded_bytes() const = 0;
  virtual void refuse_medium(size_t number, const Error& why) = 0;
  // Nothing wrong has been found so far.
  [[nodiscard]] virtual bool is_good() const = 0;
  virtual std::variant<ExchangePlan, HttpAnswer, ApiError> finish() = 0;

  [[nodiscard]] bool needs_fetch();
};

struct PlanTerms {
  // Nothing is computed: the answer says how many tokens the prompt has, or what it is.
  bool only_counts = false, only_renders = false;
  bool lists_tokens = false;     // where they are counted: these, too
  bool ignores_unknown = false;  // fields
  const RequestLimits* limits = nullptr;
};

// Call and limits outlive it.
std::shared_ptr<CompletionPlanner> make_planner(const HttpCall& call, std::unique_ptr<Wire> wire,
                                                const PlanTerms& terms);

}  // namespace paceline
