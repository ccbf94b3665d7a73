// The options of `paceline generate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/draft_options.h"
#include "cli/sampling_options.h"
#include "model/config.h"
#include "model/forward.h"
#include "session/generate.h"
#include "session/opened_model.h"

namespace paceline {

// --device, for every command that runs a model.
void add_device_option(const Command& command, Device& device);

void add_run_options(const Command& command, RunOptions& options);
// For options that name a model: an empty name is a mistake (of a script's, mostly), not a wish for the shipped one.
std::string model_is_named(const std::string& name);
// Threads, device and precision only. The default is what `options` holds.
void add_compute_options(const Command& command, RunOptions& options);

struct GenerateOptions {
  RunOptions run;
  std::optional<std::string> prompt_text, prompt_file;
  // A picture or a clip, in the order they were given.
  struct ShownFile {
    std::string file;
    bool clip = false;
  };
  std::vector<ShownFile> shown;
  std::vector<std::string> images, videos;  // files, as parsed
  int32_t video_frames = 0;                 // at most, of each clip; 0: as the model's files say
  int32_t image_tokens = 0;                 // most soft tokens of each; 0: as the model's files say
  GenerateRequest request;                  // what needs no model to be known
  SamplingOptions sampling;
  DraftOptions draft;
  bool show_draft = false;
  bool chat = false;
  bool json = false;
  bool quiet = false;
  bool verbose = false;
};

void add_generate_options(const Command& command, GenerateOptions& options);

// After parsing: which of the files came first.
void order_shown_files(const Command& command, GenerateOptions& options);

// Fills in request.sampling from the options and the model's defaults. An error is the caller's.
Status complete_sampling(GenerateOptions& options, const ModelConfig& config);

// -p, -f or stdin.
Result<std::string> read_prompt(const GenerateOptions& options);

}  // namespace paceline
