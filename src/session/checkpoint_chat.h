// The chat templates that a checkpoint ships, rendered by our own interpreter.
#pragma once

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "session/chat.h"

namespace paceline {

struct CheckpointTemplates {
  std::string main;
  std::optional<std::string> with_tools;  // for requests with tools; none: the same
};

// From the contents of chat_template.jinja and tokenizer_config.json, where the folder has them: the file goes first,
// then the config's field, which is a text or a list of named ones. None: the checkpoint ships no template.
Result<std::optional<CheckpointTemplates>> find_chat_templates(const std::optional<std::string>& template_file,
                                                               const std::optional<std::string>& config_json);

// The same, read from a folder.
Result<std::optional<CheckpointTemplates>> load_chat_templates(const std::string& folder);

// bos_token and the others as texts: what templates are given besides the conversation.
Result<boost::json::object> read_token_texts(const std::optional<std::string>& config_json);

// An error names the template's line.
Result<std::unique_ptr<ChatTemplate>> make_checkpoint_chat(const CheckpointTemplates& templates,
                                                           boost::json::object token_texts);

}  // namespace paceline
