#include "cli/bench_options.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace paceline {
namespace {

std::vector<std::string> server_arguments_of(const std::string& line) {
  CLI::App app;
  BenchOptions options;
  add_bench_options(Command(app), options);
  app.parse(line);
  return server_arguments(options);
}

TEST(BenchOptions, AServerOfOurOwnComputesAsTheyAsk) {
  const std::vector<std::string> plain{"--draft", "auto", "--log-level", "error"};
  EXPECT_EQ(server_arguments_of("--serve"), plain);
  const std::vector<std::string> all{"--draft",  "ngram", "--log-level", "error", "-m",          "folder",
                                     "--device", "cuda",  "--threads",   "3",     "--precision", "f32"};
  EXPECT_EQ(server_arguments_of("--serve --draft ngram -m folder --device cuda --threads 3 --precision f32"), all);
  // Another's server computes as it does.
  for (const char* wish : {"--device cpu", "--threads 2", "--precision f32"})
    EXPECT_THROW(server_arguments_of(std::string("--serve --url 127.0.0.1:1 ") + wish), CLI::ExcludesError) << wish;
}

}  // namespace
}  // namespace paceline
