#include "weights/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "base/regular_file.h"

namespace paceline {

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  TRY_ASSIGN(const RegularFile opened, RegularFile::open(path));
  MappedFile file;
  file.path_ = path;
  if (opened.size() == 0) return file;  // mmap refuses length 0; an empty span says the same
  void* start = ::mmap(nullptr, opened.size(), PROT_READ, MAP_PRIVATE, opened.descriptor(), 0);
  if (start == MAP_FAILED) return file_error(path, "cannot map");
  file.start_ = static_cast<const std::byte*>(start);
  file.size_ = opened.size();
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      start_(std::exchange(other.start_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this == &other) return *this;
  unmap();
  path_ = std::move(other.path_);
  start_ = std::exchange(other.start_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

MappedFile::~MappedFile() { unmap(); }

bool MappedFile::forget(std::span<const std::byte> part) const {
  if (part.empty() || part.data() < start_ || part.data() + part.size() > start_ + size_) return false;
  // Whole pages; what neighbours lose of theirs, they fetch again.
  static const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(part.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
  return true;
}

void MappedFile::unmap() {
  if (start_ != nullptr) ::munmap(const_cast<std::byte*>(start_), size_);
  start_ = nullptr;
  size_ = 0;
}

}  // namespace paceline
