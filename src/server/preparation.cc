#include "server/preparation.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <exception>

#include "server/await.h"
#include "server/model_routes.h"

namespace paceline {

namespace asio = boost::asio;

Reply reply_safely(const Preparers& by, const HttpCall& call, CompletionPlanner* planner, const ModelTicket* ticket) {
  try {
    return planner != nullptr ? by.routes->go_on(call, *planner) : by.routes->handle(call, ticket);
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
  co_return co_await run_in_lane(Routes::weight_of(call), call, {});
}

// The model is waited for here, by no thread; once it is there, all is read again.
asio::awaitable<Reply> Preparation::await_model(const HttpCall& call, Reply reply) {
  ticket_ = std::move(reply.ticket);
  const auto rung = std::make_shared<bool>(false);
  bell_ = std::make_shared<asio::steady_timer>(strand_);
  ticket_->set_wake([rung, bell = bell_, strand = strand_] {
    asio::post(strand, [rung, bell] {
      *rung = true;
      bell->cancel();
    });
  });
  const auto place = by_.routes->note_waiting(call, reply, ticket_);
  const auto note_end = [&](const std::optional<std::string>& code) {
    if (place != nullptr) by_.routes->note_in_vain(*place, code.value_or("failed"));
  };
  const bool leaves = read_model_path(call.path).verb == "unload";
  const auto end = std::chrono::steady_clock::now() + seconds(leaves ? by_.settings->drain_s : by_.settings->load_s);
  while (!*rung && !gone_) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= end) {
      ticket_.reset();
      note_end("model_loading");
      co_return Reply{by_.routes->answer_late(call, reply.model)};
    }
    bell_->expires_at(std::min(end, now + seconds(by_.settings->life_sign_s)));
    co_await bell_->async_wait(kAwaitTuple);
    if (!*rung && !gone_ && reply.early != nullptr) co_await show_life_(reply.early);
  }
  if (gone_) {
    note_end(client_gone().code);
    co_return Reply{};
  }
  if (const auto problem = ticket_->problem()) {
    note_end(problem->code);
    co_return Reply{error_answer(call, *problem)};
  }
  co_return co_await run_in_lane(Routes::weight_of(call), call, {nullptr, ticket_.get()});
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
  co_return co_await run_in_lane(planner->weight(), call, {planner.get(), nullptr});
}

asio::awaitable<Reply> Preparation::run_in_lane(size_t weight, const HttpCall& call, Work work) {
  co_return co_await by_.lanes->lane_for(weight).run(
      [this, &call, work] { return gone_ ? Reply{} : reply_safely(by_, call, work.planner, work.ticket); });
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
  if (bell_ != nullptr) bell_->cancel();
  hurry();
}

void Preparation::hurry() {
  if (fetch_ != nullptr) fetch_->cancel();
}

}  // namespace paceline
