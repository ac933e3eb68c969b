// Standard output and standard error, as all programs use them: nothing that stands in a file's or
// class's name steers a terminal, and output that is lost is noticed.
#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>

namespace fovea {

/// Opens /dev/null in the place of standard input, output and error where those are closed:
/// otherwise the next file that is opened gets their number, and what is printed lands in it.
void open_standard_descriptors();

/// Writes to a descriptor, control codes and all. Never throws: the first failure of standard
/// output is remembered, as programs that show progress go on without.
void write_output(int descriptor, std::string_view text);
/// errno of that failure, or 0.
[[nodiscard]] int output_error();

/// While it lives, std::cout and std::cerr show control codes and bytes that are no UTF-8 as
/// escapes (visible_lines()) and write through write_output(). One at a time.
class VisibleStreams {
 public:
  VisibleStreams();
  ~VisibleStreams();
  VisibleStreams(const VisibleStreams&) = delete;
  VisibleStreams& operator=(const VisibleStreams&) = delete;

 private:
  class Buffer;
  std::unique_ptr<Buffer> out_, error_;
  std::streambuf *usual_out_, *usual_error_;
};

}  // namespace fovea
