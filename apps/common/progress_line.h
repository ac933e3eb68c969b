// The progress line of long loops: redrawn in place on a terminal, otherwise printed at intervals.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace fovea {

/// The state that the line shows.
struct ProgressState {
  std::string label;      ///< "epoch 3/20"
  std::int64_t done = 0;  ///< out of `total` units, usually steps
  std::int64_t total = 0;
  double seconds = 0;  ///< time spent on the units done
  double img_s = 0;    ///< 0: hidden
  std::string note;    ///< "loss 1.234 lr 5.0e-04 wait 1%"
};

/// "epoch 3/20  52% 1234 img/s eta 3:07 loss ..."
[[nodiscard]] std::string format_status(const ProgressState& state);
/// Formats the status with a bar: "epoch 3/20 [######......]  52% ...", in at most `width` columns.
/// If there is too little room, the bar is omitted first, then the end truncated.
[[nodiscard]] std::string format_progress(const ProgressState& state, int width);

inline constexpr std::chrono::duration<double> kLineInterval = std::chrono::seconds(10);

/// Writes to a file descriptor and never throws: see write_output(). Or it hands its text to a
/// function. Control characters in foreign texts are made visible.
class ProgressLine {
 public:
  /// `interval` is the time between lines if `descriptor` does not lead to a terminal
  /// (is_terminal()), or TERM is unset or "dumb".
  explicit ProgressLine(int descriptor, std::chrono::duration<double> interval = kLineInterval);
  /// `write` must not throw. `redraws`: it shows what follows a carriage return over the line.
  ProgressLine(std::function<void(std::string_view text)> write, bool redraws);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  /// Updates the line. Cheap enough for every step: most calls draw nothing.
  void update(const ProgressState& state);
  /// Removes the bar and prints `line` permanently in its place.
  void print(std::string_view line);
  /// Removes the bar.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void draw(const std::string& line);
  void write(std::string_view text);
  [[nodiscard]] int width() const;

  int descriptor_ = -1;
  std::function<void(std::string_view text)> write_{};  ///< in place of the descriptor
  bool redraws_;           ///< one line over and over; else lines follow one another
  std::size_t drawn_ = 0;  ///< columns
  std::chrono::duration<double> interval_;
  Clock::time_point last_drawn_;
};

}  // namespace fovea
