#include "engine/host_round.h"

#include "engine/verify.h"

namespace paceline {

Result<RoundTimes> HostRound::run(const RoundInput& input) {
  TRY(forward_.settle());
  const auto begin = EngineClock::now();
  const ModelConfig& config = forward_.config();
  const size_t row_bytes = static_cast<size_t>(config.hidden) * sizeof(float);
  pool_.run(static_cast<int64_t>(input.choosing.size()), 1, [&](int64_t from, int64_t to, int worker) {
    for (int64_t i = from; i < to; ++i) {
      const Choosing& one = input.choosing[static_cast<size_t>(i)];
      const float* logits = input.rows.logits + static_cast<int64_t>(one.first_logits) * config.vocab;
      const int32_t stand = verify(*one.seq, {logits, nullptr, config.vocab}, scratch_[static_cast<size_t>(worker)]);
      const int64_t last = one.first_row + stand - 1;
      forward_.ops().copy(one.seq->hidden.data(), input.rows.hidden + last * config.hidden, row_bytes);
    }
  });
  return RoundTimes{.choose_ms = ms_between(begin, EngineClock::now())};
}

}  // namespace paceline
