#include "weights/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weights/scratch_folder.h"

namespace paceline {
namespace {

using testing::HasSubstr;

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

TEST(HubCache, SaysWhatIsReadInsteadOfGguf) {
  const ScratchFolder folder;
  const auto file = folder.write("gguf/model.gguf", "GGUF");
  const auto other = folder.write("other/model.safetensors", "");
  for (const auto& place : {file, file.parent_path()}) {
    const std::string message = resolve_model(place.string(), {}).error().message;
    EXPECT_THAT(message, HasSubstr("GGUF is not read yet"));
    EXPECT_THAT(message, HasSubstr(".safetensors"));
  }
  EXPECT_THAT(resolve_model(other.string(), {}).error().message, HasSubstr("found a file"));
  // A checkpoint with a copy in another format beside it is one.
  folder.write("gguf/config.json", "{}");
  EXPECT_EQ(resolve_model(file.parent_path().string(), {}).value(), file.parent_path());
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
