// hostile.json of a folder of GGUF goldens: changes to a file, each of which must be refused or survived.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <charconv>
#include <fstream>

#include "base/regular_file.h"
#include "model/load.h"
#include "proof/gguf_goldens.h"
#include "proof/golden_file.h"
#include "tokenizer/tokenizer.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// Gone when the object is.
class PassingFile {
 public:
  explicit PassingFile(const std::string& bytes)
      : path_(fs::temp_directory_path() / fmt::format("paceline-changed-{}.gguf", ::getpid())) {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  PassingFile(const PassingFile&) = delete;
  PassingFile& operator=(const PassingFile&) = delete;
  ~PassingFile() {
    std::error_code error;
    fs::remove(path_, error);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// All that a run would do with the file: load it, read its tokenizer, and compute one token.
Status use_model(const fs::path& file, ThreadPool& pool, kernels::Ops& ops) {
  TRY_ASSIGN(const LoadedModel model, load_model(file, pool));
  TRY(model.weights->check(ops.limits()));
  TRY_ASSIGN(const auto text, model.checkpoint->side_file("tokenizer.json"));
  if (!text) return Error{"no tokenizer"};
  TRY(Tokenizer::load(*text));
  const auto forward = model.weights->placed_for(ops)->make_forward(ops, Precision::f32);
  KvCache kv(forward->kv_layout(), 1);
  const SeqRows seq{&kv, 1};
  const TokenId token = 0;
  const int32_t row = 0;
  (void)forward->run({{&token, 1}, {&seq, 1}, {&row, 1}, {}});
  return forward->status();
}

Result<std::string> changed(const std::string& bytes, const JsonFields& change) {
  std::string made = bytes;
  if (change.find("length") != nullptr) {
    TRY_ASSIGN(const int64_t length, change.integer("length", 0, static_cast<int64_t>(bytes.size())));
    made.resize(static_cast<size_t>(length));
    return made;
  }
  TRY_ASSIGN(const int64_t at, change.integer("at", 0, static_cast<int64_t>(bytes.size())));
  TRY_ASSIGN(const std::string hex, change.text("bytes"));
  if (hex.size() % 2 != 0 || static_cast<size_t>(at) + hex.size() / 2 > made.size())
    return change.wrong("bytes", "pairs of digits within the file");
  for (size_t i = 0; i < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    made[static_cast<size_t>(at) + i / 2] = static_cast<char>(value);
  }
  return made;
}

}  // namespace

Status check_gguf_hostile(const fs::path& path, ThreadPool& pool, kernels::Ops& ops, GgufCheck* check) {
  TRY_ASSIGN(const std::string text, read_file(path, kMostGoldenJsonBytes));
  TRY_ASSIGN(const json::object document, parse_json_object(text, path.filename().string()));
  const JsonFields top(document, path.filename().string());
  TRY_ASSIGN(const std::string file, top.text("file"));
  TRY_ASSIGN(const std::string bytes, read_file(path.parent_path() / file, kMostGoldenJsonBytes));
  const json::value* changes = top.find("changes");
  if (changes == nullptr || !changes->is_array()) return top.wrong("changes", "a list");
  for (const json::value& value : changes->get_array()) {
    if (!value.is_object()) return top.wrong("changes", "a list of objects");
    const JsonFields change(value.get_object(), top.path_of("changes"));
    TRY_ASSIGN(const std::string why, change.text("why"));
    TRY_ASSIGN(const std::string must, change.text("must"));
    TRY_ASSIGN(const std::string made, changed(bytes, change));
    const PassingFile changed_file(made);
    const Status used = use_model(changed_file.path(), pool, ops);
    ++check->hostile;
    if (used.ok() == (must == "survive")) {
      ++check->hostile_as_said;
    } else {
      check->hostile_problems.push_back(
          fmt::format("{}: should {}, but {}", why, must, used.ok() ? "was taken" : used.error().message));
    }
  }
  return Done{};
}

}  // namespace paceline
