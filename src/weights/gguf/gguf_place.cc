// Which of a folder's files is the model, and which its vision side. A file is known by its architecture and not by its
// name; but a projector is only looked for under the names that projectors have.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/folder_entries.h"
#include "weights/gguf/gguf_checkpoint.h"
#include "weights/gguf/ollama_manifest.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> gguf_files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::path& entry : folder_entries(folder))
    if (is_gguf_file(entry) && !is_later_part(entry)) files.push_back(entry);
  return files;
}

bool is_called_projector(const fs::path& file) { return file.filename().string().find("mmproj") != std::string::npos; }

// A projector's outputs are as wide as the model's rows. (What cannot be seen from the files' heads is seen later.)
bool fits(const GgufFiles& projector, const GgufFiles& model) {
  const GgufTensor* projection = projector.find("mm.input_projection.weight");
  const GgufTensor* embedding = model.find("token_embd.weight");
  return projection == nullptr || embedding == nullptr || projection->shape.front() == embedding->shape.back();
}

// mmproj-NAME.gguf beside NAME.gguf is that model's own.
constexpr std::string_view kOwnProjector = "mmproj-";

bool is_of_another(const fs::path& projector, const fs::path& model) {
  const std::string name = projector.filename().string();
  if (!name.starts_with(kOwnProjector)) return false;
  const fs::path whose = projector.parent_path() / name.substr(kOwnProjector.size());
  std::error_code error;
  return whose.filename() != model.filename() && fs::exists(whose, error);
}

int projector_rank(const fs::path& projector, const fs::path& model) {
  const std::string name = projector.filename().string();
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (name == std::string(kOwnProjector) + model.filename().string()) return 0;
  return has("BF16") || has("bf16") ? 1 : has("F16") || has("f16") ? 2 : 3;
}

// Of several the model's own, then the one in bf16, then f16; else the first.
fs::path projector_for(const GgufFiles& model, const fs::path& model_file) {
  fs::path best;
  int best_rank = 4;
  for (const fs::path& file : gguf_files_in(model_file.parent_path())) {
    if (!is_called_projector(file) || is_of_another(file, model_file)) continue;
    const int rank = projector_rank(file, model_file);
    if (rank >= best_rank) continue;
    const auto opened = GgufFiles::open(file);
    if (!opened.ok() || opened->architecture() != "clip" || !fits(*opened, model)) continue;
    best = file;
    best_rank = rank;
  }
  return best;
}

bool is_drafter(const std::string& architecture) {
  return architecture == "gemma4-assistant" || architecture == "gemma4_assistant" || architecture == "gemma4_mtp";
}

// A model before a drafter, which may lie beside it.
Result<fs::path> model_in(const fs::path& folder) {
  std::vector<fs::path> models, drafters;
  std::string problem;
  for (const fs::path& file : gguf_files_in(folder)) {
    const auto opened = GgufFiles::open(file);
    if (!opened.ok()) {
      problem = fmt::format("; {}", opened.error().message);
      continue;
    }
    const std::string architecture = opened->architecture();
    if (architecture == "clip") continue;
    (is_drafter(architecture) ? drafters : models).push_back(file);
  }
  const std::vector<fs::path>& found = models.empty() ? drafters : models;
  if (found.size() == 1) return found.front();
  if (found.empty())
    return Error{fmt::format("{}: expected a GGUF model in it, found none{}", folder.string(), problem)};
  std::string names;
  for (const fs::path& file : found) names += fmt::format("\n  {}", file.string());
  return Error{
      fmt::format("{}: expected one GGUF model in it, found {}; name one:{}", folder.string(), found.size(), names)};
}

std::string in_lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// Whether the name has these letters and none right before or behind them: Q4_K is not in Q4_K_M.
bool has_word(const std::string& name, const std::string& word) {
  const auto joins = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  for (size_t at = name.find(word); at != std::string::npos; at = name.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !joins(name[at - 1])) && (end == name.size() || !joins(name[end]))) return true;
  }
  return false;
}

