// Whole files through POSIX calls: only they report why something failed, and only they can sync.
#include "engine/base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "engine/base/descriptor.h"
#include "engine/base/error.h"
#include "engine/base/new_file.h"
#include "engine/base/posix_calls.h"

namespace fovea {
namespace fs = std::filesystem;
namespace {

/// A regular file opened for reading, and its size. Does not block on a pipe without a writer.
struct OpenedFile {
  Descriptor descriptor;
  std::uint64_t size = 0;

  explicit OpenedFile(const fs::path& path)
      : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status = {};
    if (!descriptor.is_open() || ::fstat(descriptor.get(), &status) != 0) fail_errno("read", path);
    if (S_ISDIR(status.st_mode)) fail_errno("read", path, EISDIR);
    check(S_ISREG(status.st_mode), "cannot read ", path.string(), ": not a regular file");
    size = static_cast<std::uint64_t>(status.st_size);
  }
};

using Append = std::function<void(std::string_view)>;

}  // namespace

std::string read_file(const fs::path& path) {
  const OpenedFile file(path);
  const auto check_size = [&](std::uint64_t size) {
    check(size <= kMaxFileBytes, "cannot read ", path.string(), ": it has ", size,
          " bytes or more, expected at most ", kMaxFileBytes);
  };
  check_size(file.size);
  std::string content(static_cast<std::size_t>(file.size) + 1, '\0');
  for (std::size_t size = 0;;) {
    check_size(size);  // files in /proc report size 0
    if (size == content.size()) content.resize(size + size / 2 + 4096);
    const ssize_t got = ::read(file.descriptor.get(), content.data() + size, content.size() - size);
    if (got < 0 && errno != EINTR) fail_errno("read", path);
    if (got > 0) size += static_cast<std::size_t>(got);
    if (got == 0) {
      content.resize(size);
      return content;
    }
  }
}

void write_file_atomically(const fs::path& path,
                           const std::function<void(const Append&)>& produce) {
  NewFile file(path);
  produce([&](std::string_view content) { file.append(content); });
  file.finish();
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  write_file_atomically(path, [&](const Append& append) { append(content); });
}

void make_folder(const fs::path& folder) {
  std::vector<fs::path> made;  // innermost first
  fs::path at = folder.has_filename() ? folder : folder.parent_path();
  std::error_code error;
  while (!at.empty() && !fs::exists(at, error)) {
    made.push_back(at);
    at = at.parent_path();
  }
  if (!folder.empty()) fs::create_directories(folder, error);
  if (error) fail("cannot create the folder ", folder.string(), ": ", error.message());
  for (const fs::path& entry : made) sync_folder(folder_of(entry));
}

FolderLock::FolderLock(const fs::path& folder) {
  const fs::path path = folder / ".lock";
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file.is_open()) fail_errno("write", path);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) {
      std::string holder = read_file(path);
      holder.resize(std::min(holder.find('\n'), holder.size()));
      fail(folder.string(), ": another run is writing to it", holder.empty() ? "" : ": ", holder,
           "; wait until it ends, or choose another folder");
    }
    failure_ = std::generic_category().message(errno);
    return;
  }
  std::array<char, 256> host{};
  static_cast<void>(::gethostname(host.data(), host.size() - 1));
  const std::string holder =
      "process " + std::to_string(::getpid()) + " on " + std::string(host.data()) + "\n";
  if (::ftruncate(file.get(), 0) != 0 || !write_all(file.get(), holder)) fail_errno("write", path);
  file_ = std::move(file);
}

std::string ByteSource::text_at(std::uint64_t offset, std::uint64_t count) const {
  std::string text(static_cast<std::size_t>(count), '\0');
  read_at(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

void MemoryBytes::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  check(offset <= bytes_.size() && into.size() <= bytes_.size() - offset, name_, ": ends at byte ",
        bytes_.size());
  if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
}

InputFile::InputFile(fs::path path) : path_(std::move(path)) {
  OpenedFile file(path_);
  size_ = file.size;
  file_ = std::move(file.descriptor);
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t got = ::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno != EINTR) fail_errno("read", path_);
    check(got != 0, "cannot read ", path_.string(), ": the file ends at byte ", offset);
    if (got > 0) {
      into = into.subspan(static_cast<std::size_t>(got));
      offset += static_cast<std::uint64_t>(got);
    }
  }
}

AppendFile::AppendFile(fs::path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
  if (!file_.is_open()) fail_errno("write", path_);
}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(pending_, other.pending_);
  std::swap(file_, other.file_);
  return *this;
}

AppendFile::~AppendFile() {
  if (file_.is_open()) static_cast<void>(write_all(file_.get(), pending_));
}

void AppendFile::flush() {
  if (pending_.empty()) return;
  check(file_.is_open(), "AppendFile: flush() without a file");
  const off_t before = ::lseek(file_.get(), 0, SEEK_END);
  const std::string content = std::exchange(pending_, {});
  if (write_all(file_.get(), content)) return;
  const int error = errno;
  const bool is_whole = before >= 0 && ::ftruncate(file_.get(), before) == 0;
  fail_errno(is_whole ? "write" : "write all lines of", path_, error);
}

}  // namespace fovea
