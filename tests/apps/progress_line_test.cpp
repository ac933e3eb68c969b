// The texts of the progress line and of an epoch, and what is written to a file instead of a
// terminal.
#include "apps/common/progress_line.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>

#include "apps/common/console.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "train/tasks/classification.h"
#include "train/tasks/depth.h"

using namespace fovea;

TEST_CASE("durations are short") {
  CHECK(format_duration(0) == "0s");
  CHECK(format_duration(59.4) == "59s");
  CHECK(format_duration(59.6) == "1:00");
  CHECK(format_duration(187) == "3:07");
  CHECK(format_duration(3723) == "1:02:03");
  CHECK(format_duration(2 * 86400 + 3 * 3600 + 240) == "2d 03:04");
  CHECK(format_duration(-1) == "?");
  CHECK(format_duration(1e300) == "?");
  CHECK(format_duration(0.0 / 0.0) == "?");
}

TEST_CASE("the line fits its width: the bar gives way first, then the end") {
  const ProgressState state{.label = "epoch 3/20",
                            .done = 25,
                            .total = 100,
                            .seconds = 10,
                            .img_s = 1234,
                            .note = "loss 1.5"};
  CHECK(format_status(state) == "epoch 3/20  25% 1234 img/s eta 30s loss 1.5");
  CHECK(format_progress(state, 200) ==
        "epoch 3/20 [#######.......................]  25% 1234 img/s eta 30s loss 1.5");
  CHECK(format_progress(state, 54) == "epoch 3/20 [##......]  25% 1234 img/s eta 30s loss 1.5");
  CHECK(format_progress(state, 45) == "epoch 3/20  25% 1234 img/s eta 30s loss 1.5");
  for (int width = 0; width < 100; ++width) {
    CAPTURE(width);
    CHECK(format_progress(state, width).size() <= static_cast<std::size_t>(width));
  }
}

TEST_CASE("the ends of a loop") {
  CHECK(format_status({.label = "test", .done = 0, .total = 10, .note = ""}) == "test   0%");
  CHECK(format_status({.label = "test", .done = 10, .total = 10, .seconds = 61, .note = ""}) ==
        "test 100% in 1:01");
  CHECK(format_status({.label = "none", .done = 0, .total = 0, .note = ""}) == "none   0%");
}

TEST_CASE("a terminal gets one line over and over; a dumb one, or a launcher's, whole lines") {
  const auto shown_on = [](const std::map<std::string, std::string>& variables) {
    const Environment environment(variables);
    const int control = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(control >= 0);
    REQUIRE(::grantpt(control) == 0);
    REQUIRE(::unlockpt(control) == 0);
    const int terminal = ::open(::ptsname(control), O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    {
      ProgressLine line(terminal, std::chrono::seconds(0));
      line.update({.label = "a", .done = 1, .total = 2, .seconds = 1, .note = ""});
      line.print("done");
    }
    ::close(terminal);  // so that reading ends; what was written may arrive in several parts
    std::string text;
    std::array<char, 100> part{};
    for (ssize_t count; (count = ::read(control, part.data(), part.size())) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    ::close(control);
    return text;
  };
  CHECK(shown_on({{"TERM", "xterm"}}).find("\x1b[K") != std::string::npos);
  const std::string lines = "a  50% eta 1s\r\ndone\r\n";
  CHECK(shown_on({{"TERM", "dumb"}}) == lines);
  CHECK(shown_on({{"TERM", "xterm"}, {"OMPI_COMM_WORLD_RANK", "0"}}) == lines);
}

TEST_CASE("a file gets whole lines at the interval and no control characters") {
  const TemporaryFolder folder;
  const int file = ::open((folder / "out").c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(file >= 0);
  {
    ProgressLine often(file, std::chrono::seconds(0)), seldom(file, std::chrono::hours(1));
    often.update({.label = "a", .done = 1, .total = 2, .seconds = 1, .note = ""});
    seldom.update({.label = "b", .done = 1, .total = 2, .seconds = 1, .note = ""});
    often.print("done");
  }
  ::close(file);
  CHECK(read_file(folder / "out") == "a  50% eta 1s\ndone\n");
}

TEST_CASE(
    "a function gets what a notebook shows: the line over and over, blanks over what was longer") {
  std::string text;
  ProgressLine line([&](std::string_view more) { text += more; }, /*redraws=*/true);
  line.update({.label = "a", .done = 1, .total = 2, .seconds = 1, .note = "long"});
  const std::string first = text;
  CHECK(first.starts_with("\ra "));
  text.clear();
  line.print("done");
  CHECK(text == "\r" + std::string(first.size() - 1, ' ') + "\rdone\n");
}

TEST_CASE("a function that shows no line over and over gets whole lines") {
  std::string text;
  ProgressLine line([&](std::string_view more) { text += more; }, /*redraws=*/false);
  line.update({.label = "a", .done = 1, .total = 2, .seconds = 1, .note = ""});  // too early
  line.print("done");
  CHECK(text == "done\n");
}

TEST_CASE("the lines of an epoch have at most 80 columns, whatever its task measures") {
  const TaskInfo depth = depth_info();
  EpochRow row;
  row.epoch = 8;
  row.train_loss = 1.25;
  row.eval = row.ema = Scores(depth.measures.size(), 12.5);
  row.img_s = 1234;
  row.mfu = 0.5;
  row.seconds = 187;
  const std::string text = epoch_text(depth, row, {20, 600});
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines.size() >= 4);
  CHECK(lines[0].starts_with("epoch 9/20  train loss 1.2500  test loss 12.5000  RMSE 12.5000"));
  for (const std::string& line : lines) CHECK(line.size() <= 80);
  for (const Measure& measure : depth.measures) CHECK(contains(text, measure.title));
  CHECK(contains(text, "1234 img/s (50 % MFU)"));
  CHECK(contains(text, "left 10:00"));

  row.eval.clear();
  row.ema.clear();
  CHECK(lines_of(epoch_text(depth, row, {20, 0})).front() ==
        "epoch 9/20  train loss 1.2500  not evaluated  1234 img/s (50 % MFU)  3:07");
  TaskInfo few = classification_info({});
  mark_trivial(few, 3);
  row.eval = {0.5, 75, 100};
  CHECK(contains(epoch_text(few, row, {20, 0}), "top-1 75.00 %"));
  CHECK_FALSE(contains(epoch_text(few, row, {20, 0}), "top-5"));
}
