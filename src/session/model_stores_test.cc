// Models where other programs keep them: Ollama's store with its manifests and blobs, LM Studio's folder, the Hugging
// Face cache; all found by name, listed, and opened.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>

#include "session/model_list.h"
#include "session/text_model.h"
#include "weights/gguf/writing/write_gguf.h"
#include "weights/scratch_folder.h"
#include "weights/sha256.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string bytes_of_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// A golden as GGUF, with its projector beside it where it has one. Its words are the goldens', with a turn among them.
struct MadeGguf {
  ScratchFolder scratch;
  fs::path model = scratch.path() / "made-Q8_0.gguf", projector = gguf_vision_file(model);

  explicit MadeGguf(const std::string& golden, const std::string& chat_template = "") {
    const fs::path goldens = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens", from = scratch.path() / "from";
    fs::create_directories(from);
    for (const auto& entry : fs::directory_iterator(goldens / golden))
      fs::create_symlink(entry.path(), from / entry.path().filename());
    std::string words = bytes_of_file(goldens / "tokenizer.json");
    for (size_t at = words.find("<mask>"); at != std::string::npos; at = words.find("<mask>", at))
      words.replace(at, 6, "<|turn>");
    auto tokenizer = boost::json::parse(words).as_object();
    tokenizer["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "▁"}};
    scratch.write("from/tokenizer.json", boost::json::serialize(tokenizer));
    if (!chat_template.empty()) scratch.write("from/chat_template.jinja", chat_template);
    ThreadPool pool(2);
    const auto written = write_gguf(**Checkpoint::open(from), model, *GgufRecipe::named("Q8_0"), pool);
    EXPECT_TRUE(written.ok()) << written.error().message;
  }
};

// A store as Ollama lays it out: blobs by their digest, and manifests that name them.
class OllamaStore {
 public:
  explicit OllamaStore(const ScratchFolder& folder) : folder_(folder) {}

  [[nodiscard]] std::string layer(const std::string& kind, const std::string& bytes) const {
    const std::string digest = sha256_hex(std::as_bytes(std::span(bytes))).value();
    folder_.write("ollama/blobs/sha256-" + digest, bytes);
    return fmt::format(R"({{"mediaType": "application/vnd.ollama.image.{}", "digest": "sha256:{}", "size": {}}})", kind,
                       digest, bytes.size());
  }
  void manifest(const std::string& name, const std::vector<std::string>& layers) const {
    std::string list;
    for (const std::string& one : layers) list += (list.empty() ? "" : ", ") + one;
    folder_.write(
        "ollama/manifests/" + name,
        fmt::format(R"({{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
                                   "config": {}, "layers": [{}]}})",
                    layer("config", R"({"model_format": "gguf"})"), list));
  }

 private:
  const ScratchFolder& folder_;
};

constexpr const char* kGoTemplate = "{{ range .Messages }}<|turn>{{ .Role }}\n{{ .Content }}<turn|>{{ end }}";

class ModelStores : public testing::Test {
 protected:
  ModelStores() {
    const OllamaStore store(folder_);
    const std::string model = store.layer("model", bytes_of_file(seeing_.model));
    const std::string text = store.layer("model", bytes_of_file(own_template_.model));
    const std::string go = store.layer("template", kGoTemplate);
    const std::string settings = store.layer("params", R"({"temperature": 1, "stop": ["<turn|>"]})");
    store.manifest("registry.ollama.ai/library/tiny/latest",
                   {model, store.layer("projector", bytes_of_file(seeing_.projector)), go, settings});
    store.manifest("registry.ollama.ai/someone/tiny/2b", {text, go, store.layer("license", "do what you like")});
    store.manifest("hf.co/org/tiny-GGUF/Q8_0", {model});
    for (const fs::path& file : {seeing_.model, seeing_.projector}) {
      fs::create_directories(folder_.path() / "studio/org/name-GGUF");
      fs::copy_file(file, folder_.path() / "studio/org/name-GGUF" / file.filename());
    }
    folder_.write("hub/models--google--tiny/refs/main", "abc");
    fs::create_directories(folder_.path() / "hub/models--google--tiny/snapshots");
    fs::create_directory_symlink(fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/target",
                                 folder_.path() / "hub/models--google--tiny/snapshots/abc");
  }

