#include "bench/load_pictures.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <random>

namespace paceline {
namespace {

namespace asio = boost::asio;
using Clock = std::chrono::steady_clock;

constexpr int32_t kStreamTokens = 400, kAnswerTokens = 8, kFewestStreams = 4;
constexpr std::chrono::milliseconds kAhead{300};  // that the stream begins before the others come

std::string base64(std::string_view bytes) {
  static constexpr char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (at + i < bytes.size() ? static_cast<uint8_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) text += at + i <= bytes.size() ? kLetters[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

// A BMP of one block of colour on another: unlike any before, so that nobody knows it.
std::string new_picture(std::mt19937_64& random) {
  constexpr int kSide = 96;
  std::string file = "BM";
  const auto number = [&](uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i) & 255);
  };
  for (const uint32_t value : {26U + kSide * kSide * 3, 0U, 26U, 12U}) number(value, 4);
  for (const uint32_t value : {kSide, kSide, 1, 24}) number(value, 2);
  const uint64_t colours = random();
  const int left = static_cast<int>(random() % 48), top = static_cast<int>(random() % 48);
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const bool inside = x >= left && x < left + 48 && y >= top && y < top + 48;
      number(static_cast<uint32_t>(inside ? colours : colours >> 32), 3);
    }
  }
  return file;
}

class PictureRounds {
 public:
  PictureRounds(const LoadPlanOfClients& plan, int32_t pictures, int32_t budget)
      : plan_(plan), maker_(plan.mix), random_(plan.mix.seed), pictures_(pictures), budget_(budget) {
    run_.pictures = pictures;
  }

  PictureRun run(int32_t rounds) {
    for (int32_t i = 0; i < rounds && run_.problem.empty(); ++i) {
      one({}, run_.alone_ms);
      std::vector<std::string> words, pictures;
      for (int32_t n = 0; n < pictures_; ++n) words.push_back(body_of(maker_.words(budget_)));
      for (int32_t n = 0; n < pictures_; ++n) pictures.push_back(body_with_picture());
      one(words, run_.words_ms);
      run_.word_tokens = prompt_tokens_;
      one(pictures, run_.pictures_ms);
      run_.picture_tokens = prompt_tokens_;
      run_.whole_ms.push_back(std::chrono::duration<double, std::milli>(others_ended_ - others_began_).count());
    }
    return std::move(run_);
  }

 private:
  [[nodiscard]] std::string body_of(const std::string& prompt) const {
    return maker_.body_of(prompt, kAnswerTokens, 1, plan_.speculates);
  }

  std::string body_with_picture() {
    auto body = boost::json::parse(body_of("Describe the picture.")).as_object();
    const std::string url = "data:image/bmp;base64," + base64(new_picture(random_));
    body["messages"].at(0).as_object()["content"] = {{{"type", "image_url"}, {"image_url", {{"url", url}}}},
                                                     {{"type", "text"}, {"text", "Describe the picture."}}};
    body["mm_processor_kwargs"] = {{"max_soft_tokens", budget_}};
    return boost::json::serialize(body);
  }

  void one(const std::vector<std::string>& bodies, std::vector<double>& longest) {
    asio::io_context context;
    open_ = bodies.size();
    asio::co_spawn(context, stream(longest), asio::detached);
    for (const std::string& body : bodies) asio::co_spawn(context, ask(context, body), asio::detached);
    context.run();
  }

  // Stories, until the others have been answered.
  asio::awaitable<void> stream(std::vector<double>& longest) {
    double most = 0;
    for (int32_t i = 0; (i < kFewestStreams || open_ > 0) && run_.problem.empty(); ++i) {
      const uint64_t seed = random_() % 1000000;
      auto body = boost::json::parse(maker_.body_of("Tell a long story.", kStreamTokens, seed, plan_.speculates));
      body.as_object()["temperature"] = 1;
      LoadCall call{plan_.server, kChatPath, plan_.api_key, boost::json::serialize(body), std::nullopt};
      const LoadOutcome outcome = co_await run_load_call(std::move(call));
      if (!outcome.problem.empty()) run_.problem = outcome.problem;
      for (const double gap : outcome.gaps_ms) most = std::max(most, gap);
    }
    longest.push_back(most);
  }

  asio::awaitable<void> ask(asio::io_context& context, const std::string& body) {
    asio::steady_timer timer(context, kAhead);
    co_await timer.async_wait(asio::use_awaitable);
    others_began_ = Clock::now();
    LoadCall call{plan_.server, kChatPath, plan_.api_key, body, std::nullopt};
    const LoadOutcome outcome = co_await run_load_call(std::move(call));
    others_ended_ = Clock::now();
    --open_;
    prompt_tokens_ = outcome.prompt_tokens;
    if (!outcome.problem.empty()) run_.problem = outcome.problem;
  }

  const LoadPlanOfClients& plan_;
  LoadMaker maker_;
  std::mt19937_64 random_;
  int32_t pictures_, budget_;
  int64_t prompt_tokens_ = 0;
  size_t open_ = 0;  // of the others
  Clock::time_point others_began_{}, others_ended_{};
  PictureRun run_;
};

}  // namespace

PictureRun run_pictures(const LoadPlanOfClients& plan, int32_t pictures, int32_t budget, int32_t rounds) {
  return PictureRounds(plan, pictures, budget).run(rounds);
}

}  // namespace paceline
