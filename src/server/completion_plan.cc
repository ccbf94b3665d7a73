#include "server/completion_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <ctime>

#include "media/decode.h"
#include "media/refusal_codes.h"
#include "server/rendering.h"
#include "session/completion_maker.h"

namespace paceline {
namespace {

// What a template does for each message, as so much text.
constexpr size_t kMessageWeight = 512;
// Up to twenty frames of the largest size, of two bytes for a pixel or fewer, that a codec holds.
constexpr size_t kClipBytes = size_t{384} << 20;

// Names that clients wrote, for a header: a list of those that can stand there.
std::string header_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 127 && c != ','; });
    if (plain && name.size() <= 100) list += (list.empty() ? "" : ", ") + name;
  }
  return list;
}

class Planner final : public CompletionPlanner {
 public:
  Planner(const HttpCall& call, std::unique_ptr<Wire> wire, const PlanTerms& terms)
      : call_(call),
        wire_(std::move(wire)),
        limits_(*terms.limits),
        only_counts_(terms.only_counts),
        lists_tokens_(terms.lists_tokens),
        only_renders_(terms.only_renders),
        problem_(terms.ignores_unknown) {}

  bool read() override {
    const auto body = parse_body(call_.body, problem_);
    if (!body) return false;
    wire_->read(*body, limits_, problem_);
    return is_good();
  }

  [[nodiscard]] const std::string& asked_model() const override { return ask().model; }
  [[nodiscard]] std::unique_ptr<EarlyStream> early_stream(const std::string& model) const override {
    const bool streams = ask().stream && !only_counts_ && !only_renders_;
    return streams ? wire_->early_stream(model, call_.said_early) : nullptr;
  }

  [[nodiscard]] std::string answer_id() const override { return wire_->answer_id(call_.said_early->letters); }

  bool take_model(ModelLease model) override {
    model_ = std::move(model);
    if (model_ == nullptr) unknown_model_ = ask().model;
    if (is_good() && !media().empty() && model_->vision() == nullptr)
      problem_.say(unsupported(wire_->prompt_field(), "this model takes no images and no videos"));
    return is_good();
  }

  [[nodiscard]] size_t decoded_bytes() const override {
    const ChatAsk* chat = wire_->chat();
    if (chat == nullptr || chat->media.empty() || model_ == nullptr || model_->vision() == nullptr) return 0;
    const Vision& vision = *model_->vision();
    const auto token_bytes = 3 * static_cast<size_t>(vision.config().shape.token_side()) *
                             static_cast<size_t>(vision.config().shape.token_side());
    const auto picture_tokens = static_cast<size_t>(chat->picture_tokens > 0 ? chat->picture_tokens : vision.budget());
    const auto clip_tokens = static_cast<size_t>(shown_frames()) * static_cast<size_t>(vision.clip_budget().tokens);
    size_t bytes = 0;
    for (const MediaFile& file : chat->media) bytes += token_bytes * (file.is_video ? clip_tokens : picture_tokens);
    return bytes;
  }

  [[nodiscard]] size_t weight() const override {
    const ChatAsk* chat = wire_->chat();
    if (chat == nullptr) return call_.body.size();
    size_t media_bytes = 0;
    for (const MediaFile& file : chat->media) media_bytes += file.written_bytes;
    return call_.body.size() - std::min(media_bytes, call_.body.size()) + kMessageWeight * chat->chat.messages.size();
  }

  std::vector<MediaFile>& media() override { return wire_->chat() != nullptr ? wire_->chat()->media : none_; }
  [[nodiscard]] bool is_good() const override { return problem_.none() && !unknown_model_; }

  size_t decode(size_t number, size_t most_bytes, const std::function<bool()>& stops) override {
    MediaFile& file = media()[number];
    const FileBytes bytes(reinterpret_cast<const uint8_t*>(file.bytes.data()), file.bytes.size());
    const size_t needed = file.is_video ? kClipBytes : decoding_bytes(bytes);
    if (needed > most_bytes) return needed;
    auto medium = file.is_video ? read_clip(bytes, stops) : read_picture(bytes, stops);
    if (!medium.ok()) {
      refuse_medium(number, medium.error());
    } else {
      media_.push_back(std::move(*medium));
    }
    // What has been decoded is not needed as a file any more.
    file.bytes = {};
    return 0;
  }

  void refuse_medium(size_t number, const Error& why) override {
    const char* kind = media()[number].is_video ? "video" : "image";
    // As where a decoder of our own finds none: what is smaller may have room.
    const char* code = std::string_view(why.code) == kNoMemory ? kTooLarge : why.code;
    const std::string message = fmt::format("{} {} of the request: {}", kind, number, why.message);
    problem_.say(bad_field(wire_->prompt_field(), Error{message, code}));
  }

  std::variant<ExchangePlan, HttpAnswer, ApiError> finish() override {
    if (is_good()) {
      ChatAsk* chat = wire_->chat();
      limits_.defaults.fill(chat != nullptr ? chat->wishes : wire_->text()->wishes);
      chat != nullptr ? plan_chat(*chat) : plan_text(*wire_->text());
    }
    if (!problem_.none()) return api_error(*problem_.first());
    if (unknown_model_) return no_such_model(*unknown_model_);
    if (only_renders_)
      return HttpAnswer{.body = boost::json::serialize(boost::json::object{{"prompt", rendered_}}), .headers = {}};
    if (lists_tokens_) return token_list();
    if (only_counts_) {
      size_t tokens = 0;
      for (const Request& request : plan_.requests) tokens += request.prompt.size();
      return HttpAnswer{.body = boost::json::serialize(wire_->count(tokens)), .headers = {}};
    }
    plan_.format = wire_->format({model_->name(), std::time(nullptr), &model_->text().tokenizer, *call_.said_early});
    plan_.arrived = call_.arrived;
    plan_.left_out = header_list(problem_.left_out());
    plan_.model = model_;
    return std::move(plan_);
  }

