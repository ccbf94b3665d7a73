// The schedule's accounts against a count of every unit, over thousands of steps of what sequences do with their
// memory: no forward, so that there can be many, in budgets that are full to the last byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/schedule.h"
#include "model/gemma4/state_of.h"
#include "model/gemma4/tiny_config.h"
#include "state/states_for_tests.h"

namespace paceline {
namespace {

class Silent : public Listener {
 public:
  Heard hear(const Event& event) override { return {event.tokens.size(), false}; }
};

// Keeps something of every position.
class Remembering : public SingleDrafter {
 public:
  [[nodiscard]] size_t state_bytes(int32_t positions) const override { return static_cast<size_t>(positions) * 500; }
  std::unique_ptr<DrafterState> start() override { return std::make_unique<DrafterState>(); }
  int32_t draft(const DraftContext&, DrafterState*, std::span<TokenId>) override { return 0; }
};

// All that it keeps lies in pages.
class Guessing : public SingleDrafter {
 public:
  int32_t draft(const DraftContext&, DrafterState*, std::span<TokenId>) override { return 0; }
};

struct AccountingCase {
  const char* name;
  int32_t window;
  bool pictures;           // that must not be cut: long rings
  int32_t budget;          // in sequences of the longest kind; 0: what one request needs, to the byte
  bool equal;              // everybody writes the same
  bool remembers = false;  // the drafter has memory of its own
  bool layered = false;    // it has layers beside the model's, and long requests fit without those alone
};

class AccountingTest : public testing::TestWithParam<AccountingCase> {
 protected:
  static constexpr int32_t kContext = 1500;

  AccountingTest() : config_(made_config()), layout_(made_state(config_), DType::bf16) {
    settings_.chunk_rows = 100;
    settings_.chunk_rows_beside = 64;
    settings_.most_running = 9;
    const auto sequences = static_cast<size_t>(std::max(GetParam().budget, 1));
    settings_.kv_bytes = sequences * sequence_bytes(kContext, GetParam().pictures ? kMaxImageRows : kMaxForwardRows,
                                                    !GetParam().layered);
  }

  static constexpr int32_t kDraftWindow = 200;
  static ModelState made_state(const Gemma4Config& config) {
    return GetParam().layered ? with_draft_layers(state_of(config), kDraftWindow) : state_of(config);
  }

  static Gemma4Config made_config() {
    Gemma4Config config = tiny_config("dense", GetParam().window);
    config.images_see_both_ways = GetParam().pictures;
    return config;
  }

  int32_t pick(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(random_); }

  // Counted once more, from what a sequence is: a page of global layers for every 64 positions; of sliding ones as many
  // as the window, one forward and a page that begins before them take. And of a drafter's layers likewise.
  [[nodiscard]] size_t sequence_bytes(int32_t positions, int32_t rows, bool drafts = true) const {
    const int32_t pages = (positions + 63) / 64;
    const auto ring = [&](int32_t window) {
      int32_t slots = 1;
      while ((slots - 1) * 64 < window + rows) ++slots;
      return static_cast<size_t>(std::min(pages, slots));
    };
    const size_t unit = layout_.blocks.unit_bytes;
    const size_t drafter_bytes = GetParam().remembers && drafts ? drafter_.state_bytes(positions) : 0;
    size_t bytes = static_cast<size_t>(pages) * layout_.block_bytes[StateKind::paged] +
                   ring(GetParam().window) * layout_.block_bytes[StateKind::window];
    if (GetParam().layered && drafts)
      bytes += static_cast<size_t>(pages) * layout_.block_bytes[StateKind::draft_paged] +
               ring(kDraftWindow) * layout_.block_bytes[StateKind::draft_window];
    return bytes + (drafter_bytes + unit - 1) / unit * unit;
  }
  [[nodiscard]] const Drafter* drafter() const {
    if (GetParam().remembers) return &drafter_;
    return GetParam().layered ? &guessing_ : nullptr;
  }
  [[nodiscard]] size_t bytes_of(const Request& request) const {
    const int64_t wanted = static_cast<int64_t>(request.prompt.size()) + request.max_tokens;
    int32_t rows = kMaxForwardRows;
    for (const RequestPicture& picture : request.pictures) rows = std::max(rows, picture.count);
    const auto positions = static_cast<int32_t>(std::min<int64_t>(wanted, request.context));
    const size_t all = sequence_bytes(positions, rows);
    const bool fits = all * static_cast<size_t>(request.choices) <= settings_.kv_bytes;
    return fits ? all : sequence_bytes(positions, rows, false);
  }

