// One call opens a model with its drafter on a machine: finds it, loads and places its weights, finds and times its
// drafter, sizes its memory, and puts an engine on it. Everything that runs a model begins here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "model/forward.h"
#include "session/drafting.h"
#include "session/engine_description.h"
#include "session/machine.h"
#include "session/random_model.h"
#include "session/text_model.h"
#include "session/vision.h"

namespace paceline {

// automatic: what the precision says.
enum class KvChoice : uint8_t { automatic, bf16, q8 };

// Which model, and how it is computed.
struct RunOptions {
  std::string model;     // empty: see find_model()
  RandomModel random{};  // with a shape: in place of a model
  int32_t threads = 0;
  Device device = Device::automatic;
  Precision precision = Precision::bf16;
  KvChoice kv = KvChoice::automatic;          // keys and values that grow with the text
  KvChoice kv_sliding = KvChoice::automatic;  // of sliding layers
};

KvFormats kv_formats(const RunOptions& options);

// if_possible: a model whose vision side cannot be read takes text all the same.
enum class VisionUse : uint8_t { none, if_possible, needed };

// What stands in the place of what the model's files say, where a request does not say it.
struct ModelDefaults {
  int32_t context = 0;  // most tokens, no more than it has; 0: all of them
  std::optional<float> temperature = {}, top_p = {};
  std::optional<int32_t> top_k = {};
  std::optional<bool> thinks = {};
};

struct OpenOptions {
  RunOptions run;
  DraftOptions draft;
  EngineSettings engine;     // kv_bytes 0: what seems right for the memory that is free
  bool one_request = false;  // at a time: then that is no more than the longest one takes
  VisionUse vision = VisionUse::if_possible;
  ModelDefaults defaults = {};
  StepObserver* observer = nullptr;  // outlives the model
  StepTurns* turns = nullptr;        // with others that run on this machine; outlive it, too
  // Hears what was found and decided. May be empty.
  std::function<void(const std::string&)> tell = {};
  // Loading, and then arranging: so much of so much. May be empty.
  std::function<void(int64_t done, int64_t total)> progress = {};
  // What is being done from now on: weights, drafter, warm-up. May be empty.
  std::function<void(const char* what)> stage = {};
  // Asked now and then: true: nobody wants it any more, and opening ends with an error. May be empty.
  std::function<bool()> gives_up = {};
};

// Whether the numbers make sense, before anything is looked for; open() asks too.
Status check_open_options(const OpenOptions& options);

class OpenedModel {
 public:
  static Result<std::unique_ptr<OpenedModel>> open(const OpenOptions& options);

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] const TextModel& text() const { return *text_; }
  // None: it takes no pictures.
  [[nodiscard]] const Vision* vision() const { return vision_.get(); }
  [[nodiscard]] Engine& engine() { return *engine_; }
  [[nodiscard]] const Drafting& drafting() const { return *drafting_; }
  [[nodiscard]] const EngineDescription& description() const { return description_; }
  // What was learnt about rounds, for the next start. Once the engine has stopped.
  void keep_costs() const { drafting_->keep_costs(); }
  // A drafter that waits to be asked: whether it may take its memory (where not, nobody guesses). Held back, it gives
  // it up: while nothing runs.
  void let_draft(bool may) { drafting_->let_lazy(may); }

 private:
  OpenedModel() = default;
  Status load(const OpenOptions& options);
  Status add_drafter(const OpenOptions& options);
  Status add_vision(const OpenOptions& options);
  Status add_engine(const OpenOptions& options);

  std::filesystem::path folder_;
  std::unique_ptr<Machine> machine_;
  std::optional<TextModel> text_;
  std::unique_ptr<Forward> forward_;
  std::unique_ptr<Drafting> drafting_;
  std::unique_ptr<Vision> vision_;
  EngineDescription description_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace paceline
