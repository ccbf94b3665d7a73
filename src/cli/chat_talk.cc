#include "cli/chat_talk.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "base/regular_file.h"
#include "base/utf8.h"

namespace paceline {
namespace {

// More than any conversation with its pictures has.
constexpr size_t kMostFileBytes = size_t{256} << 20;

template <class Read>
Result<Medium> talk_medium(Result<Read> read) {
  if (!read.ok()) return read.error();
  return Medium(std::make_shared<const Read>(std::move(*read)));
}

// Whole, or as it was: what was saved before is not lost to a full disk.
Status write_file(const std::string& path, const std::string& text) {
  const std::string beside = path + ".new";
  std::ofstream out(beside, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(beside, path, error);
  if (out && !error) return Done{};
  std::filesystem::remove(beside, error);
  return Error{fmt::format("{}: cannot be written", path)};
}

}  // namespace

ChatTalk::ChatTalk(OpenedModel& opened, TalkTerms terms)
    : opened_(opened), maker_(opened.text()), terms_(std::move(terms)) {}

void ChatTalk::clear() {
  conversation_.clear();
  media_.clear();
}

Result<Medium> ChatTalk::decode(const MediaFile& file) const {
  const Vision* vision = opened_.vision();
  if (vision == nullptr) return Error{"this model takes no pictures and no clips"};
  const FileBytes bytes(reinterpret_cast<const uint8_t*>(file.bytes.data()), file.bytes.size());
  if (file.is_video) return talk_medium(vision->read_clip(bytes));
  return talk_medium(vision->read(bytes, terms_.image_tokens));
}

Status ChatTalk::show(const std::string& file, bool is_clip) {
  MediaFile shown;
  shown.is_video = is_clip;
  TRY_ASSIGN(shown.bytes, read_file(file, kMostFileBytes));
  auto medium = decode(shown);
  if (!medium.ok()) return Error{fmt::format("{}: {}", file, medium.error().message)};
  shown_.push_back(std::move(shown));
  shown_media_.push_back(std::move(*medium));
  return Done{};
}

Result<MadeCompletion> ChatTalk::prepare(const ChatSettings& settings, bool traces) {
  TRY_ASSIGN(const ChatParts parts, conversation_.parts(settings.thinks));
  TRY_ASSIGN(const std::string text, render_conversation(opened_.text(), parts.chat));
  OutputAsk ask;
  ask.wishes.sampling = terms_.sampling.settings;
  ask.wishes.temperature = settings.temperature;
  ask.wishes.top_p = terms_.sampling.top_p;
  ask.wishes.top_k = terms_.sampling.top_k;
  ask.wishes.seed = settings.seed;
  ask.wishes.max_depth = settings.depth.value_or(kMaxDraftTokens);
  ask.traces = traces;
  if (terms_.max_tokens > 0) ask.max_tokens = terms_.max_tokens;
  const CompletionTerms terms{"messages", terms_.context, std::numeric_limits<int32_t>::max()};
  FieldProblem problem;
  // The template writes <bos> itself.
  auto prompt = maker_.encode(text, false, media_, terms, problem);
  std::optional<MadeCompletion> made;
  if (prompt) made = maker_.make(std::move(*prompt), ask, parts, terms, problem);
  if (!made) return Error{problem.first()->message};
  return std::move(*made);
}

Result<Answer> ChatTalk::answer_last(const ChatSettings& settings, bool traces, const AnswerCallbacks& callbacks) {
  TRY_ASSIGN(const MadeCompletion made, prepare(settings, traces));
  seed_ = made.request.sampling.seed;
  TRY_ASSIGN(Answer given, answer(opened_.text(), opened_.engine(), made, callbacks));
  if (!given.text.empty() || !given.thoughts.empty()) conversation_.add_answer(given.text, given.thoughts);
  return given;
}

Result<Answer> ChatTalk::ask(std::string_view question, const ChatSettings& settings, bool traces,
                             const AnswerCallbacks& callbacks) {
  const size_t known = media_.size();
  conversation_.ask(with_invalid_utf8_replaced(question), shown_);
  media_.insert(media_.end(), shown_media_.begin(), shown_media_.end());
  Result<Answer> given = answer_last(settings, traces, callbacks);
  if (conversation_.take_back_question()) {
    media_.resize(known);
  } else {
    shown_.clear();
    shown_media_.clear();
  }
  return given;
}

Result<Answer> ChatTalk::ask_again(const ChatSettings& settings, bool traces, const AnswerCallbacks& callbacks) {
  const Conversation before = conversation_;
  (void)conversation_.take_back_answer();
  if (conversation_.messages().empty() || spoken(conversation_.messages().back()).role != "user") {
    conversation_ = before;
    return Error{"there is no question yet that could be answered again"};
  }
  Result<Answer> given = answer_last(settings, traces, callbacks);
  // The old answer stays where there is no new one.
  if (conversation_.messages().size() < before.messages().size()) conversation_ = before;
  return given;
}

Status ChatTalk::save(const std::string& file, const ChatSettings& settings) const {
  return write_file(file, written({conversation_, settings.seed}));
}

Status ChatTalk::load(const std::string& file, ChatSettings& settings) {
  TRY_ASSIGN(const std::string text, read_file(file, kMostFileBytes));
  auto saved = read_conversation(text);
  if (!saved.ok()) return Error{fmt::format("{}: {}", file, saved.error().message)};
  std::vector<Medium> media;
  if (!saved->conversation.messages().empty()) {
    TRY_ASSIGN(const ChatParts parts, saved->conversation.parts(std::nullopt));
    for (const MediaFile& shown : parts.media) {
      auto medium = decode(shown);
      if (!medium.ok()) return Error{fmt::format("{}: {}: {}", file, shown.field, medium.error().message)};
      media.push_back(std::move(*medium));
    }
  }
  conversation_ = std::move(saved->conversation);
  media_ = std::move(media);
  if (saved->seed) settings.seed = saved->seed;
  return Done{};
}

}  // namespace paceline
