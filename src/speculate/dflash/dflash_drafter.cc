#include "speculate/dflash/dflash_drafter.h"

#include <algorithm>

#include "base/check.h"

namespace paceline {
namespace {

// Rows of a sequence that wait at most, and their bytes beyond the first sixteen. So many read the weights once instead
// of each.
constexpr size_t kLeastWaiting = 16, kMostWaiting = 32, kMostWaitingBytes = size_t{512} << 10;

size_t most_waiting(size_t row_bytes) { return std::clamp(kMostWaitingBytes / row_bytes, kLeastWaiting, kMostWaiting); }

}  // namespace

// Of one sequence: what the layers saw of the last of its rows. They lie in its units, as many in each as fit whole.
struct DflashDrafter::Waiting : DrafterState {
  explicit Waiting(size_t bytes) : row_bytes(bytes) {}

  [[nodiscard]] int32_t waiting() const override { return count; }
  [[nodiscard]] int32_t capacity() const {
    return static_cast<int32_t>(std::min(units().size() * rows_per_unit(), most_waiting(row_bytes)));
  }
  // So many of them, from one on, that lie one behind the other.
  struct Run {
    float* rows = nullptr;  // [count, joined_width]
    int32_t count = 0;
  };
  [[nodiscard]] Run run(int32_t first, int32_t most) const {
    const auto at = static_cast<size_t>(first), each = rows_per_unit();
    std::byte* place = units()[at / each] + at % each * row_bytes;
    return {reinterpret_cast<float*>(place), std::min(most, static_cast<int32_t>(each - at % each))};
  }

  const size_t row_bytes;
  const KvCache* kv = nullptr;
  int32_t first_pos = 0, count = 0;

 private:
  [[nodiscard]] size_t rows_per_unit() const { return unit_bytes() / row_bytes; }
};

std::unique_ptr<DrafterState> DflashDrafter::start() { return std::make_unique<Waiting>(row_bytes()); }

// Where not even one row fits into a unit, none waits.
size_t DflashDrafter::state_bytes(int32_t) const {
  const size_t unit = forward_->layout().blocks.unit_bytes, rows_per_unit = unit / row_bytes();
  if (rows_per_unit == 0) return 0;
  return (most_waiting(row_bytes()) + rows_per_unit - 1) / rows_per_unit * unit;
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
    if (one.writes && waiting != nullptr && !ends_page && waiting->count + one.count <= waiting->capacity()) {
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
  if (waiting.count == 0) waiting.first_pos = one.length - one.count;
  waiting.kv = one.kv;
  CHECK(waiting.first_pos + waiting.count == one.length - one.count);
  for (int32_t done = 0; done < one.count;) {
    const Waiting::Run to = waiting.run(waiting.count, one.count - done);
    forward_->join(taps, one.first_row + done, to.count, to.rows);
    waiting.count += to.count;
    done += to.count;
  }
}

void DflashDrafter::take_waiting(DrafterState* state) {
  auto* waiting = static_cast<Waiting*>(state);
  if (waiting == nullptr) return;
  for (int32_t done = 0; done < waiting->count;) {
    const Waiting::Run from = waiting->run(done, waiting->count - done);
    new_rows_.push_back({waiting->kv, waiting->first_pos + done, 0, from.count, from.rows});
    done += from.count;
  }
  waiting->count = 0;
}

}  // namespace paceline
