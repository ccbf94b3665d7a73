#include "cli/sampling_options.h"

#include <fmt/format.h>

namespace paceline {

void add_sampling_options(const Command& command, SamplingOptions& options) {
  constexpr const char* kGroup = "Choosing tokens (defaults are the model's)";
  SampleSettings& sampling = options.settings;
  const auto add = [&](const char* name, auto& value, const char* help) {
    return command.add_option(name, value, help)->group(kGroup);
  };
  add("--temp,--temperature", options.temperature, "Randomness; 0 always takes the likeliest token");
  add("--top-k", options.top_k, "Only among the K likeliest; 0: all");
  add("--top-p", options.top_p, "Only among the likeliest that together have this probability");
  add("--min-p", sampling.min_p, "Only those at least this likely relative to the likeliest");
  add("--repetition-penalty", sampling.repetition_penalty, "Make tokens of prompt and output less likely; 1: off");
  add("--presence-penalty", sampling.presence_penalty, "Subtract from each token that is in the output");
  add("--frequency-penalty", sampling.frequency_penalty, "Subtract for every time a token is in the output");
  add("--logit-bias", options.logit_bias, "Add VALUE to a token's logit; repeatable")
      ->type_name("ID=VALUE")
      ->allow_extra_args(false);
  add("--seed", options.seed, "Same seed, same text; without it, a new one each time (told in the summary)");
}

Result<LogitBias> parse_logit_bias(const std::string& text) {
  const Error wrong{fmt::format("--logit-bias wants ID=VALUE, not {}", text)};
  const size_t border = text.find('=');
  if (border == std::string::npos) return wrong;
  LogitBias bias;
  if (!read_number(text.substr(0, border), bias.id)) return wrong;
  if (!read_number(text.substr(border + 1), bias.bias)) return wrong;
  return bias;
}

Status complete_biases(SamplingOptions& options) {
  for (const std::string& text : options.logit_bias) {
    TRY_ASSIGN(const LogitBias bias, parse_logit_bias(text));
    options.settings.logit_bias.push_back(bias);
  }
  sort_biases(options.settings.logit_bias);
  return Done{};
}

}  // namespace paceline