std::vector<fs::path> gguf_files_below(const fs::path& folder) {
  std::vector<fs::path> files = gguf_files_in(folder);
  std::error_code error;
  for (const fs::path& entry : folder_entries(folder)) {
    if (!fs::is_directory(entry, error)) continue;
    const std::vector<fs::path> inner = gguf_files_in(entry);
    files.insert(files.end(), inner.begin(), inner.end());
  }
  return files;
}

}  // namespace

Result<fs::path> gguf_named(const fs::path& folder, const std::string& quant) {
  std::vector<fs::path> found;
  std::string others;
  for (const fs::path& file : gguf_files_below(folder)) {
    if (is_called_projector(file)) continue;
    const std::string name = in_lower_case(file.stem().string());
    const std::string parent = in_lower_case(file.parent_path().filename().string());
    if (has_word(name, in_lower_case(quant)) || parent == in_lower_case(quant)) {
      found.push_back(file);
    } else {
      others += fmt::format("\n  {}", file.filename().string());
    }
  }
  if (found.size() > 1) {
    std::erase_if(found, [](const fs::path& file) {
      const auto opened = GgufFiles::open(file);
      return opened.ok() && is_drafter(opened->architecture());
    });
  }
  if (!found.empty()) return found.front();
  return Error{fmt::format("{}: expected a GGUF model with {} in its name, found{}", folder.string(), quant,
                           others.empty() ? " none at all" : others)};
}

std::vector<fs::path> gguf_models_in(const fs::path& folder) {
  std::vector<fs::path> files = gguf_files_below(folder);
  std::erase_if(files, is_called_projector);
  return files;
}

std::string gguf_quant_label(const fs::path& file) {
  std::string stem = file.stem().string();
  // …-00001-of-00003
  constexpr size_t kPartTail = 15;
  if (stem.size() > kPartTail && stem.substr(stem.size() - 9, 4) == "-of-") stem.resize(stem.size() - kPartTail);
  const size_t dash = stem.find_last_of("-.");
  const std::string last = dash == std::string::npos ? "" : stem.substr(dash + 1);
  for (const char* begin : {"Q", "q", "IQ", "iq", "F16", "f16", "F32", "f32", "BF16", "bf16", "MXFP4", "mxfp4"})
    if (last.starts_with(begin)) return last;
  return "";
}

std::vector<fs::path> gguf_drafters_beside(const fs::path& place) {
  std::error_code error;
  const fs::path folder = fs::is_directory(place, error) ? place : place.parent_path();
  std::vector<fs::path> found;
  for (const fs::path& where : {folder, folder / "MTP", folder / "mtp"})
    for (const fs::path& file : gguf_files_in(where)) {
      if (file == place) continue;
      const auto opened = GgufFiles::open(file);
      if (opened.ok() && is_drafter(opened->architecture())) found.push_back(file);
    }
  return found;
}

bool is_gguf_file(const fs::path& file) {
  const std::string kind = file.extension().string();
  return kind == ".gguf" || kind == ".GGUF";
}

bool is_gguf_place(const fs::path& place) {
  std::error_code error;
  if (fs::is_directory(place, error)) return !fs::exists(place / "config.json", error) && !gguf_files_in(place).empty();
  return fs::exists(place, error);
}

Result<GgufPlace> GgufPlace::find(const fs::path& place) {
  std::error_code error;
  if (is_ollama_manifest(place)) return read_ollama_manifest(place);
  GgufPlace found;
  found.model = place;
  if (fs::is_directory(place, error)) {
    TRY_ASSIGN(found.model, model_in(place));
  }
  TRY_ASSIGN(const GgufFiles files, GgufFiles::open(found.model));
  if (files.architecture() == "gemma4") found.vision = projector_for(files, found.model);
  return found;
}

}  // namespace paceline
