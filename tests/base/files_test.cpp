// Whole files: round trips, what is left behind after a failure, and the messages of failures.
#include "engine/base/files.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "engine/base/error.h"
#include "engine/base/names.h"
#include "engine/base/writable.h"
#include "tests/support/temporary_folder.h"

using namespace fovea;
namespace fs = std::filesystem;

namespace {

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// While it lives, no file of this process can grow beyond `bytes`: as if the disk were full.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit = {bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_ = {};
  void (*handler_)(int);
};

}  // namespace

TEST_CASE("what is written is read back, also when it is empty, binary or large") {
  const TemporaryFolder folder;
  const fs::path path = folder / "file";
  for (const std::string& content :
       {std::string(), std::string("a\0b\r\n", 5), std::string(3'000'001, 'x')}) {
    write_file_atomically(path, content);
    CHECK(read_file(path) == content);
    CHECK(files_in(folder.path()) == 1);
  }
  write_file_atomically(path, [](const auto& append) {
    append("one ");
    append("two");
  });
  CHECK(read_file(path) == "one two");
}

TEST_CASE("reading reports the path and the system's reason") {
  const TemporaryFolder folder;
  const std::string missing = (folder / "missing").string();
  CHECK(message_of([&] { (void)read_file(missing); }) ==
        "cannot read " + missing + ": No such file or directory");
  CHECK(contains(message_of([&] { (void)read_file(folder.path()); }), "Is a directory"));
  CHECK(contains(message_of([&] { const InputFile file(folder.path()); }), "Is a directory"));
  CHECK(contains(message_of([&] { const InputFile file("/dev/null"); }), "not a regular file"));
}

TEST_CASE("only regular files of a bounded size are read whole") {
  const TemporaryFolder folder;
  const std::string pipe = (folder / "pipe").string();
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", folder / "zero");
  for (const std::filesystem::path& path : {folder / "pipe", folder / "zero"}) {
    CHECK(message_of([&] { (void)read_file(path); }) ==
          "cannot read " + path.string() + ": not a regular file");
  }
  write_file_atomically(folder / "sparse", "");
  std::filesystem::resize_file(folder / "sparse", std::uintmax_t{1} << 40);
  CHECK(contains(message_of([&] { (void)read_file(folder / "sparse"); }),
                 "sparse: it has 1099511627776 bytes or more"));
  CHECK(read_file("/proc/self/status").size() > 0);  // states no size
}

TEST_CASE("a folder is one writer's at a time") {
  const TemporaryFolder folder;
  {
    const FolderLock first(folder.path());
    CHECK(first.failure().empty());
    const std::string message = message_of([&] { const FolderLock second(folder.path()); });
    CHECK(contains(message, folder.path().string() + ": another run is writing to it: process " +
                                std::to_string(::getpid()) + " on "));
  }
  const FolderLock next(folder.path());
  CHECK(next.failure().empty());
}

TEST_CASE("folders are made with those above them, or the reason is named") {
  const TemporaryFolder folder;
  make_folder(folder / "a/b/c");
  make_folder(folder / "a/b/c");
  CHECK(std::filesystem::is_directory(folder / "a/b/c"));
  write_file_atomically(folder / "file", "");
  CHECK(contains(message_of([&] { make_folder(folder / "file/below"); }), "Not a directory"));
}

TEST_CASE("a file can be read in pieces, but not past its end") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "0123456789");
  const InputFile file(folder / "file");
  CHECK(file.size() == 10);
  std::array<char, 4> piece{};
  file.read_at(6, std::as_writable_bytes(std::span(piece)));
  CHECK(std::string(piece.data(), 4) == "6789");
  CHECK(contains(message_of([&] { file.read_at(7, std::as_writable_bytes(std::span(piece))); }),
                 "the file ends at byte 10"));
}