 private:
  [[nodiscard]] const Ask& ask() const {
    return wire_->chat() != nullptr ? static_cast<const Ask&>(*wire_->chat()) : *wire_->text();
  }

  void plan_chat(ChatAsk& chat) {
    const std::optional<bool> thinks = limits_.defaults.thinks ? limits_.defaults.thinks : model_->thinks();
    if (thinks && !chat.chat.variables.contains("enable_thinking")) chat.set_thinking(*thinks);
    const auto text = render_within(model_->text(), chat.chat, limits_, wire_->prompt_field(), problem_);
    if (!text) return;
    if (only_renders_) {
      rendered_ = *text;
      return;
    }
    // The template writes <bos> itself.
    auto prompt = model_->maker().encode(*text, false, media_, terms(), problem_);
    if (prompt) add(model_->maker().make(std::move(*prompt), chat, chat, terms(), problem_));
    plan_.stream = chat.stream;
    plan_.cache_salt = chat.cache_salt;
  }

  void plan_text(const CompletionAsk& ask) {
    CompletionMaker& maker = model_->maker();
    for (const CompletionPrompt& asked : ask.prompts) {
      if (only_renders_) {
        rendered_ += asked.ids.empty() ? asked.text : model_->text().tokenizer.decode(asked.ids, false);
        continue;
      }
      auto prompt = asked.ids.empty() ? maker.encode(asked.text, true, {}, terms(), problem_)
                                      : maker.take_ids(asked.ids, {}, terms(), problem_);
      if (!prompt) return;
      add(maker.make(std::move(*prompt), ask, terms(), problem_));
      if (!problem_.none()) return;
    }
    plan_.stream = ask.stream;
    plan_.cache_salt = ask.cache_salt;
  }

  [[nodiscard]] HttpAnswer token_list() const {
    boost::json::array tokens;
    for (const Request& request : plan_.requests)
      tokens.insert(tokens.end(), request.prompt.begin(), request.prompt.end());
    boost::json::object told{{"count", tokens.size()}, {"max_model_len", model_->maker().context(limits_.context)}};
    told["tokens"] = std::move(tokens);
    return {.body = boost::json::serialize(told), .headers = {}};
  }

  [[nodiscard]] CompletionTerms terms() const {
    return {.field = wire_->prompt_field(),
            .context = limits_.context,
            .default_max_tokens = limits_.default_max_tokens,
            .form_field = wire_->form_field()};
  }

  void add(std::optional<MadeCompletion> made) {
    if (!made) return;
    if (limits_.request_s > 0) {
      made->request.deadline = call_.arrived + std::chrono::duration_cast<EngineClock::duration>(
                                                   std::chrono::duration<double>(limits_.request_s));
    }
    plan_.outputs.push_back(std::move(made->output));
    plan_.requests.push_back(std::move(made->request));
  }

  // Too many pixels are refused by their number, before memory is taken.
  [[nodiscard]] size_t decoding_bytes(FileBytes file) const {
    const int64_t pixels = picture_pixels(file);
    return pixels > picture_limits().pixels ? 0 : static_cast<size_t>(pixels * kDecodingBytes);
  }

  [[nodiscard]] PictureLimits picture_limits() const {
    PictureLimits limits;
    limits.pixels = std::min(limits.pixels, limits_.max_pixels);
    return limits;
  }

  // Decoded and cut here; the engine looks at them.
  [[nodiscard]] Result<Medium> read_picture(FileBytes file, const std::function<bool()>& stops) const {
    PictureLimits limits = picture_limits();
    limits.stops = &stops;
    TRY_ASSIGN(Patches patches, model_->vision()->read(file, wire_->chat()->picture_tokens, limits));
    return Medium(std::make_shared<const Patches>(std::move(patches)));
  }

  [[nodiscard]] Result<Medium> read_clip(FileBytes file, const std::function<bool()>& stops) const {
    ClipLimits limits;
    limits.stops = &stops;
    limits.pixels = std::min(limits.pixels, limits_.max_pixels);
    TRY_ASSIGN(Clip clip, model_->vision()->read_clip(file, shown_frames(), limits));
    return Medium(std::make_shared<const Clip>(std::move(clip)));
  }
  [[nodiscard]] int32_t shown_frames() const {
    return std::min(limits_.max_frames, model_->vision()->clip_budget().frames);
  }

  const HttpCall& call_;
  std::unique_ptr<Wire> wire_;
  ModelLease model_;
  const RequestLimits& limits_;
  bool only_counts_, lists_tokens_, only_renders_;
  std::string rendered_;
  FieldProblem problem_;
  std::optional<std::string> unknown_model_;  // that was asked for
  std::vector<MediaFile> none_;               // media of a text
  std::vector<Medium> media_;                 // those that have been decoded
  ExchangePlan plan_;
};

}  // namespace

bool CompletionPlanner::needs_fetch() {
  return std::any_of(media().begin(), media().end(), [](const MediaFile& file) { return !file.url.empty(); });
}

std::shared_ptr<CompletionPlanner> make_planner(const HttpCall& call, std::unique_ptr<Wire> wire,
                                                const PlanTerms& terms) {
  return std::make_shared<Planner>(call, std::move(wire), terms);
}

}  // namespace paceline
