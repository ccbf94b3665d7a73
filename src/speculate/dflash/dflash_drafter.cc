#include "speculate/dflash/dflash_drafter.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/row_buffer.h"

namespace paceline {
namespace {

// Rows of a sequence that wait at most, and their bytes beyond the first sixteen. So many read the weights once instead
// of each.
constexpr int64_t kLeastWaiting = 16, kMostWaiting = 32, kMostWaitingBytes = int64_t{512} << 10;

}  // namespace

// Of one sequence: what the layers saw of the last of its rows.
struct DflashDrafter::Waiting : DrafterState {
  explicit Waiting(std::shared_ptr<Spare> from) : spare(std::move(from)) {
    const std::scoped_lock lock(spare->mutex);
    if (spare->rows.empty()) return;
    rows = std::move(spare->rows.back());
    spare->rows.pop_back();
  }
  ~Waiting() override {
    const std::scoped_lock lock(spare->mutex);
    spare->rows.push_back(std::move(rows));
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  const KvCache* kv = nullptr;
  int32_t first_pos = 0, count = 0;
  kernels::RowBuffer rows;  // [most_waiting(), joined_width]
  std::shared_ptr<Spare> spare;

  [[nodiscard]] int32_t waiting() const override { return count; }
};

std::unique_ptr<DrafterState> DflashDrafter::start() { return std::make_unique<Waiting>(spare_); }

void DflashDrafter::drop_spare() {
  const std::scoped_lock lock(spare_->mutex);
  spare_->rows.clear();
}

int32_t DflashDrafter::most_waiting() const {
  const int64_t row_bytes = forward_->joined_width() * static_cast<int64_t>(sizeof(float));
  return static_cast<int32_t>(std::clamp(kMostWaitingBytes / row_bytes, kLeastWaiting, kMostWaiting));
}

int32_t DflashDrafter::rows_for(const DraftAsk& ask) const { return std::min(block_rows(), ask.context.kv->room()); }

void DflashDrafter::gather(std::span<DraftAsk> asks) {
  proposals_.clear();
  new_rows_.clear();
  for (const DraftAsk& ask : asks) take_waiting(ask.state);
  forward_->remember(new_rows_, {});
  for (DraftAsk& ask : asks) {
    const DraftContext& at = ask.context;
    CHECK(at.kv->length() == static_cast<int32_t>(at.tokens.size()) - 1);
    const int32_t rows = rows_for(ask);
    ask.drafted = std::clamp(static_cast<int32_t>(ask.out.size()), 0, std::max(0, rows - 1));
    if (ask.drafted == 0) continue;
    proposals_.push_back({at.kv, at.tokens.back(), rows, ask.drafted, ask.out.data(), at.sampling, at.output_index});
  }
}

void DflashDrafter::propose(std::span<DraftAsk> asks) {
  gather(asks);
  forward_->propose(proposals_);
}

const TokenId* DflashDrafter::enqueue(std::span<DraftAsk> asks) {
  const auto has_room = [&](const DraftAsk& ask) {
    return !ask.out.empty() && static_cast<int32_t>(ask.out.size()) < rows_for(ask);
  };
  if (forward_->ops().choosing() == nullptr || !std::all_of(asks.begin(), asks.end(), has_room)) return nullptr;
  gather(asks);
  int32_t first = 0;
  for (DraftAsk& ask : asks) {
    ask.first = first;
    ask.stride = 1;
    first += ask.drafted;
  }
  return forward_->enqueue(proposals_);
}

// Rows of a prompt are remembered at once: others may part from it, or take over what it has read. So are those that
// end a page, which others may take over whole.
void DflashDrafter::committed(std::span<const CommittedRows> rows, const Taps& taps) {
  new_rows_.clear();
  for (const CommittedRows& one : rows) {
    if (one.count == 0) continue;
    const auto* waiting = static_cast<const Waiting*>(one.state);
    const int32_t first = one.length - one.count;
    const bool ends_page = first / kPageTokens != one.length / kPageTokens;
    if (one.writes && waiting != nullptr && !ends_page && waiting->count + one.count <= most_waiting()) {
      wait(one, taps);
      continue;
    }
    take_waiting(one.state);
    new_rows_.push_back({one.kv, first, one.first_row, one.count});
  }
  forward_->remember(new_rows_, taps);
}

void DflashDrafter::wait(const CommittedRows& one, const Taps& taps) {
  auto& waiting = *static_cast<Waiting*>(one.state);
  const int64_t width = forward_->joined_width();
  if (waiting.count == 0) waiting.first_pos = one.length - one.count;
  waiting.kv = one.kv;
  CHECK(waiting.first_pos + waiting.count == one.length - one.count);
  float* to = waiting.rows.sized(forward_->ops(), most_waiting() * width) + waiting.count * width;
  forward_->join(taps, one.first_row, one.count, to);
  waiting.count += one.count;
}

void DflashDrafter::take_waiting(DrafterState* state) {
  auto* waiting = static_cast<Waiting*>(state);
  if (waiting == nullptr || waiting->count == 0) return;
  new_rows_.push_back({waiting->kv, waiting->first_pos, 0, waiting->count, waiting->rows.data()});
  waiting->count = 0;
}

}  // namespace paceline
