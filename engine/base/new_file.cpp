// Temporary files and their renaming.
#include "engine/base/new_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <string>
#include <system_error>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/posix_calls.h"

namespace fovea {
namespace fs = std::filesystem;
namespace {

std::string temporary_prefix(const fs::path& path) {
  return "." + path.filename().string() + ".tmp-";
}

/// A unique name next to `path`: ".name.tmp-<process>-<count>".
fs::path temporary_beside(const fs::path& path) {
  static std::atomic<unsigned> count = 0;
  return folder_of(path) /
         (temporary_prefix(path) + std::to_string(::getpid()) + "-" + std::to_string(count++));
}

/// Removes temporaries of `path` left by processes that were killed while writing.
void remove_stale_temporaries(const fs::path& path) {
  const std::string prefix = temporary_prefix(path);
  std::error_code ignored;
  fs::directory_iterator entry(folder_of(path), ignored);
  for (; !ignored && entry != fs::directory_iterator(); entry.increment(ignored)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix)) continue;
    pid_t process = 0;
    const char* const digits = name.c_str() + prefix.size();
    const auto parsed = std::from_chars(digits, name.c_str() + name.size(), process);
    const bool is_ours = parsed.ec == std::errc() && *parsed.ptr == '-' && process > 0;
    std::error_code remove_failed;
    if (is_ours && ::kill(process, 0) != 0 && errno == ESRCH) {
      fs::remove(entry->path(), remove_failed);
    }
  }
}

}  // namespace

NewFile::NewFile(fs::path path, Unfinished unfinished)
    : path_(std::move(path)), unfinished_(unfinished) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path_, ignored);
  if (fs::is_directory(status)) fail_errno("write", path_, EISDIR);
  int flags = O_WRONLY | O_CLOEXEC;
  // A device or pipe must not be replaced by a file.
  if (!fs::exists(status) || fs::is_regular_file(status)) {
    target_ = fs::canonical(path_, ignored);  // resolves a symbolic link, so that it stays
    if (target_.empty()) target_ = path_;
    if (unfinished_ == Unfinished::kept) {
      open_kept();
      return;
    }
    remove_stale_temporaries(target_);
    temporary_ = temporary_beside(target_);
    flags |= O_CREAT | O_TRUNC | O_NOFOLLOW;
  }
  file_ = Descriptor(::open((target_.empty() ? path_ : temporary_).c_str(), flags, 0666));
  if (!file_.is_open()) fail_errno("write", path_);
}

void NewFile::open_kept() {
  temporary_ = target_.string() + ".partial";
  file_ = Descriptor(::open(temporary_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file_.is_open()) fail_errno("write", temporary_);
  // Some network file systems have no locks; there the user sees to it.
  const bool is_taken = ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat opened = {}, named = {};
  if (::fstat(file_.get(), &opened) != 0) fail_errno("write", temporary_);
  // The process that wrote it may have finished, and so renamed, it after open().
  const bool is_renamed = ::stat(temporary_.c_str(), &named) != 0 || named.st_ino != opened.st_ino;
  if (is_taken || is_renamed) {
    const fs::path taken = std::exchange(temporary_, {});
    fail(taken.string(), ": another process is writing it; wait until it ends");
  }
  size_ = static_cast<std::uint64_t>(opened.st_size);
  if (::lseek(file_.get(), 0, SEEK_END) < 0) fail_errno("write", temporary_);
}

NewFile::~NewFile() {
  if (temporary_.empty()) return;
  std::error_code ignored;
  const bool is_kept = unfinished_ == Unfinished::kept && fs::file_size(temporary_, ignored) > 0;
  if (!is_kept) fs::remove(temporary_, ignored);
}

void NewFile::append(std::string_view content) {
  if (!write_all(file_.get(), content)) fail_errno("write", path_);
  size_ += content.size();
}

void NewFile::write_at(std::uint64_t offset, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written =
        ::pwrite(file_.get(), content.data(), content.size(), static_cast<off_t>(offset));
    if (written < 0 && errno != EINTR) fail_errno("write", path_);
    if (written > 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    }
  }
}

void NewFile::truncate(std::uint64_t size) {
  const auto end = static_cast<off_t>(size);
  if (::ftruncate(file_.get(), end) != 0 || ::lseek(file_.get(), end, SEEK_SET) < 0) {
    fail_errno("write", path_);
  }
  size_ = size;
}

void NewFile::sync() {
  if (::fdatasync(file_.get()) != 0 && errno != EINVAL) fail_errno("write", path_);
}

void NewFile::finish() {
  const bool synced = ::fsync(file_.get()) == 0 || errno == EINVAL;  // pipes cannot be synced
  if (!synced || !file_.close()) fail_errno("write", path_);
  if (target_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_errno("write", path_);
  temporary_.clear();
  sync_folder(folder_of(target_));
}

}  // namespace fovea
