#include "engine/features.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

// Patches that share one run through the tower: enough to keep the machine busy, and a bound on memory and time. One
// picture of the largest budget has as many.
constexpr int32_t kMostPatches = 1120 * 9;

size_t bytes_of(const std::vector<float>& rows) { return rows.size() * sizeof(float); }

}  // namespace

bool Features::look(const std::vector<std::unique_ptr<Sequence>>& running) {
  for (const auto& seq : running) {
    if (!seq->unseen_picture()) continue;
    recall(*seq);
    if (!seq->unseen_picture()) continue;
    run(*seq);
    return true;
  }
  return false;
}

// Those that are known already, from earlier requests or from others that run.
void Features::recall(Sequence& seq) {
  const std::vector<RequestPicture>& pictures = seq.request().pictures;
  for (size_t i = 0; i < pictures.size(); ++i) {
    if (seq.features[i] != nullptr || seq.soft[i].end_pos() <= seq.kv.length()) continue;
    if (Rows rows = find(pictures[i].content)) {
      seq.show(i, std::move(rows));
      ++known_;
    }
  }
}

void Features::run(Sequence& seq) {
  CHECK(vision_ != nullptr);
  const std::vector<RequestPicture>& pictures = seq.request().pictures;
  std::vector<const Patches*> patches;
  std::vector<size_t> which;
  int32_t count = 0;
  for (size_t i = *seq.unseen_picture(); i < pictures.size(); ++i) {
    if (seq.features[i] != nullptr) continue;
    if (!which.empty() && count + pictures[i].patches->count() > kMostPatches) break;
    const auto same = std::find_if(which.begin(), which.end(),
                                   [&](size_t other) { return pictures[other].content == pictures[i].content; });
    if (same != which.end()) continue;  // the next look knows it
    count += pictures[i].patches->count();
    patches.push_back(pictures[i].patches.get());
    which.push_back(i);
  }
  std::vector<std::vector<float>> features = vision_->run(patches);
  for (size_t i = 0; i < which.size(); ++i) {
    auto rows = std::make_shared<const std::vector<float>>(std::move(features[i]));
    keep(pictures[which[i]].content, rows);
    seq.show(which[i], std::move(rows));
    ++seen_;
  }
}

Features::Rows Features::find(const Fingerprint& content) {
  const auto found = by_content_.find(content);
  if (found == by_content_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found->second);
  return found->second->rows;
}

void Features::keep(const Fingerprint& content, Rows rows) {
  if (bytes_of(*rows) > most_bytes_ || by_content_.contains(content)) return;
  bytes_ += bytes_of(*rows);
  kept_.push_front({content, std::move(rows)});
  by_content_[content] = kept_.begin();
  while (bytes_ > most_bytes_) {
    bytes_ -= bytes_of(*kept_.back().rows);
    by_content_.erase(kept_.back().content);
    kept_.pop_back();
  }
}

}  // namespace paceline
