// POST /v1/responses and what belongs to it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http_call.h"
#include "server/responses/response_store.h"
#include "server/responses/responses_ask.h"
#include "server/wire.h"

namespace paceline::responses {

std::unique_ptr<Wire> make_wire(const StoreAccess& access);

// "/v1/responses/ID" and "/v1/responses/ID/VERB".
struct StoredPath {
  std::string id, verb;
};
std::optional<StoredPath> read_stored_path(std::string_view path);

// What a response that was kept is asked for: itself, its items, or to go.
HttpAnswer answer_stored(const HttpCall& call, const StoredPath& path, const StoreAccess& access);

}  // namespace paceline::responses
