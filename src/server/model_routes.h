// Routes about models: which there are and how they fare, and that they come and go.
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "server/model_shelf.h"
#include "server/reply.h"
#include "server/settings.h"

namespace paceline {

// One of GET /v1/models. `context`: most tokens that are allowed; 0: what the model has.
boost::json::object model_object(const ModelView& view, int32_t context);

// What a path below /v1/models/ asks for.
struct ModelPath {
  std::string name;
  std::string_view verb;  // load, unload, rescan; "": none of them
};
ModelPath read_model_path(std::string_view path);

// May be used by several threads.
class ModelRoutes {
 public:
  // All outlive it. end_all: requests of this model end with an error.
  ModelRoutes(ModelShelf& shelf, const ServerSettings& settings, std::function<void(const std::string&)> end_all)
      : shelf_(shelf), settings_(settings), end_all_(std::move(end_all)) {}

  // GET /v1/models, and one of them.
  HttpAnswer answer_get(const HttpCall& call);
  // POST …/load, …/unload, …/rescan, and llama.cpp's names for them. came: what was waited for.
  Reply manage(const HttpCall& call, const ModelTicket* came);
  // What was waited for did not come in time.
  HttpAnswer answer_late(const HttpCall& call, const std::string& model);

 private:
  struct Wish;
  Reply load(const HttpCall& call, const std::string& name, const Wish& wish);
  Reply unload(const HttpCall& call, const std::string& name, const Wish& wish);
  HttpAnswer tell(const HttpCall& call, const std::string& name);

  ModelShelf& shelf_;
  const ServerSettings& settings_;
  std::function<void(const std::string&)> end_all_;
};

}  // namespace paceline