  // One of a few texts, so that beginnings are often known.
  Request make() {
    Request request;
    request.context = kContext;
    const int32_t text = pick(0, 2), length = pick(0, 3) == 0 ? pick(1, 100) : pick(1, 700);
    for (int32_t i = 0; i < length; ++i) request.prompt.push_back((i * 7 + text) % 50);
    if (pick(0, 5) == 0) request.prompt.back() = 60 + pick(0, 3);
    if (GetParam().pictures && pick(0, 1) == 0) add_picture(request);
    request.max_tokens = pick(0, 3) == 0 ? pick(1, 500) : pick(1, 40);
    request.choices = pick(0, 3) == 0 ? pick(2, 3) : 1;
    request.reads_prefixes = pick(0, 9) > 0;
    request.scope = {static_cast<uint64_t>(pick(0, 9) == 0 ? 1 : 0), 0};
    if (GetParam().budget == 0 && pick(0, 1) == 0) {
      request.choices = 1;
      request.max_tokens = kContext;
    }
    return request;
  }

  void add_picture(Request& request) {
    const int32_t count = pick(0, 1) == 0 ? 700 : 90;
    const auto at = std::min<int32_t>(30, static_cast<int32_t>(request.prompt.size()));
    request.prompt.insert(request.prompt.begin() + at, static_cast<size_t>(count), 70);
    request.prompt.push_back(71);
    request.pictures.push_back({at, count, nullptr, {static_cast<uint64_t>(count), 1}});
  }

  void enqueue(Schedule& schedule) {
    if (schedule.waiting_count() > 6) return;
    const Request request = make();
    for (int32_t copies = pick(0, 3) == 0 ? pick(2, 5) : 1; copies > 0; --copies) {
      std::shared_ptr<Accepted> accepted = Schedule::accept(request, layout_, config_, settings_.kv_bytes, drafter());
      if (accepted->bytes() > settings_.kv_bytes) return;
      went_without_ += accepted->drafts ? 0 : 1;
      accepted->listener = std::make_shared<Silent>();
      schedule.enqueue(std::move(accepted));
    }
  }

  static void see_pictures(Sequence& seq) {
    while (const auto unseen = seq.unseen_picture()) seq.show(*unseen, std::make_shared<const std::vector<float>>());
  }

  void start(Sequence& seq) {
    see_pictures(seq);
    if (seq.accepted->drafts) seq.drafter_state = drafter_.start();
  }

  // What a step does with memory: rows and drafts are held, run, and the drafts that did not stand taken back.
  void step(Schedule& schedule) {
    if (pick(0, 60) == 0) schedule.make_give_way(pick(0, 3));
    schedule.admit([this](Sequence& seq) { start(seq); });
    StepPlan plan;
    schedule.plan(plan);
    const Sequence* oldest = schedule.running().empty() ? nullptr : schedule.running().front().get();
    std::vector<Sequence*> choosing, forks, lost;
    schedule.hold(plan, lost);
    ASSERT_TRUE(lost.empty()) << "no unit was left";
    ASSERT_TRUE(oldest == nullptr || !oldest->waits) << "the oldest gave way";
    for (const StepPart& part : plan.parts) {
      Sequence& seq = *part.seq;
      const int32_t most = std::min({seq.most_drafts(), seq.draft_room, 6});
      const int32_t drafts = seq.reads() ? 0 : pick(0, most);
      seq.drafts.assign(static_cast<size_t>(drafts), 0);
      if (seq.drafter_state != nullptr) {
        ASSERT_EQ(seq.drafter_state->units().size(), seq.drafter_units.numbers().size());
      }
      // Without a drafter nobody has held anything for drafts.
      if (drafter() == nullptr && !seq.kv.reserve(part.rows + drafts)) seq.drafts.clear();
      const auto rows = part.rows + static_cast<int32_t>(seq.drafts.size());
      ASSERT_LE(rows, seq.kv.room());
      seq.kv.commit(rows);
      prompt_rows_ += seq.reads() ? part.rows : 0;
      if (!part.chooses) continue;
      choosing.push_back(&seq);
      if (!seq.chose && !seq.forked && seq.request().choices > 1)
        schedule.fork_choices(seq, forks, [this](Sequence& fork) { start(fork); });
    }
    choosing.insert(choosing.end(), forks.begin(), forks.end());
    for (Sequence* seq : choosing) choose(*seq);
    for (const StepPart& part : plan.parts) {
      (void)part.seq->note_progress();
      schedule.leave_pages(*part.seq);
    }
    end_some(schedule);
  }

