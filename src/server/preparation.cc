#include "server/preparation.h"

#include <fmt/format.h>

#include <exception>

namespace paceline {

namespace asio = boost::asio;

Reply reply_safely(const Preparers& by, const HttpCall& call, CompletionPlanner* planner) {
  try {
    return planner != nullptr ? by.routes->go_on(call, *planner) : by.routes->handle(call);
  } catch (const std::exception& thrown) {
    by.log->error(fmt::format("{}: {}", call.path, thrown.what()));
    return {
        error_answer(call, {.status = 500, .message = "internal error", .type = "server_error", .code = "internal"})};
  }
}

asio::awaitable<Reply> Preparation::read(const HttpCall& call) {
  if (RequestLanes::size_class(call.body.size()) > 0) {
    if (auto hold = by_.lanes->waiting_bytes().try_take(call.body.size())) {
      body_.emplace(std::move(*hold));
    } else {
      co_return Reply{error_answer(call, too_busy("too many long requests are waiting; try again later"))};
    }
  }
  co_return co_await run_in_lane(Routes::weight_of(call), call, nullptr);
}

asio::awaitable<Reply> Preparation::go_on(const HttpCall& call, std::shared_ptr<CompletionPlanner> planner) {
  if (planner->needs_fetch()) {
    const std::optional<ApiError> problem = co_await fetch(call, *planner);
    if (problem) co_return Reply{error_answer(call, by_.routes->draining() ? shutting_down() : *problem)};
  }
  std::optional<ByteBudget::Hold> decoded;
  if (!planner->media().empty()) {
    auto held = co_await by_.decoding->run(*planner, gone_);
    if (held) decoded.emplace(std::move(*held));
  }
  fetched_.reset();
  if (gone_) co_return Reply{};
  co_return co_await run_in_lane(planner->weight(), call, planner.get());
}

asio::awaitable<Reply> Preparation::run_in_lane(size_t weight, const HttpCall& call, CompletionPlanner* planner) {
  co_return co_await by_.lanes->lane_for(weight).run(
      [this, &call, planner] { return gone_ ? Reply{} : reply_safely(by_, call, planner); });
}

asio::awaitable<std::optional<ApiError>> Preparation::fetch(const HttpCall& call, CompletionPlanner& planner) {
  fetched_.emplace(*by_.fetched, 0);
  fetch_ = std::make_shared<MediaFetch>(strand_, *by_.tls, by_.settings->limits, call.arrived, *fetched_);
  const std::optional<ApiError> problem = co_await fetch_->run(planner.media());
  fetch_.reset();
  co_return problem;
}

void Preparation::abandon() {
  gone_ = true;
  hurry();
}

void Preparation::hurry() {
  if (fetch_ != nullptr) fetch_->cancel();
}

}  // namespace paceline
