// How long a stream of text stands still while pictures are looked at beside it.
#pragma once

#include "bench/load_run.h"

namespace paceline {

// Of each round, the longest gap between two pieces of a stream, one such following the other: alone, beside so many
// new prompts of words, and beside as many new pictures that take about as many tokens each.
struct PictureRun {
  int32_t pictures = 0;
  int64_t picture_tokens = 0, word_tokens = 0;  // of a prompt
  std::vector<double> alone_ms, words_ms, pictures_ms;
  std::vector<double> whole_ms;  // until the last picture was answered
  std::string problem;
};
PictureRun run_pictures(const LoadPlanOfClients& plan, int32_t pictures, int32_t budget, int32_t rounds);

}  // namespace paceline
