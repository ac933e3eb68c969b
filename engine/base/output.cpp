// Output is collected by line, made visible and written whole.
#include "engine/base/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <streambuf>
#include <string>

#include "engine/base/text.h"

namespace fovea {
namespace {

std::atomic<int> first_error = 0;

}  // namespace

class VisibleStreams::Buffer : public std::streambuf {
 public:
  explicit Buffer(int descriptor) : descriptor_(descriptor) {}

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char character = traits_type::to_char_type(c);
    return xsputn(&character, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    constexpr std::size_t kMaxGathered = 1 << 16;
    gathered_.append(text, static_cast<std::size_t>(count));
    if (gathered_.size() > kMaxGathered)
      write_until(gathered_.rfind('\n') + 1);  // only whole characters
    return count;
  }
  int sync() override {
    write_until(gathered_.size());
    return 0;
  }

 private:
  void write_until(std::size_t end) {
    if (end == 0) return;
    write_output(descriptor_, visible_lines(std::string_view(gathered_).substr(0, end)));
    gathered_.erase(0, end);
  }

  int descriptor_;
  std::string gathered_;
};

void open_standard_descriptors() {
  for (int number = 0; number <= 2; ++number) {
    if (::fcntl(number, F_GETFD) >= 0 || errno != EBADF) continue;
    static_cast<void>(::open("/dev/null", O_RDWR));  // takes the lowest free descriptor: this one
  }
}

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1 && std::getenv("OMPI_COMM_WORLD_RANK") == nullptr;
}

void write_output(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    if (written >= 0 || errno == EINTR) continue;
    int none = 0;
    if (descriptor == STDOUT_FILENO) first_error.compare_exchange_strong(none, errno);
    return;
  }
}

int output_error() { return first_error; }

VisibleStreams::VisibleStreams()
    : out_(std::make_unique<Buffer>(STDOUT_FILENO)),
      error_(std::make_unique<Buffer>(STDERR_FILENO)),
      usual_out_(std::cout.rdbuf(out_.get())),
      usual_error_(std::cerr.rdbuf(error_.get())) {}

VisibleStreams::~VisibleStreams() {
  std::cout.flush();
  std::cout.rdbuf(usual_out_);
  std::cerr.rdbuf(usual_error_);
}

}  // namespace fovea