TEST_CASE("a failed write leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const fs::path path = folder / "file";
  write_file_atomically(path, "old");

  SUBCASE("the disk is full") {
    std::string message;
    {
      const FileSizeLimit limit(1000);
      message = message_of([&] { write_file_atomically(path, std::string(5000, 'x')); });
    }
    CHECK(message == "cannot write " + path.string() + ": File too large");
  }
  SUBCASE("the producer throws") {
    CHECK(message_of([&] {
            write_file_atomically(path, [](const auto& append) {
              append("half");
              fail("no more");
            });
          }) == "no more");
  }
  CHECK(read_file(path) == "old");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("writing says why it cannot") {
  const TemporaryFolder folder;
  const auto message = [](const fs::path& path) {
    return message_of([&] { write_file_atomically(path, "x"); });
  };
  CHECK(contains(message(folder / "no/such/file"), "No such file or directory"));
  CHECK(contains(message(folder.path()), "Is a directory"));
  CHECK(message("/dev/full") == "cannot write /dev/full: No space left on device");
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("a link stays a link to the file that is replaced") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  fs::create_symlink("file", folder / "link");
  write_file_atomically(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_file(folder / "file") == "new");
}

TEST_CASE("temporaries of killed writers are removed by the next write, others stay") {
  const TemporaryFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  REQUIRE(child > 0);
  ::waitpid(child, nullptr, 0);  // from here on no process has this number
  const fs::path stale = folder / (".file.tmp-" + std::to_string(child) + "-0");
  const fs::path alive = folder / (".file.tmp-" + std::to_string(::getppid()) + "-0");
  const fs::path other = folder / ".file.tmp-notes";
  for (const fs::path& path : {stale, alive, other}) std::ofstream(path) << "half";
  write_file_atomically(folder / "file", "x");
  CHECK_FALSE(fs::exists(stale));
  CHECK(fs::exists(alive));
  CHECK(fs::exists(other));
}

TEST_CASE("an appended file grows at flush(), and a failed flush takes nothing away") {
  const TemporaryFolder folder;
  const fs::path path = folder / "log";
  {
    AppendFile file(path);
    file.append("one\n");
    CHECK(read_file(path).empty());
    file.flush();
    CHECK(read_file(path) == "one\n");
    AppendFile moved = std::move(file);
    moved.append("two\n");
  }
  CHECK(read_file(path) == "one\ntwo\n");

  AppendFile file(path);
  std::string message;
  {
    const FileSizeLimit limit(100);
    file.append(std::string(200, 'x'));
    message = message_of([&] { file.flush(); });
  }
  CHECK(message == "cannot write " + path.string() + ": File too large");
  CHECK(read_file(path) == "one\ntwo\n");
  AppendFile full("/dev/full");
  full.append("x");
  CHECK(contains(message_of([&] { full.flush(); }), "No space left on device"));
}

TEST_CASE("whether a result can be written is asked before, and leaves nothing") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "x");
  const auto refusal = [&](const char* path) {
    return message_of([&] { require_writable(folder / path); });
  };
  CHECK(refusal("new").empty());
  CHECK(refusal("file").empty());
  CHECK(contains(refusal("none/new"), "none/new: No such file or directory"));
  CHECK(contains(refusal("file/new"), "file/new: Not a directory"));
  CHECK(contains(refusal("."), "Is a directory"));
  CHECK(message_of([&] { require_writable("/dev/stdout"); }).empty());
  CHECK(message_of([&] { require_writable_folder(folder / "a" / "b"); }).empty());
  CHECK(message_of([&] { require_writable_folder("relative"); }).empty());
  CHECK(contains(message_of([&] { require_writable_folder(folder / "file" / "b"); }),
                 "file/b: Not a directory"));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a limit of open files says how many are allowed and what allows more") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "content");
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  rlimit none = usual;
  none.rlim_cur = 3;  // standard input, output and error
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const std::string message = message_of([&] { static_cast<void>(read_file(folder / "file")); });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK(message.find("Too many open files (at most 3); ulimit -n NUMBER allows more") !=
        std::string::npos);
}
