// A model put together for serving: weights, drafter, engine, and what is said about them.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "cli/drafting.h"
#include "cli/generate_options.h"
#include "cli/machine.h"
#include "engine/engine.h"
#include "server/served_model.h"
#include "session/text_model.h"
#include "session/vision.h"

namespace paceline {

struct ServeEngineOptions {
  RunOptions run;
  DraftOptions draft;
  EngineSettings engine;  // kv_bytes 0: what seems right for the memory that is free
};

class ServeEngine {
 public:
  // `tell` hears what was found and decided.
  static Result<std::unique_ptr<ServeEngine>> make(const ServeEngineOptions& options, StepObserver& observer,
                                                   const std::function<void(const std::string&)>& tell);

  [[nodiscard]] const TextModel& text() const { return *text_; }
  Engine& engine() { return *engine_; }
  [[nodiscard]] const EngineDescription& description() const { return description_; }
  // What was learnt about rounds, for the next start. Once the engine has stopped.
  void keep_costs() const { drafting_->keep_costs(); }
  // None: it takes no pictures.
  [[nodiscard]] const Vision* vision() const { return vision_.get(); }

 private:
  ServeEngine() = default;
  Status load(const ServeEngineOptions& options);
  Status add_drafter(const DraftOptions& options, const std::function<void(const std::string&)>& tell);
  void add_vision(Precision precision, const std::function<void(const std::string&)>& tell);

  std::filesystem::path folder_;
  std::unique_ptr<Machine> machine_;
  std::optional<TextModel> text_;
  std::optional<Forward> forward_;
  std::unique_ptr<Drafting> drafting_;
  std::unique_ptr<Vision> vision_;
  EngineDescription description_;
  std::unique_ptr<Engine> engine_;
};

// An error where not even the smallest request could ever run, with both numbers.
Status check_kv_bytes(size_t bytes, const Forward& forward);

// Half of what is free, within bounds: weights that were mapped come and go with their use, and count as free.
size_t automatic_kv_bytes();

}  // namespace paceline
