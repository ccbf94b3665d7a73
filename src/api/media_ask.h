// Pictures and clips that callers of the C interface bring, decoded for the model.
#pragma once

#include <paceline/paceline.h>

#include <span>
#include <vector>

#include "api/outcome.h"
#include "session/chat_messages.h"
#include "session/field_problem.h"
#include "session/medium.h"
#include "session/vision.h"

namespace paceline::api {

// A list whose entries are as long as the first says.
Outcome take_media(const paceline_medium* list, size_t count, std::vector<paceline_medium>& taken);

// vision: none where the model takes none. tokens: that a picture may take; 0: what the model's files say.
std::vector<Medium> read_media(const Vision* vision, std::span<const paceline_medium> media, int32_t tokens,
                               FieldProblem& problem);

// The media of a conversation in the order of their places: those that it has with it, and those from beside.
std::vector<Medium> read_chat_media(const Vision* vision, std::span<const MediaFile> places,
                                    std::span<const paceline_medium> beside, int32_t tokens, FieldProblem& problem);

}  // namespace paceline::api
