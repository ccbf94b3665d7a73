#include "weights/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace paceline {

Error file_error(const std::filesystem::path& path, const char* what) {
  return Error{fmt::format("{}: {}: {}", path.string(), what, std::system_category().message(errno))};
}

namespace {

// Closes on every way out.
struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

struct OpenFile {
  Descriptor descriptor;
  size_t size = 0;
};

Status open_regular(const std::filesystem::path& path, OpenFile* opened) {
  opened->descriptor.number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened->descriptor.number < 0) return file_error(path, "cannot open");
  struct stat status = {};
  if (::fstat(opened->descriptor.number, &status) != 0) return file_error(path, "cannot stat");
  if (!S_ISREG(status.st_mode)) return Error{fmt::format("{}: expected a regular file", path.string())};
  opened->size = static_cast<size_t>(status.st_size);
  return Done{};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  OpenFile opened;
  TRY(open_regular(path, &opened));
  MappedFile file;
  file.path_ = path;
  if (opened.size == 0) return file;  // mmap refuses length 0; an empty span says the same
  void* start = ::mmap(nullptr, opened.size, PROT_READ, MAP_PRIVATE, opened.descriptor.number, 0);
  if (start == MAP_FAILED) return file_error(path, "cannot map");
  file.start_ = static_cast<const std::byte*>(start);
  file.size_ = opened.size;
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

Result<std::string> read_file(const std::filesystem::path& path, size_t most_bytes) {
  OpenFile opened;
  TRY(open_regular(path, &opened));
  if (opened.size > most_bytes) {
    return Error{fmt::format("{}: expected at most {} bytes, found {}", path.string(), most_bytes, opened.size)};
  }
  std::string text(opened.size, '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(opened.descriptor.number, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error(path, "cannot read");
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  return text;
}

}  // namespace paceline
