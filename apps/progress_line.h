// The progress line of long loops: redrawn in place on a terminal, a line now and then elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace fovea {

/// What the line shows.
struct ProgressState {
  std::string label;      ///< "epoch 3/20"
  std::int64_t done = 0;  ///< of `total` units, usually steps
  std::int64_t total = 0;
  double seconds = 0;  ///< spent on the units done
  double img_s = 0;    ///< 0: not shown
  std::string note;    ///< "loss 1.234 lr 5.0e-04 wait 1%"
};

/// "epoch 3/20  52% 1234 img/s eta 3:07 loss ..."
[[nodiscard]] std::string format_status(const ProgressState& state);
/// The same with a bar: "epoch 3/20 [######......]  52% ...", at most `width` columns. When there
/// is little room the bar goes first, then the end is cut off.
[[nodiscard]] std::string format_progress(const ProgressState& state, int width);

/// Writes to a file descriptor that the app hands over, without ever throwing: see write_output().
/// What texts from outside hold is made visible.
class ProgressLine {
 public:
  /// `interval` is the time between lines where `descriptor` is no terminal.
  explicit ProgressLine(int descriptor,
                        std::chrono::duration<double> interval = std::chrono::seconds(10));
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Cheap to call for every step: most calls draw nothing.
  void update(const ProgressState& state);
  /// Removes the bar and leaves `line` in its place, for good.
  void print(std::string_view line);
  /// Removes the bar.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  int descriptor_;
  bool is_terminal_;
  bool is_drawn_ = false;
  std::chrono::duration<double> interval_;
  Clock::time_point last_drawn_;
};

}  // namespace fovea
