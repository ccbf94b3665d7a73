#include "session/output_forms.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <filesystem>

namespace paceline {
namespace {

// Clients choose the forms: what is kept of them is bounded in bytes, too.
TEST(OutputForms, KeepsSoMuchAndNoMore) {
  ThreadPool pool(1);
  const auto model = load_text_model(std::filesystem::path(PACELINE_SOURCE_DIR) / "models/default", pool);
  ASSERT_TRUE(model.ok());
  OutputForms forms(*model);
  size_t all_bytes = 0;
  for (int i = 0; i < 16; ++i) {
    OutputForm form{.kind = OutputForm::Kind::json_schema};
    form.schema = boost::json::parse(fmt::format(R"({{"type":"string","maxLength":{}}})", 250'000 + i));
    const auto made = forms.find(form);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_GT((*made)->bytes(), 10'000'000u);
    all_bytes += (*made)->bytes();
    EXPECT_EQ(forms.find(form).value(), *made);
  }
  EXPECT_GT(all_bytes, size_t{128} << 20);
  EXPECT_LE(forms.kept_bytes(), size_t{128} << 20);
  EXPECT_GT(forms.kept_bytes(), size_t{64} << 20);
}

}  // namespace
}  // namespace paceline
