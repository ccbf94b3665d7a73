#include "weights/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/gguf/ollama_manifest.h"
#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

TEST(HubCache, FindsFoldersAndIds) {
  const ScratchFolder folder;
  folder.write("second/models--google--gemma-4/refs/main", "abc123\n");
  folder.write("second/models--google--gemma-4/snapshots/abc123/config.json", "{}");
  const HubCaches caches{{folder.path() / "first", folder.path() / "second"}};
  EXPECT_EQ(resolve_model("google/gemma-4", caches).value(),
            folder.path() / "second/models--google--gemma-4/snapshots/abc123");
  EXPECT_EQ(resolve_model(folder.path().string(), caches).value(), folder.path());
}

TEST(HubCache, SaysWhereItLooked) {
  const ScratchFolder folder;
  const HubCaches caches{{folder.path() / "first", folder.path() / "second"}};
  const std::string message = resolve_model("google/none", caches).error().message;
  EXPECT_THAT(message, HasSubstr((folder.path() / "first/models--google--none").string()));
  EXPECT_THAT(message, HasSubstr((folder.path() / "second/models--google--none").string()));
  EXPECT_THAT(resolve_model("google/none", {}).error().message, HasSubstr("not set"));
  // Wherever this runs, none of them should be there.
  for (const char* argument :
       {"", "no-such-thing", "no/such/thing", "../no-such-thing", "/no-such/thing", "no-such/..", "./no-such-thing"}) {
    EXPECT_THAT(resolve_model(argument, caches).error().message, HasSubstr("expected a folder, or an id")) << argument;
  }
}

TEST(HubCache, SaysHowToFetchWhatIsNotThere) {
  const ScratchFolder folder;
  folder.write("models--a--b/refs/main", "abc");
  folder.write("models--a--b/snapshots/abc/m-Q8_0.gguf", "GGUF");
  const HubCaches caches{{folder.path()}, {}, {}};
  const auto message = [&](const char* argument) { return resolve_model(argument, caches).error().message; };
  EXPECT_THAT(message("google/none"), EndsWith("; to fetch it: hf download google/none"));
  EXPECT_THAT(message("google/none:Q4_0"), EndsWith("; to fetch it: hf download google/none --include '*Q4_0*.gguf'"));
  EXPECT_THAT(message("a/b:Q4_0"), EndsWith("; to fetch it: hf download a/b --include '*Q4_0*.gguf'"));
  EXPECT_THAT(message("ollama:x:1b"), EndsWith("; to fetch it: ollama pull x:1b"));
  EXPECT_THAT(message("a/b:$(id)'"), Not(HasSubstr("to fetch it")));
}

TEST(HubCache, FilesOfOneFormatAreModels) {
  const ScratchFolder folder;
  const auto file = folder.write("gguf/model.gguf", "GGUF");
  const auto blob = folder.write("blobs/sha256-12", "GGUF");
  const auto other = folder.write("other/model.safetensors", "");
  for (const auto& place : {file, file.parent_path(), blob})
    EXPECT_EQ(resolve_model(place.string(), {}).value(), place);
  const std::string message = resolve_model(other.string(), {}).error().message;
  EXPECT_THAT(message, HasSubstr("found another file"));
  EXPECT_THAT(message, HasSubstr(".safetensors, or a GGUF file"));
}

TEST(HubCache, FindsQuantisationsAndOtherStores) {
  const ScratchFolder folder;
  folder.write("hub/models--a--b/refs/main", "abc");
  const auto in_hub = folder.write("hub/models--a--b/snapshots/abc/m-Q4_0.gguf", "GGUF");
  const auto in_studio = folder.write("studio/c/d/m-Q8_0.gguf", "GGUF");
  const HubCaches caches{{folder.path() / "hub"}, {folder.path() / "studio"}, {}};
  EXPECT_EQ(resolve_model("a/b:Q4_0", caches).value(), in_hub);
  EXPECT_EQ(resolve_model("a/b", caches).value(), in_hub.parent_path());
  EXPECT_EQ(resolve_model("c/d", caches).value(), in_studio.parent_path());
  EXPECT_EQ(resolve_model("c/d:q8_0", caches).value(), in_studio);
  EXPECT_THAT(resolve_model("c/d:Q4_0", caches).error().message,
              HasSubstr("with Q4_0 in its name, found\n  m-Q8_0.gguf"));
}

TEST(HubCache, FindsWhatOllamaHas) {
  const ScratchFolder folder;
  const std::string digest(64, 'a'), other(64, 'b');
  const auto manifest = folder.write(
      "manifests/registry.ollama.ai/library/gemma4/12b",
      R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" + digest +
          R"("}, {"mediaType": "application/vnd.ollama.image.projector", "digest": "sha256:)" + other + R"("}]})");
  folder.write("blobs/sha256-" + digest, "GGUF");
  const HubCaches caches{{}, {}, {folder.path()}};
  EXPECT_EQ(resolve_model("ollama:gemma4:12b", caches).value(), manifest);
  EXPECT_THAT(resolve_model("ollama:gemma4", caches).error().message, HasSubstr("gemma4/latest"));
  EXPECT_THAT(resolve_model("ollama:../x", caches).error().message, HasSubstr("expected ollama:NAME"));
  const auto place = read_ollama_manifest(manifest);
  ASSERT_TRUE(place.ok()) << place.error().message;
  EXPECT_EQ(place->model, folder.path() / "blobs" / ("sha256-" + digest));
  EXPECT_EQ(place->vision, folder.path() / "blobs" / ("sha256-" + other));
  const auto broken = folder.write("manifests/registry.ollama.ai/library/x/latest",
                                   R"({"layers": [{"mediaType": "image.model", "digest": "sha256:../../etc"}]})");
  EXPECT_THAT(read_ollama_manifest(broken).error().message, HasSubstr("64 digits"));
}

TEST(HubCache, RefusesBrokenCaches) {
  const ScratchFolder folder;
  const HubCaches caches{{folder.path()}};
  folder.write("models--a--b/refs/main", "../../..");
  EXPECT_THAT(resolve_model("a/b", caches).error().message, HasSubstr("expected a commit"));
  folder.write("models--a--b/refs/main", "abc");
  EXPECT_THAT(resolve_model("a/b", caches).error().message, HasSubstr("snapshots/abc: expected a folder"));
  folder.write("models--a--c/blobs/x", "");
  EXPECT_THAT(resolve_model("a/c", caches).error().message, HasSubstr("refs/main: cannot open"));
}

}  // namespace
}  // namespace paceline