  void choose(Sequence& seq) {
    const auto accepted = pick(0, static_cast<int32_t>(seq.drafts.size()));
    for (int32_t i = 0; i <= accepted; ++i)
      seq.standing.push_back(GetParam().equal ? 9 : static_cast<TokenId>(seq.standing.size() % 3 + pick(0, 1)));
    seq.drafts.clear();
    seq.chose = true;
    seq.kv.truncate(static_cast<int32_t>(seq.standing.size()) - 1);
  }

  void end_some(Schedule& schedule) {
    std::vector<Sequence*> ended;
    for (const auto& seq : schedule.running()) {
      const bool is_full = static_cast<int32_t>(seq->generated().size()) >= seq->request().max_tokens ||
                           static_cast<int32_t>(seq->standing.size()) >= seq->request().context;
      if (is_full || pick(0, 150) == 0) ended.push_back(seq.get());
    }
    for (const auto& seq : schedule.gave_way())
      if (pick(0, 300) == 0) ended.push_back(seq.get());
    for (Sequence* seq : ended) {
      schedule.leave_end(*seq);
      schedule.remove(*seq);
    }
  }

  void check(const Schedule& schedule) const {
    std::map<const KvBlock*, int32_t> owners;
    std::set<int32_t> numbers;
    size_t units = 0;
    const auto count = [&](std::span<const int32_t> some) {
      units += some.size();
      numbers.insert(some.begin(), some.end());
    };
    for (const auto& seq : schedule.running()) {
      size_t own = seq->drafter_units.numbers().size();
      seq->kv.visit_blocks([&](StateKind, const KvBlockRef& ref) {
        if (owners[ref.block()]++ == 0) count(ref.units());
        own += ref.units().size();
      });
      count(seq->drafter_units.numbers());
      ASSERT_EQ(static_cast<int64_t>(own), seq->kv.units() + seq->drafter_units.count());
      ASSERT_LE(own * layout_.blocks.unit_bytes, bytes_of(seq->request()));
      if (seq->accepted->drafts) continue;
      ASSERT_EQ(seq->drafter_units.count(), 0);
      seq->kv.visit_blocks([&](StateKind kind, const KvBlockRef&) { ASSERT_FALSE(is_drafters(kind)); });
    }
    for (const auto& seq : schedule.gave_way()) {
      ASSERT_EQ(seq->kv.units(), 0);
      ASSERT_EQ(seq->drafter_units.count(), 0);
      ASSERT_TRUE(schedule.running().empty() || seq->waits);
    }
    const size_t held = units;
    schedule.memory().prefixes().visit_blocks([&](StateKind, const KvBlockRef& ref) {
      if (owners[ref.block()]++ == 0) count(ref.units());
    });
    for (const auto& [block, number] : owners) ASSERT_EQ(block->owners, number);
    // Each is somebody's once.
    ASSERT_EQ(numbers.size(), units);
    const size_t unit = layout_.blocks.unit_bytes;
    ASSERT_EQ(schedule.memory().used_bytes(), units * unit);
    ASSERT_EQ(schedule.memory().running_bytes(), held * unit);
    ASSERT_EQ(schedule.memory().kept_bytes(), (units - held) * unit);
    ASSERT_LE(units * unit, settings_.kv_bytes);
    ASSERT_TRUE(std::is_sorted(schedule.running().begin(), schedule.running().end(),
                               [](const auto& a, const auto& b) { return a->order < b->order; }));
  }

