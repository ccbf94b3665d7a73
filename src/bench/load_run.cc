#include "bench/load_run.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <charconv>
#include <chrono>
#include <optional>
#include <string_view>

namespace paceline {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{250};

// "name{labels} 0.25" in the server's metrics; 0: not there.
double metric_of(std::string_view metrics, std::string_view name) {
  for (size_t at = 0; (at = metrics.find(name, at)) != std::string_view::npos; at += name.size()) {
    if (at > 0 && metrics[at - 1] != '\n') continue;
    const size_t end = std::min(metrics.find('\n', at), metrics.size());
    const std::string_view line = metrics.substr(at, end - at);
    const size_t space = line.rfind(' ');
    double value = 0;
    if (space != std::string_view::npos) std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    return value;
  }
  return 0;
}

class Clients {
 public:
  explicit Clients(const LoadPlanOfClients& plan) : plan_(plan), maker_(plan.mix), random_(plan.mix.seed + 1) {}

  LoadRun run() {
    const Clock::time_point begin = Clock::now();
    if (plan_.per_second > 0) {
      asio::co_spawn(context_, arrive(), asio::detached);
    } else {
      for (int32_t i = 0; i < std::min(plan_.at_once, plan_.requests); ++i)
        asio::co_spawn(context_, one_after_the_other(), asio::detached);
    }
    asio::co_spawn(context_, watch(), asio::detached);
    context_.run();
    run_.seconds = std::chrono::duration<double>(ended_ - begin).count();
    return std::move(run_);
  }

 private:
  [[nodiscard]] bool goes_on() const { return started_ < plan_.requests && !(plan_.stopped && plan_.stopped()); }

  asio::awaitable<void> one_after_the_other() {
    while (goes_on()) co_await one();
  }

  asio::awaitable<void> arrive() {
    asio::steady_timer timer(context_);
    Clock::time_point next = Clock::now();
    std::exponential_distribution<double> wait(plan_.per_second);
    while (goes_on()) {
      asio::co_spawn(context_, one(), asio::detached);
      next += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(wait(random_)));
      timer.expires_at(next);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  asio::awaitable<void> one() {
    ++started_;
    run_.most_open = std::max(run_.most_open, ++open_);
    MixedRequest request = maker_.next(plan_.speculates);
    // (GCC 12 would destroy a temporary within a co_await twice.)
    LoadCall call{plan_.server, kChatPath, plan_.api_key, std::move(request.body), request.cancel_after};
    LoadOutcome outcome = co_await run_load_call(std::move(call));
    --open_;
    ended_ = Clock::now();
    run_.outcomes.push_back(std::move(outcome));
    if (plan_.progress) plan_.progress(static_cast<int64_t>(run_.outcomes.size()), plan_.requests);
  }

  asio::awaitable<void> watch() {
    asio::steady_timer timer(context_);
    const std::string path = "/metrics";
    while (open_ > 0 || goes_on()) {
      const std::string metrics = co_await fetch_text(plan_.server, path, plan_.api_key);
      run_.kv_peak = std::max(run_.kv_peak, metric_of(metrics, "vllm:kv_cache_usage_perc"));
      const double busy = metric_of(metrics, "paceline:busy_seconds_total");
      const double idle = metric_of(metrics, "paceline:device_idle_seconds_total");
      if (!busy_before_) busy_before_ = busy, idle_before_ = idle;
      run_.busy_s = busy - *busy_before_;
      run_.idle_s = idle - idle_before_;
      timer.expires_after(kBetweenLooks);
      co_await timer.async_wait(asio::use_awaitable);
    }
  }

  const LoadPlanOfClients& plan_;
  asio::io_context context_;
  LoadMaker maker_;
  std::mt19937_64 random_;
  int32_t started_ = 0, open_ = 0;
  Clock::time_point ended_{};
  std::optional<double> busy_before_;
  double idle_before_ = 0;
  LoadRun run_;
};

}  // namespace

int64_t LoadRun::tokens() const {
  int64_t sum = 0;
  // A client that went away saw no usage; it saw at least a token with each piece.
  for (const LoadOutcome& outcome : outcomes) sum += outcome.cancelled ? outcome.pieces : outcome.completion_tokens;
  return sum;
}

int64_t LoadRun::failed() const {
  int64_t count = 0;
  for (const LoadOutcome& outcome : outcomes) count += outcome.problem.empty() ? 0 : 1;
  return count;
}

double LoadRun::decode_per_s() const {
  double tokens = 0, ms = 0;
  for (const LoadOutcome& outcome : outcomes) {
    if (outcome.cancelled || !outcome.problem.empty() || outcome.completion_tokens < 2) continue;
    tokens += static_cast<double>(outcome.completion_tokens - 1);
    ms += outcome.whole_ms - outcome.first_ms;
  }
  return ms > 0 ? 1e3 * tokens / ms : 0;
}

LoadRun run_load(const LoadPlanOfClients& plan) { return Clients(plan).run(); }

PrefixRun run_prefixes(const LoadPlanOfClients& plan, int32_t words, int32_t times) {
  PrefixRun run;
  LoadMaker maker(plan.mix);
  asio::io_context context;
  const auto ask = [&](std::string prompt) -> asio::awaitable<void> {
    LoadCall call{plan.server, kChatPath, plan.api_key, maker.body_of(prompt, 4, 1, plan.speculates), std::nullopt};
    LoadOutcome outcome = co_await run_load_call(std::move(call));
    if (!outcome.problem.empty()) run.problem = outcome.problem;
    (outcome.cached_tokens > 0 ? run.hit_ms : run.miss_ms).push_back(outcome.first_ms);
    run.prompt_tokens = outcome.prompt_tokens;
    run.cached_tokens = outcome.cached_tokens;
  };
  const auto all = [&]() -> asio::awaitable<void> {
    for (int32_t i = 0; i < times && run.problem.empty(); ++i) {
      const std::string beginning = maker.words(words);
      std::string first = beginning + ". How does it go on?", second = beginning + ". What is it about?";
      co_await ask(std::move(first));
      co_await ask(std::move(second));
    }
  };
  asio::co_spawn(context, all(), asio::detached);
  context.run();
  return run;
}

}  // namespace paceline
