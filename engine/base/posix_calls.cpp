// Errors with the system's reason, whole writes, and syncing of folders.
#include "engine/base/posix_calls.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <system_error>

#include "engine/base/descriptor.h"
#include "engine/base/error.h"

namespace fovea {
namespace fs = std::filesystem;

namespace {

/// What helps against an error of the system, where that is not clear.
std::string remedy_for(int error) {
  if (error == EMFILE) {
    rlimit files{};
    static_cast<void>(::getrlimit(RLIMIT_NOFILE, &files));
    return concat(" (at most ", files.rlim_cur, "); ulimit -n NUMBER allows more");
  }
  if (error == ENFILE) return " on this machine; other programs hold them";
  return "";
}

}  // namespace

[[noreturn]] void fail_errno(std::string_view action, const fs::path& path, int error) {
  fail("cannot ", action, " ", path.string(), ": ", std::generic_category().message(error),
       remedy_for(error));
}

bool write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) content.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const bool ok = descriptor.is_open() && (::fsync(descriptor.get()) == 0 || errno == EINVAL);
  if (!ok && errno != EACCES) fail_errno("sync", folder);
}

}  // namespace fovea
