// Standard output and standard error of all programs. File and class names cannot inject terminal
// control codes, and lost output is detected.
#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>

namespace fovea {

/// Opens /dev/null for each of standard input, output and error that is closed. Otherwise the next
/// opened file would take that descriptor and receive the printed text.
void open_standard_descriptors();

/// Whether a descriptor leads to a terminal. Open MPI gives each process a terminal of its own,
/// whose text it hands on, to a file as well: that is none.
[[nodiscard]] bool is_terminal(int descriptor);

/// Writes to a descriptor, including control codes. Never throws, because programs that show
/// progress should continue; the first failure of standard output is recorded.
void write_output(int descriptor, std::string_view text);
/// errno of the first failed write to standard output, or 0.
[[nodiscard]] int output_error();

/// While it is alive, std::cout and std::cerr show control codes and invalid UTF-8 as escapes
/// (visible_lines()) and write through write_output(). At most one may exist.
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
