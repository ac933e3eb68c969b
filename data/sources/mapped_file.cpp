// open, fstat, mmap.
#include "data/sources/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace fovea {
namespace {

[[noreturn]] void fail_with_errno(const std::filesystem::path& path, const char* what) {
  fail(path.string(), ": cannot be ", what, ": ", std::generic_category().message(errno));
}

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_with_errno(path, "opened");
  struct stat status {};
  const bool known = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
  void* start = nullptr;
  const auto size = known ? static_cast<std::size_t>(status.st_size) : 0;
  if (size > 0) start = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  ::close(descriptor);
  check(known, path.string(), ": is no regular file");
  if (start == MAP_FAILED) fail_with_errno(path, "mapped");
  bytes_ = {static_cast<const std::uint8_t*>(start), size};
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace fovea
