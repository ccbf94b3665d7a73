#include "session/data_uri.h"

#include <gtest/gtest.h>

namespace paceline {
namespace {

TEST(DataUri, BytesOfThoseThatHaveAny) {
  EXPECT_EQ(read_data_uri("data:image/png;base64,aGk="), "hi");
  EXPECT_EQ(read_data_uri("data:;base64,aGk"), "hi");
  EXPECT_EQ(read_data_uri("DATA:image/PNG;Base64,aGk="), "hi");
  for (const char* uri :
       {"", "data:", "data:image/png,hi", "http://x", "file:///etc/passwd", "data:;base64,a", "data:;base64,a!"}) {
    EXPECT_FALSE(read_data_uri(uri)) << uri;
  }
}

TEST(DataUri, WhatIsWrittenIsRead) {
  EXPECT_EQ(write_data_uri("image/png", "hi"), "data:image/png;base64,aGk=");
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(read_data_uri(write_data_uri("x/y", bytes)), bytes) << i;
    bytes += static_cast<char>(i * 7);
  }
}

}  // namespace
}  // namespace paceline
