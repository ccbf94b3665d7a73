#include "proof/templates_check.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tokenizer/tokenizers_for_tests.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

TEST(TemplatesCheck, CountsAndShowsTheFirstDifference) {
  const fs::path folder = fs::temp_directory_path() / ("paceline_templates_check_" + std::to_string(getpid()));
  fs::create_directories(folder);
  std::ofstream(folder / "t.jinja") << "{{ messages[0].content ~ x ~ strftime_now('%Y-%m-%d') }}";
  std::ofstream(folder / "renderings.json") << R"({"variables": {"x": "X"}, "conversations": {
      "one": {"messages": [{"content": "a"}], "options": {}},
      "two": {"messages": [{"content": "b"}], "options": {"x": "Y"}},
      "three": {"messages": []}},
      "renderings": {"t.jinja": {"one": {"text": "aX2020-02-29"}, "two": {"text": "bZ2020-02-29"}, "three": {"error": "E"}}}})";
  const auto report = check_templates(folder.string());
  fs::remove_all(folder);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->conversations(), 3u);
  EXPECT_EQ(report->equal(), 2u);
  EXPECT_EQ(report->day, "2020-02-29");
  EXPECT_EQ(report->templates[0].refused, 1u);
  EXPECT_EQ(report->templates[0].first_difference, R"(two: byte 1: expected "bZ2020-02-29", found "bY2020-02-29")");
  EXPECT_FALSE(check_templates("/nowhere").ok());
}

TEST(TemplatesCheck, EqualsHuggingFacesRenderings) {
  const std::string shared = shared_folder();
  SKIP_WITHOUT_SHARED(shared);
  const auto report = check_templates(shared + "/templates");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_GE(report->templates.size(), 52u);
  for (const TemplateReport& each : report->templates) {
    EXPECT_EQ(each.equal, each.conversations) << each.name << ": " << each.first_difference;
  }
}

}  // namespace
}  // namespace paceline
