// Where pictures stand in a prompt: the tokenizer's image token for each, made into as many as the picture has soft
// tokens, between the delimiters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/request.h"
#include "media/patches.h"
#include "session/text_model.h"

namespace paceline {

// What a prompt's text has in a picture's place; "" where the model has no such token.
std::string picture_place(const TextModel& model);

// An error where the request's prompt has more places or fewer than there are pictures. Fills in its pictures.
Status place_pictures(const TokenIds& ids, const std::vector<std::shared_ptr<const Patches>>& pictures,
                      Request* request);

}  // namespace paceline
