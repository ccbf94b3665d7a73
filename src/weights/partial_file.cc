#include "weights/partial_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/regular_file.h"

namespace paceline {

Result<PartialFile> PartialFile::create(const std::filesystem::path& path) {
  PartialFile file;
  file.path_ = path;
  file.partial_ = path.string() + ".partial";
  file.descriptor_ = ::open(file.partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.descriptor_ < 0) return file_error(file.partial_, "cannot create");
  return file;
}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_(std::move(other.partial_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

PartialFile& PartialFile::operator=(PartialFile&& other) noexcept {
  give_up();
  path_ = std::move(other.path_);
  partial_ = std::move(other.partial_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  return *this;
}

PartialFile::~PartialFile() { give_up(); }

void PartialFile::give_up() {
  if (descriptor_ < 0) return;
  ::close(std::exchange(descriptor_, -1));
  ::unlink(partial_.c_str());
}

Status PartialFile::write(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error(partial_, "cannot write");
    bytes = bytes.subspan(static_cast<size_t>(put));
    offset += static_cast<uint64_t>(put);
  }
  return Done{};
}

Status PartialFile::finish() {
  if (::fsync(descriptor_) != 0) return file_error(partial_, "cannot flush");
  if (::rename(partial_.c_str(), path_.c_str()) != 0) return file_error(path_, "cannot rename to");
  ::close(std::exchange(descriptor_, -1));
  return Done{};
}

}  // namespace paceline
