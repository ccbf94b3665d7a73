// Completions, of chats and of texts, as OpenAI's clients read them.
#pragma once

#include <memory>

#include "server/answer_format.h"
#include "server/settings.h"
#include "server/wire_answer.h"

namespace paceline {

struct CompletionFormatTerms {
  bool include_usage = false;  // streams: a chunk with the counts before the end
  bool has_logprobs = false;
  SpeculationReport report = SpeculationReport::none;
  bool traces = false;  // streams: each chunk says which rounds it came from, and who wrote what
};

// The tokenizer outlives it.
std::unique_ptr<AnswerFormat> make_completion_format(AnswerHead head, const CompletionFormatTerms& terms,
                                                     const Tokenizer& tokenizer);

}  // namespace paceline
