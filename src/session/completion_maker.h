// From what is asked of a model, whoever asks, to what its engine is asked for: prompts encoded with their media,
// lengths checked, the output's form compiled. Whatever is wrong is said by the field that it stands in.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"
#include "session/chat_parts.h"
#include "session/engine_request.h"
#include "session/field_problem.h"
#include "session/media_places.h"
#include "session/medium.h"
#include "session/output_forms.h"
#include "session/output_parser.h"
#include "session/text_model.h"

namespace paceline {

// How the output is to be chosen, and where it ends.
struct OutputAsk {
  Wishes wishes;                      // max_tokens and context are decided when the prompt is known
  std::optional<int32_t> max_tokens;  // none: see CompletionTerms
  std::vector<std::string> stop_strings;
  bool keeps_rounds = false;  // of speculation, each by itself
  bool traces = false;        // says who wrote each piece of the text
};

inline constexpr int32_t kMaxTopLogprobs = 20;

struct CompletionTerms {
  const char* field = "prompt";    // how messages call the prompt
  int32_t context = 0;             // most tokens, prompt included; 0: what the model has
  int32_t default_max_tokens = 0;  // where it is not said
  const char* tools_field = "tools";
  const char* form_field = "response_format";  // and what says the answer's form
};

struct MadeCompletion {
  Request request;
  OutputSettings output;
};

// May be used by several threads.
class CompletionMaker {
 public:
  // The model must outlive it.
  explicit CompletionMaker(const TextModel& model);

  // The most tokens of a request, where at most `limit` are allowed (0: no limit).
  [[nodiscard]] int32_t context(int32_t limit) const;

  // A text with places for the media. with_bos: it does not begin with it itself. None: the problem has been said.
  std::optional<MediaPrompt> encode(std::string_view text, bool with_bos, std::span<const Medium> media,
                                    const CompletionTerms& terms, FieldProblem& problem) const;
  // Tokens as they are, of which those of pictures and frames are places for the media.
  std::optional<MediaPrompt> take_ids(const std::vector<TokenId>& ids, std::span<const Medium> media,
                                      const CompletionTerms& terms, FieldProblem& problem) const;

  // A text that is continued.
  std::optional<MadeCompletion> make(MediaPrompt prompt, const OutputAsk& ask, const CompletionTerms& terms,
                                     FieldProblem& problem);
  // The answer to a conversation, whose prompt this is.
  std::optional<MadeCompletion> make(MediaPrompt prompt, const OutputAsk& ask, const ChatParts& chat,
                                     const CompletionTerms& terms, FieldProblem& problem);

 private:
  // The fewest tokens that so many bytes of text can be: what is sure to be too long need not be encoded.
  [[nodiscard]] size_t fewest_tokens(size_t bytes) const { return bytes / longest_piece_; }
  bool add_form(const OutputForm& form, const CompletionTerms& terms, Wishes& wishes, FieldProblem& problem);
  // Calls as their tools want them, and text otherwise; where a tool's schema cannot be followed, its calls may have
  // any arguments, unless the tool is strict. None: calls cannot be followed at all.
  Result<std::shared_ptr<const TokenConstraint>> find_calls(OutputForm form);
  std::optional<MadeCompletion> make(MediaPrompt prompt, const OutputAsk& ask, const std::optional<OutputForm>& form,
                                     const CompletionTerms& terms, FieldProblem& problem);

  const TextModel& model_;
  size_t longest_piece_ = 1;  // bytes
  OutputForms forms_;
};

}  // namespace paceline
