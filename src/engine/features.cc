#include "engine/features.h"

#include <algorithm>
#include <chrono>

#include "base/check.h"

namespace paceline {
namespace {

// Patches that share one passage: enough to keep the machine busy, and a bound on memory. A picture with more goes
// alone.
constexpr int32_t kMostPatches = 280 * 9;
// Of a step, at least; then the sequences that do not wait for pictures have their turn. About what a chunk of a prompt
// takes. Where steps take longer it is as long as they do: else many slow steps would lie between the pieces.
constexpr double kLeastTime_ms = 10;

size_t bytes_of(const std::vector<float>& rows) { return rows.size() * sizeof(float); }

}  // namespace

bool Features::look(const Running& running, double writing_ms) {
  if (passing_ && !is_wanted(running)) passing_.reset();
  for (auto seq = running.begin(); !passing_ && seq != running.end(); ++seq) {
    if (!(*seq)->unseen_picture()) continue;
    recall(**seq);
    if ((*seq)->unseen_picture()) begin(**seq);
  }
  if (!passing_) return false;
  go_on(running, std::max(writing_ms, kLeastTime_ms));
  return true;
}

// Whoever asked for it may have gone.
bool Features::is_wanted(const Running& running) const {
  return std::any_of(running.begin(), running.end(), [&](const auto& seq) {
    const auto unseen = seq->unseen_picture();
    if (!unseen) return false;
    const Fingerprint& content = seq->request().pictures[*unseen].content;
    return std::any_of(passing_->pictures.begin(), passing_->pictures.end(),
                       [&](const RequestPicture& picture) { return picture.content == content; });
  });
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

void Features::begin(const Sequence& seq) {
  CHECK(vision_ != nullptr);
  const std::vector<RequestPicture>& pictures = seq.request().pictures;
  Passing& passing = passing_.emplace();
  std::vector<const Patches*> patches;
  int32_t count = 0;
  for (size_t i = *seq.unseen_picture(); i < pictures.size(); ++i) {
    if (seq.features[i] != nullptr) continue;
    if (!patches.empty() && count + pictures[i].patches->count() > kMostPatches) break;
    const auto same = std::find_if(passing.pictures.begin(), passing.pictures.end(),
                                   [&](const RequestPicture& other) { return other.content == pictures[i].content; });
    if (same != passing.pictures.end()) continue;
    count += pictures[i].patches->count();
    patches.push_back(pictures[i].patches.get());
    passing.pictures.push_back(pictures[i]);
  }
  passing.passage = vision_->begin(std::move(patches));
}

void Features::go_on(const Running& running, double most_ms) {
  const auto begin = std::chrono::steady_clock::now();
  while (passing_->passage->go_on()) {
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - begin;
    if (taken.count() >= most_ms) return;
  }
  std::vector<std::vector<float>> features = passing_->passage->finish();
  for (size_t i = 0; i < features.size(); ++i) {
    const auto rows = std::make_shared<const std::vector<float>>(std::move(features[i]));
    keep(passing_->pictures[i].content, rows);
    show(passing_->pictures[i], rows, running);
    ++seen_;
  }
  passing_.reset();
}

// To all who wait for it: it may be too large to be kept.
void Features::show(const RequestPicture& picture, const Rows& rows, const Running& running) {
  int64_t shown = 0;
  for (const auto& seq : running) {
    const std::vector<RequestPicture>& pictures = seq->request().pictures;
    for (size_t i = 0; i < pictures.size(); ++i) {
      if (seq->features[i] != nullptr || seq->soft[i].end_pos() <= seq->kv.length()) continue;
      if (!(pictures[i].content == picture.content)) continue;
      seq->show(i, rows);
      ++shown;
    }
  }
  known_ += std::max<int64_t>(shown - 1, 0);
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
