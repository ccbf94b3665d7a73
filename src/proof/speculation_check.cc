#include "proof/speculation_check.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "model/gemma4/backend_limits.h"
#include "model/load.h"
#include "model/quantize.h"
#include "proof/golden_file.h"
#include "proof/goldens.h"
#include "session/found_drafter.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

// A folder in the system's temporary one, gone with the object.
class TemporaryFolder {
 public:
  static Result<TemporaryFolder> make() {
    std::error_code error;
    std::string path = (fs::temp_directory_path(error) / "paceline-XXXXXX").string();
    if (error || ::mkdtemp(path.data()) == nullptr) return Error{fmt::format("{}: cannot be made", path)};
    return TemporaryFolder(path);
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

IdentityPlan plan_of(const GoldenFile& golden, const Forward& forward, bool whole) {
  IdentityPlan plan;
  // A prompt and what followed it: text that the model knows.
  plan.text = golden.prompts().front().ids;
  plan.text.insert(plan.text.end(), golden.prompts().front().greedy.begin(), golden.prompts().front().greedy.end());
  // From one token to four windows, and beyond the ring of pages that sliding layers keep.
  const int32_t longest = forward.config().context - 256;
  for (const int32_t tokens : {1, 21, 4 * forward.kv_layout().window, std::max(4 * forward.kv_layout().window, 320)}) {
    const int32_t kept = std::clamp(tokens, 1, longest);
    if (std::find(plan.prompt_tokens.begin(), plan.prompt_tokens.end(), kept) == plan.prompt_tokens.end()) {
      plan.prompt_tokens.push_back(kept);
    }
  }
  plan.seeds = {1, 2, 3};
  for (int32_t depth = 0; depth <= 15; ++depth) plan.depths.push_back(depth);
  plan.max_tokens = 40;
  plan.stride = whole ? 1 : 211;
  return plan;
}

// What the forms of a case share.
struct Case {
  fs::path folder;
  GoldenFile golden;
  const SpeculationCheckSettings& settings;
  ThreadPool& pool;
  kernels::Ops& ops;
};

Result<IdentityResult> check_form(const Case& of, const fs::path& target, Precision precision) {
  TRY_ASSIGN(const LoadedModel model, load_model(target, of.pool));
  TRY(model.weights->check(of.ops.limits()));
  const std::unique_ptr<Forward> made = model.weights->make_forward(of.ops, precision);
  Forward& forward = *made;
  std::unique_ptr<Drafter> mtp, dflash;
  if (fs::exists(of.folder / "assistant")) {
    TRY_ASSIGN(const FoundDrafter drafter, FoundDrafter::load(of.folder / "assistant", forward, of.pool, of.ops));
    mtp = drafter.drafter();
  }
  for (const char* name : {"dflash", "dflash2"}) {
    if (dflash != nullptr || !fs::exists(of.folder / name) || of.ops.blocks() == nullptr) continue;
    TRY_ASSIGN(const FoundDrafter drafter, FoundDrafter::load(of.folder / name, forward, of.pool, of.ops));
    dflash = drafter.drafter();
  }
  const IdentityPlan plan = plan_of(of.golden, forward, of.settings.whole);
  IdentityResult result = check_identity(forward, {mtp.get(), dflash.get()}, plan, of.settings.progress);
  TRY(forward.status());
  return result;
}

Result<DraftsCheck> check_proposals(const Case& of) {
  TRY_ASSIGN(const LoadedModel model, load_model(of.folder / "target", of.pool));
  TRY(model.weights->check(of.ops.limits()));
  const std::unique_ptr<Forward> made = model.weights->make_forward(of.ops, Precision::f32);
  Forward& forward = *made;
  const DraftsSettings settings{Precision::f32, kMaxForwardRows, kF32DraftGap};
  return check_golden_drafts(of.folder, of.golden, settings, of.pool, forward);
}

Result<IdentityResult> check_quantised(const Case& of, int bits) {
  TRY_ASSIGN(const TemporaryFolder scratch, TemporaryFolder::make());
  const fs::path made = scratch.path() / "target";
  QuantSpec spec;
  spec.bits = bits;
  spec.group = 32;
  if (const auto done = quantize_checkpoint(of.folder / "target", made, spec, of.pool); !done.ok()) return done.error();
  return check_form(of, made, Precision::bf16);
}

}  // namespace

bool SpeculationCheck::passed() const {
  return proposals.proposals == proposals.proposals_equal &&
         std::none_of(forms.begin(), forms.end(),
                      [](const Form& form) { return form.identity.difference.has_value(); });
}

Result<SpeculationCheck> check_speculation(const fs::path& folder, const SpeculationCheckSettings& settings,
                                           ThreadPool& pool, kernels::Ops& ops) {
  TRY_ASSIGN(GoldenFile golden, GoldenFile::open(folder));
  const Case of{folder, std::move(golden), settings, pool, ops};
  SpeculationCheck check;
  check.name = of.golden.name();
  if (of.golden.prompts().empty()) return check;
  TRY_ASSIGN(check.proposals, check_proposals(of));
  for (const int bits : settings.bits) {
    SpeculationCheck::Form form;
    if (bits > 0) {
      form.format = fmt::format("q{}", bits);
      TRY_ASSIGN(form.identity, check_quantised(of, bits));
    } else {
      form.format = settings.precision == Precision::f32 ? "f32" : "bf16";
      TRY_ASSIGN(form.identity, check_form(of, folder / "target", settings.precision));
    }
    check.forms.push_back(std::move(form));
  }
  return check;
}

std::string difference_text(const IdentityResult::Difference& d) {
  constexpr const char* kChoices[kChoiceKinds] = {"greedy", "top-k and top-p", "min-p, repetition penalty and bias",
                                                  "presence and frequency penalties", "temperature 1.5"};
  return fmt::format("drafts by {}, depth {}, {}, seed {}, prompt of {} tokens: token {} differs",
                     drafter_kind_name(d.kind), d.depth == 0 ? "auto" : std::to_string(d.depth), kChoices[d.choice],
                     d.seed, d.prompt_tokens, d.at);
}

}  // namespace paceline
