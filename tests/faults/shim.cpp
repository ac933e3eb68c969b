// A library to preload into a program: one call of a kind, or all from there on, fails, or the
// program is killed before it.
//
//   FOVEA_FAULT="KIND NUMBER ERRNO once|always|kill"
//                              the NUMBER-th call (from 1) of open, read, write, fsync, rename,
//                              mkdir, unlink, truncate, lock or close
//   FOVEA_FAULT_BELOW=FOLDER                      counts calls about files below it alone
//   FOVEA_FAULT_COUNTS=FILE                       at the end: a line "KIND CALLS" for each kind
//
// tests/programs/faults.py and kill_resume.py run a training once for each call that it makes.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

enum Kind {
  kOpen,
  kRead,
  kWrite,
  kFsync,
  kRename,
  kMkdir,
  kUnlink,
  kTruncate,
  kLock,
  kClose,
  kKinds
};
constexpr std::array<const char*, kKinds> kKindNames = {
    "open", "read", "write", "fsync", "rename", "mkdir", "unlink", "truncate", "lock", "close"};

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// What FOVEA_FAULT says. Read once: a constructor of this library may come after the first calls.
struct Plan {
  std::string below;
  char kind[16] = "";
  int number = 0, error = 0;
  bool always = false, kills = false;

  Plan() {
    if (const char* folder = std::getenv("FOVEA_FAULT_BELOW")) below = folder;
    char mode[16] = "";
    const char* text = std::getenv("FOVEA_FAULT");
    if (text != nullptr && std::sscanf(text, "%15s %d %d %15s", kind, &number, &error, mode) == 4) {
      always = std::strcmp(mode, "always") == 0;
      kills = std::strcmp(mode, "kill") == 0;
    }
  }
};

const Plan& plan() {
  static const Plan* const read = new Plan;
  return *read;
}

std::array<std::atomic<int>, kKinds> calls{};

/// Whether this call should fail; errno is then set.
bool fails(Kind kind, const char* path) {
  if (plan().below.empty() || path == nullptr || !std::string_view(path).starts_with(plan().below))
    return false;
  const int number = ++calls[kind];
  if (std::strcmp(plan().kind, kKindNames[kind]) != 0) return false;
  if (plan().always ? number < plan().number : number != plan().number) return false;
  if (plan().kills) ::kill(::getpid(), SIGKILL);
  errno = plan().error;
  return true;
}

bool fails(Kind kind, int descriptor) {
  if (plan().below.empty()) return false;
  const int before = errno;
  std::array<char, 4096> path{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t length = ::readlink(link.c_str(), path.data(), path.size() - 1);
  errno = before;
  return length > 0 && fails(kind, path.data());
}

struct ReportAtEnd {
  ~ReportAtEnd() {
    const char* file = std::getenv("FOVEA_FAULT_COUNTS");
    if (file == nullptr) return;
    FILE* out = std::fopen(file, "w");
    for (int kind = 0; kind < kKinds; ++kind)
      std::fprintf(out, "%s %d\n", kKindNames[kind], calls[kind].load());
    std::fclose(out);
  }
} report_at_end;

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails(kOpen, path)) return -1;
  return real<int (*)(const char*, int, ...)>("open")(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  if (fails(kOpen, path)) return -1;
  return real<int (*)(const char*, int, ...)>("open64")(path, flags, mode);
}
ssize_t read(int descriptor, void* bytes, size_t count) {
  if (fails(kRead, descriptor)) return -1;
  return real<ssize_t (*)(int, void*, size_t)>("read")(descriptor, bytes, count);
}
ssize_t pread(int descriptor, void* bytes, size_t count, off_t offset) {
  if (fails(kRead, descriptor)) return -1;
  return real<ssize_t (*)(int, void*, size_t, off_t)>("pread")(descriptor, bytes, count, offset);
}
ssize_t write(int descriptor, const void* bytes, size_t count) {
  if (fails(kWrite, descriptor)) {  // as a disk that fills up: a part of it, then nothing
    if (count > 1)
      real<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, count / 2);
    errno = plan().error;
    return -1;
  }
  return real<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, count);
}
int fsync(int descriptor) {
  return fails(kFsync, descriptor) ? -1 : real<int (*)(int)>("fsync")(descriptor);
}
int rename(const char* from, const char* to) {
  return fails(kRename, to) ? -1 : real<int (*)(const char*, const char*)>("rename")(from, to);
}
int mkdir(const char* path, mode_t mode) {
  return fails(kMkdir, path) ? -1 : real<int (*)(const char*, mode_t)>("mkdir")(path, mode);
}
int unlink(const char* path) {
  return fails(kUnlink, path) ? -1 : real<int (*)(const char*)>("unlink")(path);
}
int remove(const char* path) {
  return fails(kUnlink, path) ? -1 : real<int (*)(const char*)>("remove")(path);
}
int ftruncate(int descriptor, off_t size) {
  return fails(kTruncate, descriptor) ? -1
                                      : real<int (*)(int, off_t)>("ftruncate")(descriptor, size);
}
int flock(int descriptor, int operation) {
  return fails(kLock, descriptor) ? -1 : real<int (*)(int, int)>("flock")(descriptor, operation);
}
int close(int descriptor) {  // it is closed all the same
  const bool failing = fails(kClose, descriptor);
  const int result = real<int (*)(int)>("close")(descriptor);
  if (failing) errno = plan().error;
  return failing ? -1 : result;
}

}  // extern "C"
