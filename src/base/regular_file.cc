#include "base/regular_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace paceline {

Error file_error(const std::filesystem::path& path, const char* what) {
  const int why = errno;
  return Error{fmt::format("{}: {}: {}", path.string(), what, std::system_category().message(why)),
               why == ENOMEM ? kNoMemory : ""};
}

Result<RegularFile> RegularFile::open(const std::filesystem::path& path) {
  RegularFile file;
  // Of a regular file reading waits all the same.
  file.descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  // A socket cannot even be opened.
  if (file.descriptor_ < 0 && errno != ENXIO) return file_error(path, "cannot open");
  struct stat status = {};
  if (file.descriptor_ >= 0 && ::fstat(file.descriptor_, &status) != 0) return file_error(path, "cannot stat");
  if (!S_ISREG(status.st_mode)) return Error{fmt::format("{}: expected a regular file", path.string())};
  file.size_ = static_cast<size_t>(status.st_size);
  return file;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes) {
  TRY_ASSIGN(const RegularFile file, RegularFile::open(path));
  if (file.size() > most_bytes) {
    return Error{fmt::format("{}: expected at most {} bytes, found {}", path.string(), most_bytes, file.size())};
  }
  std::string text(file.size(), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(file.descriptor(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, "cannot read");
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

}  // namespace paceline
