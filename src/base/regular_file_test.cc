#include "base/regular_file.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

namespace paceline {
namespace {

using ::testing::HasSubstr;

// Nobody writes into the pipe: who waits for one hangs here.
TEST(RegularFile, WhatIsNoneIsRefusedByName) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "regular_file_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::filesystem::path pipe = folder / "pipe", socket = folder / "s", file = folder / "file";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(socket.string().size(), sizeof(address.sun_path));
  std::strcpy(address.sun_path, socket.c_str());
  const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  for (const std::filesystem::path& none : {folder, pipe, socket, std::filesystem::path("/dev/zero")}) {
    const auto opened = RegularFile::open(none);
    ASSERT_FALSE(opened.ok()) << none;
    EXPECT_EQ(opened.error().message, none.string() + ": expected a regular file");
  }
  EXPECT_THAT(RegularFile::open(folder / "nothing").error().message, HasSubstr("cannot open: No such file"));
  std::ofstream(file) << "abc";
  EXPECT_EQ(RegularFile::open(file)->size(), 3u);
  EXPECT_EQ(read_file(file, 3).value(), "abc");
  EXPECT_THAT(read_file(file, 2).error().message, HasSubstr("at most 2 bytes, found 3"));
  ::close(listening);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace paceline
