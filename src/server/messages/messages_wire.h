// POST /v1/messages, as Anthropic's clients ask.
#pragma once

#include <memory>

#include "server/wire.h"

namespace paceline::messages {

std::unique_ptr<Wire> make_wire();

}  // namespace paceline::messages
