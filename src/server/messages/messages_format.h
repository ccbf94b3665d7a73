// Answers as Anthropic's clients read them: a message of blocks, whole or in events.
#pragma once

#include <memory>

#include "server/answer_format.h"
#include "server/wire.h"

namespace paceline::messages {

std::string answer_id(const std::string& letters);
std::unique_ptr<AnswerFormat> make_format(const AnswerOrigin& origin);

}  // namespace paceline::messages