  TextModel opened(const std::string& name) {
    const auto place = resolve_model(name, caches_);
    EXPECT_TRUE(place.ok()) << place.error().message;
    auto model = load_text_model(*place, pool_);
    EXPECT_TRUE(model.ok()) << model.error().message;
    return std::move(model).value();
  }

  ThreadPool pool_{2};
  const ScratchFolder folder_;
  const MadeGguf seeing_{"vlm/target"}, own_template_{"dense/target", "{{ messages[0]['content'] }}!"};
  const HubCaches caches_{{folder_.path() / "hub"}, {folder_.path() / "studio"}, {folder_.path() / "ollama"}};
};

TEST_F(ModelStores, OllamasProjectorIsTheModelsVisionSide) {
  const TextModel model = opened("ollama:tiny");
  EXPECT_GE(model.loaded.config.ids.image, 0);
  EXPECT_NE(model.loaded.checkpoint->config_json().find("vision_config"), std::string::npos);
  bool has_tower = false;
  for (const TensorView& tensor : model.loaded.checkpoint->tensors())
    has_tower = has_tower || tensor.name.find("vision_tower.") != std::string::npos;
  EXPECT_TRUE(has_tower);
}

// Its templates are Go's, and are not read: the file's own is used, or the family's.
TEST_F(ModelStores, OllamasTemplateIsLeftAlone) {
  const auto said = [&](const TextModel& model) { return render_chat(model, "", {"Hi"}).value(); };
  EXPECT_EQ(said(opened("ollama:someone/tiny:2b")), "Hi!");
  const std::string familys = said(opened("ollama:tiny:latest"));
  EXPECT_THAT(familys, HasSubstr("<|turn>user\nHi"));
  EXPECT_THAT(familys, testing::EndsWith("<|turn>model\n"));
}

TEST_F(ModelStores, OllamaHasOtherRegistriesToo) {
  EXPECT_EQ(resolve_model("ollama:hf.co/org/tiny-GGUF:Q8_0", caches_).value(),
            folder_.path() / "ollama/manifests/hf.co/org/tiny-GGUF/Q8_0");
  EXPECT_THAT(resolve_model("ollama:hf.co/org/../x", caches_).error().message, HasSubstr("expected ollama:NAME"));
  EXPECT_THAT(resolve_model("ollama:a/b/c/d", caches_).error().message, HasSubstr("expected ollama:NAME"));
  EXPECT_THAT(resolve_model("ollama:hf.co/org/none", caches_).error().message, HasSubstr("hf.co/org/none/latest"));
}

TEST_F(ModelStores, LmStudiosFolderHasModelAndProjector) {
  for (const char* name : {"org/name-GGUF", "org/name-GGUF:q8_0"})
    EXPECT_GE(opened(name).loaded.config.ids.image, 0) << name;
}

TEST_F(ModelStores, AllAreListedByTheNamesThatOpenThem) {
  std::vector<std::string> names;
  for (const ListedModel& model : list_models(caches_)) {
    if (model.name == "(default)") continue;
    names.push_back(model.name);
    EXPECT_EQ(model.problem, "") << model.name;
    EXPECT_GT(model.bytes, 0u) << model.name;
    EXPECT_FALSE(model.is_drafter) << model.name;
    const bool from_hub = model.name == "google/tiny";
    EXPECT_EQ(model.format, from_hub ? "BF16" : "Q8_0") << model.name;
    // Where the manifest names no projector there is none.
    const bool sees = model.name == "ollama:tiny:latest" || model.name.starts_with("org/");
    EXPECT_EQ(model.type, sees ? "gemma4" : "gemma4_text") << model.name;
    const auto found = resolve_model(model.name, caches_);
    ASSERT_TRUE(found.ok()) << found.error().message;
    EXPECT_EQ(*found, model.place);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("google/tiny", "org/name-GGUF:Q8_0", "ollama:tiny:latest",
                                                   "ollama:someone/tiny:2b", "ollama:hf.co/org/tiny-GGUF:Q8_0"));
}

// What is gone is said, and does not hide the others.
TEST_F(ModelStores, ABlobThatIsGoneIsNamed) {
  OllamaStore(folder_).manifest(
      "registry.ollama.ai/library/gone/latest",
      {R"({"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" + std::string(64, 'c') + R"("})"});
  bool seen = false;
  for (const ListedModel& model : list_models(caches_)) {
    if (model.name != "ollama:gone:latest") continue;
    seen = true;
    EXPECT_THAT(model.problem, HasSubstr("sha256-" + std::string(64, 'c')));
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace paceline
