// The progress line. Formatting is pure; drawing uses only write() and the terminal's width.
#include "apps/common/progress_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "engine/base/output.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::chrono::milliseconds kRedrawInterval{100};
constexpr int kUsualWidth = 80;

template <class... Args>
std::string print_to_string(const char* format, Args... args) {
  std::array<char, 64> text{};
  const int length = std::snprintf(text.data(), text.size(), format, args...);
  return {text.data(), static_cast<std::size_t>(std::clamp(length, 0, 63))};
}

int terminal_width(int descriptor) {
  winsize size = {};
  const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

/// Whether a line can be drawn over: in a terminal that knows how, as editors' shells do not.
bool can_redraw(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return is_terminal(descriptor) && kind != nullptr && std::string_view(kind) != "dumb";
}

double share_of(const ProgressState& state) {
  const auto done = static_cast<double>(state.done), total = static_cast<double>(state.total);
  return total > 0 ? std::clamp(done / total, 0.0, 1.0) : 0.0;
}

/// The text after the bar.
std::string tail_of(const ProgressState& state) {
  std::string tail = print_to_string("%3d%%", static_cast<int>(share_of(state) * 100));
  if (state.img_s > 0) tail += print_to_string(" %.0f img/s", state.img_s);
  if (state.done > 0 && state.done < state.total) {
    const double left = static_cast<double>(state.total - state.done);
    tail += " eta " + format_duration(state.seconds / static_cast<double>(state.done) * left);
  } else if (state.done > 0) {
    tail += " in " + format_duration(state.seconds);
  }
  return state.note.empty() ? tail : tail + " " + state.note;
}

}  // namespace

std::string format_status(const ProgressState& state) { return state.label + " " + tail_of(state); }

std::string format_progress(const ProgressState& state, int width) {
  constexpr int kWidestBar = 30, kNarrowestBar = 5;
  const std::string tail = tail_of(state);
  const int others = static_cast<int>(state.label.size() + tail.size()) + 4;  // spaces, brackets
  const int cells = std::min(kWidestBar, width - others);
  std::string line = state.label + " ";
  if (cells >= kNarrowestBar) {
    const int filled = static_cast<int>(share_of(state) * cells);
    line.append("[").append(filled, '#').append(cells - filled, '.').append("] ");
  }
  line += tail;
  return line.substr(0, static_cast<std::size_t>(std::max(width, 0)));
}

ProgressLine::ProgressLine(int descriptor, std::chrono::duration<double> interval)
    : descriptor_(descriptor),
      redraws_(can_redraw(descriptor)),
      interval_(redraws_ ? kRedrawInterval : interval),
      last_drawn_(redraws_ ? Clock::time_point() : Clock::now()) {}

ProgressLine::ProgressLine(std::function<void(std::string_view)> write, bool redraws)
    : write_(std::move(write)),
      redraws_(redraws),
      interval_(redraws ? std::chrono::duration<double>(kRedrawInterval) : kLineInterval),
      last_drawn_(redraws ? Clock::time_point() : Clock::now()) {}

int ProgressLine::width() const { return write_ ? kUsualWidth : terminal_width(descriptor_); }

void ProgressLine::write(std::string_view text) {
  if (write_) {
    write_(text);
  } else {
    write_output(descriptor_, text);
  }
}

/// Draws over the last line. A terminal erases the rest of that one; elsewhere blanks cover it.
void ProgressLine::draw(const std::string& line) {
  const std::size_t rest = drawn_ - std::min(drawn_, line.size());
  write("\r" + line + (write_ ? std::string(rest, ' ') : "\x1b[K"));
  drawn_ = line.size();
}

void ProgressLine::update(const ProgressState& state) {
  const Clock::time_point now = Clock::now();
  if (now - last_drawn_ < interval_) return;
  last_drawn_ = now;
  if (redraws_) {  // one column stays free: some terminals wrap when it is written
    draw(visible_text(format_progress(state, width() - 1)));
  } else {
    write(visible_text(format_status(state)) + "\n");
  }
}

void ProgressLine::print(std::string_view line) {
  clear();
  write(visible_lines(line) + "\n");
}

void ProgressLine::clear() {
  if (drawn_ == 0) return;
  draw("");
  if (write_) write("\r");
}

}  // namespace fovea