  Gemma4Config config_;
  KvLayout layout_;
  Remembering drafter_;
  Guessing guessing_;
  EngineSettings settings_;
  std::mt19937 random_{7};
  int64_t prompt_rows_ = 0, went_without_ = 0;
};

TEST_P(AccountingTest, EveryBlockIsAccountedFor) {
  Schedule schedule(layout_, config_, settings_, drafter());
  for (int i = 0; i < 4000; ++i) {
    SCOPED_TRACE(testing::Message() << "step " << i);
    if (pick(0, 3) == 0) enqueue(schedule);
    ASSERT_NO_FATAL_FAILURE(step(schedule));
    ASSERT_NO_FATAL_FAILURE(check(schedule));
  }
  // Nobody waits for ever.
  for (int i = 0; i < 20000 && (!schedule.running().empty() || schedule.waiting_count() > 0); ++i)
    ASSERT_NO_FATAL_FAILURE(step(schedule));
  ASSERT_NO_FATAL_FAILURE(check(schedule));
  EXPECT_STREQ(schedule.integrity_problem(), "");
  EXPECT_GT(prompt_rows_, 2000);
  EXPECT_GT(schedule.prefix_hits(), 1000);
  EXPECT_GT(schedule.times_given_way(), 20);
  EXPECT_EQ(went_without_ > 20, GetParam().layered) << went_without_;
}

// How much of what a request may write must have room before it begins is the operator's to say.
TEST(Accounting, WhatIsReservedForARequestIsNoMoreThanItAsksFor) {
  const Gemma4Config config = tiny_config("dense", 24);
  const KvLayout layout(state_of(config), DType::bf16);
  EngineSettings settings;
  settings.kv_bytes = layout.sequence_bytes(900, kMaxForwardRows);
  const auto begun = [&](int32_t reserve_tokens, int32_t max_tokens) {
    settings.reserve_tokens = reserve_tokens;
    Schedule schedule(layout, config, settings);
    for (TokenId first = 0; first < 2; ++first) {
      Request request;
      request.prompt.assign(100, first);
      request.max_tokens = max_tokens;
      request.context = 1000;
      std::shared_ptr<Accepted> accepted = Schedule::accept(std::move(request), layout, config, settings.kv_bytes);
      accepted->listener = std::make_shared<Silent>();
      schedule.enqueue(std::move(accepted));
    }
    schedule.admit([](Sequence&) {});
    return schedule.running().size();
  };
  EXPECT_EQ(begun(EngineSettings().reserve_tokens, 700), 2u);
  EXPECT_EQ(begun(0, 700), 2u);
  EXPECT_EQ(begun(700, 700), 1u);
  EXPECT_EQ(begun(1 << 30, 20), 2u);
}

INSTANTIATE_TEST_SUITE_P(
    Budgets, AccountingTest,
    testing::Values(AccountingCase{"one", 24, false, 0, false}, AccountingCase{"one_equal", 24, false, 0, true},
                    AccountingCase{"two", 100, false, 2, false}, AccountingCase{"three_equal", 24, false, 3, true},
                    AccountingCase{"wide_window", 512, false, 3, false}, AccountingCase{"pictures", 24, true, 2, false},
                    AccountingCase{"pictures_equal", 300, true, 4, true}, AccountingCase{"many", 24, false, 12, true},
                    AccountingCase{"one_remembers", 24, false, 0, false, true},
                    AccountingCase{"three_remember", 100, true, 3, true, true},
                    AccountingCase{"one_layered", 24, false, 0, false, false, true},
                    AccountingCase{"two_layered", 100, true, 2, false, true, true}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace paceline
