#include "server/settings.h"

namespace paceline {

void RequestDefaults::fill(Wishes& wishes) const {
  if (!wishes.temperature) wishes.temperature = temperature;
  if (!wishes.top_p) wishes.top_p = top_p;
  if (!wishes.top_k) wishes.top_k = top_k;
  // Whoever wants fewer drafts, or none, has said so.
  if (!wishes.depth && wishes.max_depth == kMaxDraftTokens) wishes.depth = depth;
}

}  // namespace paceline
