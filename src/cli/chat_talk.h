// A conversation with an opened model: questions, answers, and what is shown, saved and loaded on the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/chat_settings.h"
#include "cli/sampling_options.h"
#include "session/answer.h"
#include "session/conversation.h"
#include "session/opened_model.h"

namespace paceline {

// What holds for all of its answers.
struct TalkTerms {
  SamplingOptions sampling;  // but what ChatSettings has
  int32_t max_tokens = 0;    // of an answer; 0: as many as fit
  int32_t context = 0;       // 0: as much as the model has
  int32_t image_tokens = 0;  // of a picture; 0: as the model's files say
};

class ChatTalk {
 public:
  // The model must outlive it.
  ChatTalk(OpenedModel& opened, TalkTerms terms);

  [[nodiscard]] const Conversation& conversation() const { return conversation_; }
  void set_system(std::string_view text) { conversation_.set_system(text); }
  void clear();

  // A picture or a clip for the next question.
  Status show(const std::string& file, bool is_clip);
  [[nodiscard]] size_t shown() const { return shown_.size(); }

  // What was answered, even if it was stopped, is part of the conversation then; where nothing was, neither is the
  // question. traces: pieces of text say who wrote them.
  Result<Answer> ask(std::string_view question, const ChatSettings& settings, bool traces,
                     const AnswerCallbacks& callbacks);
  // Another answer to the last question.
  Result<Answer> ask_again(const ChatSettings& settings, bool traces, const AnswerCallbacks& callbacks);
  // Of the newest answer.
  [[nodiscard]] uint64_t seed() const { return seed_; }

  Status save(const std::string& file, const ChatSettings& settings) const;
  // Nothing has changed where it fails. A seed that was saved is set.
  Status load(const std::string& file, ChatSettings& settings);

 private:
  Result<Medium> decode(const MediaFile& file) const;
  Result<MadeCompletion> prepare(const ChatSettings& settings, bool traces);
  Result<Answer> answer_last(const ChatSettings& settings, bool traces, const AnswerCallbacks& callbacks);

  OpenedModel& opened_;
  CompletionMaker maker_;
  TalkTerms terms_;
  Conversation conversation_;
  std::vector<Medium> media_;  // of the conversation, in order
  std::vector<MediaFile> shown_;
  std::vector<Medium> shown_media_;
  uint64_t seed_ = 0;
};

}  // namespace paceline
