// A named shape filled with random weights, in place of a checkpoint: what costs time is there, and nothing is to be
// downloaded. For measurements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "model/gemma4/mtp_weights.h"
#include "model/model_weights.h"
#include "model/synthetic_maker.h"
#include "session/text_model.h"

namespace paceline {

struct RandomModel {
  std::string shape;  // empty: none
  std::string format = "q8";
  int32_t group = 64;
};

// What random weights may be in, as --format calls it. q4_k_m: like the files of that name, but with all of v and down
// in six bits and not half of them.
struct SyntheticFormatName {
  const char* name;
  WeightFormat format;
  WeightFormat wide = WeightFormat::none;
};
inline constexpr SyntheticFormatName kSyntheticFormats[] = {
    {"bf16", WeightFormat::bf16},
    {"q8", WeightFormat::q8},
    {"q4", WeightFormat::q4},
    {"q8_0", WeightFormat::q8_0},
    {"q4_0", WeightFormat::q4_0},
    {"q4_1", WeightFormat::q4_1},
    {"q5_0", WeightFormat::q5_0},
    {"q5_1", WeightFormat::q5_1},
    {"iq4_nl", WeightFormat::iq4_nl},
    {"mxfp4", WeightFormat::mxfp4},
    {"q2_k", WeightFormat::q2_k},
    {"q3_k", WeightFormat::q3_k},
    {"q4_k", WeightFormat::q4_k},
    {"q5_k", WeightFormat::q5_k},
    {"q6_k", WeightFormat::q6_k},
    {"iq4_xs", WeightFormat::iq4_xs},
    {"nvfp4", WeightFormat::nvfp4_split},
    {"fp8", WeightFormat::f8},
    {"nf4", WeightFormat::nf4},
    {"q4_k_m", WeightFormat::q4_k, WeightFormat::q6_k},
};
SyntheticFormat synthetic_format(const RandomModel& random);

// Shapes that there are, of all families; and as one text, for messages.
std::vector<std::string_view> synthetic_shapes();
std::string synthetic_shapes_text();

// `tell` hears what is about to be made; may be empty.
Result<std::shared_ptr<const ModelWeights>> make_random_weights(const RandomModel& random, ThreadPool& pool,
                                                                const std::function<void(const std::string&)>& tell);
// Of the drafter that the shape's model has. It costs what that one costs, and its drafts are noise.
Result<std::shared_ptr<const MtpWeights>> make_random_mtp_weights(const RandomModel& random, ThreadPool& pool);

// With the tokenizer and the chat template of the model that ships with the program: ids of a prompt are its ids, and
// no others are sampled, nor those that would end a text or open a part of it.
Result<TextModel> make_random_text_model(const RandomModel& random, ThreadPool& pool,
                                         const std::function<void(const std::string&)>& tell);

}  // namespace paceline
