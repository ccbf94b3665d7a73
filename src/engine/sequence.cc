#include "engine/sequence.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {

Sequence::Sequence(std::shared_ptr<const Accepted> accepted_in, KvCache cache)
    : accepted(std::move(accepted_in)), kv(std::move(cache)), standing(request().prompt), sampling(request().sampling) {
  standing.reserve(static_cast<size_t>(accepted->positions) + 1);
  if (sampling.penalised()) counts.add_prompt(request().prompt);
  for (const RequestPicture& picture : request().pictures) soft.push_back({picture.first_pos, picture.count, nullptr});
  features.resize(soft.size());
  begin_reading();
}

void Sequence::begin_reading() {
  text_read = accepted->text;
  text_read.prompt = standing;
}

void Sequence::give_way() {
  walk.end();
  kv.release();
  drafter_state.reset();
  drafter_units.give_back();
  drafts.clear();
  waits = true;
}

bool Sequence::note_progress() {
  const int32_t done = std::min(kv.length(), prompt_size());
  if (done <= prompt_done) return false;
  prompt_done = done;
  return true;
}

std::optional<size_t> Sequence::unseen_picture() const {
  for (size_t i = 0; i < soft.size(); ++i) {
    if (features[i] == nullptr && soft[i].end_pos() > kv.length()) return i;
  }
  return std::nullopt;
}

void Sequence::show(size_t picture, std::shared_ptr<const std::vector<float>> rows) {
  soft[picture].embeddings = rows->data();
  features[picture] = std::move(rows);
}

std::unique_ptr<Sequence> Sequence::fork(int32_t other_choice) const {
  std::optional<KvCache> cache = kv.fork();
  const bool has_memory = cache.has_value();
  auto other = std::make_unique<Sequence>(accepted, has_memory ? std::move(*cache) : kv.empty_one());
  other->waits = !has_memory;
  other->choice = other_choice;
  other->order = {order.request, other_choice};
  other->forked = true;
  other->standing = standing;
  other->begin_reading();
  other->soft = soft;
  other->features = features;
  other->sampling.seed += static_cast<uint64_t>(other_choice);
  other->prompt_done = prompt_size();
  other->cached = cached;
  other->admitted = admitted;
  return other;
}

int32_t Sequence::most_drafts() const {
  const int64_t left = request().max_tokens - static_cast<int64_t>(generated().size());
  const int64_t room = request().context - static_cast<int64_t>(standing.size());
  const int64_t most = std::min<int64_t>({left - 1, room - 1, request().max_depth, kMaxDraftTokens});
  return static_cast<int32_t>(std::max<int64_t>(most, 0));
}

int32_t Sequence::next_rows(int32_t most, bool whole_pictures) const {
  const int32_t begin = kv.length();
  int32_t end = begin + std::min(most, rows_left());
  if (const auto unseen = unseen_picture()) end = std::min(end, std::max(begin, soft[*unseen].first_pos));
  if (!whole_pictures) return end - begin;
  for (const SoftTokens& picture : soft) {
    if (picture.first_pos >= end || end >= picture.end_pos()) continue;
    return (picture.first_pos > begin ? picture.first_pos : picture.end_pos()) - begin;
  }
  return end - begin;
}

}  // namespace paceline
