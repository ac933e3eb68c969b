// Pictures: that they hold what was drawn, stay well-formed and survive odd values.
#include "data/figures/plot.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "engine/base/error.h"
#include "tests/support/special_values.h"
#include "tests/support/temporary_folder.h"
#include "train/run/log_charts.h"
#include "train/tasks/classification.h"

using namespace fovea;

namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

std::string svg_of(std::vector<double> x, std::vector<double> y) {
  const std::vector<Chart> charts = {{"title", "x", "y", {{"series", std::move(x), std::move(y)}}}};
  return svg_of_charts(charts);
}

}  // namespace

TEST_CASE("a chart holds its texts, its ticks and one path per series") {
  const std::vector<Chart> charts = {
      {"A < B & C", "epochs", "loss", {{"one", {1, 2, 3}, {4, 2, 1}}, {"two", {1, 3}, {3, 0}}}},
      {"second", "epochs", "percent", {}}};
  const std::string svg = svg_of_charts(charts);
  CHECK(contains(svg, ">A &lt; B &amp; C</text>"));
  for (const char* text : {"epochs", "loss", "percent", "one", "two", "second"}) {
    CHECK(contains(svg, std::string(">") + text + "</text>"));
  }
  CHECK(count(svg, "<circle") == 5);
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(count(svg, "<text") == count(svg, "</text>"));
}

TEST_CASE("points are where their values are") {
  // The axes run from 0 to 10: the corners of the plot area are (64, 292) and (504, 60).
  const std::string svg = svg_of({0, 5, 10}, {0, 10, 5});
  CHECK(contains(svg, "M 64 292 L 284 60 L 504 176"));
}

TEST_CASE("ticks of a constant, and of values that hardly differ, have different labels") {
  CHECK(contains(svg_of({0, 1}, {66.7, 66.7}), ">66</text>"));
  CHECK(contains(svg_of({0, 1}, {66.7, 66.7}), ">68</text>"));
  const std::string close = svg_of({0, 1}, {66.7, 66.7002});
  CHECK(count(close, ">66.7</text>") <= 1);
  CHECK(contains(close, ">66.7001</text>"));
}

TEST_CASE("odd values leave gaps, never NaN or infinity in the picture") {
  const std::vector<std::vector<double>> columns = {{1, kNan, 3},       {kNan, kNan, kNan},
                                                    {kInf, -kInf, 1},   {1e300, 1, 2},
                                                    {0, 0, 0},          {5, 5, 5},
                                                    {1e-12, 0, 2e-12},  {-1e9, 1e9, 0},
                                                    {1e29, -1e29, 1e5}, {1e15, 1e15 + 1, 1e15}};
  for (const std::vector<double>& y : columns) {
    const std::string svg = svg_of({0, 1, 2}, y);
    CHECK_FALSE(contains(svg, "nan"));
    CHECK_FALSE(contains(svg, "inf"));
    CHECK(svg.size() < 20000);
  }
  CHECK(count(svg_of({0, 1, 2}, {1, kNan, 3}), "M ") > count(svg_of({0, 1, 2}, {1, 2, 3}), "M "));
  CHECK(contains(svg_of({}, {}), "</svg>"));
  CHECK(contains(message_of([] { (void)svg_of({1}, {}); }), "has 1 x and 0 y values"));
}

TEST_CASE("the curves of a log leave out what was never measured") {
  std::vector<EpochRow> rows(3);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].epoch = static_cast<std::int64_t>(i);
  rows[2].eval = {0.5, 80, 99};
  const std::vector<Chart> charts = log_charts(classification_info({}), rows);
  REQUIRE(charts.size() == 2);
  REQUIRE(charts[0].series.size() == 2);
  CHECK(charts[0].series[0].x == std::vector<double>{1, 2, 3});
  CHECK(charts[0].series[1].name == "held out");
  CHECK(charts[0].series[1].x == std::vector<double>{3});
  REQUIRE(charts[1].series.size() == 2);
  CHECK(charts[1].series[0].x == std::vector<double>{3});
  CHECK(charts[1].series[0].y == std::vector<double>{80});
}

TEST_CASE("charts in rows of two") {
  const std::vector<Chart> charts(3, Chart{"title", "x", "y", {{"series", {1, 2}, {1, 2}}}});
  const std::string beside = svg_of_charts(charts), rows = svg_of_charts(charts, 2);
  CHECK(contains(beside, "width=\"1560\" height=\"340\""));
  CHECK(contains(rows, "width=\"1040\" height=\"680\""));
  CHECK(contains(rows, "<g transform=\"translate(0 340)\">"));
  CHECK(rows.ends_with("</g>\n</svg>\n"));
  CHECK(contains(svg_of_charts(std::vector<Chart>(1), 2), "width=\"520\" height=\"340\""));
}

TEST_CASE("one quantity, one chart: parts of the loss stand beside the measures of their name") {
  TaskInfo task;
  task.loss_parts = {"mse", "vb", "other"};
  task.measures = {{.name = "loss", .title = "loss", .is_loss = true},
                   {.name = "mse", .title = "mse", .chart = "Error"},
                   {.name = "vb", .title = "vb", .chart = "Bound", .is_detail = true},
                   {.name = "top5", .title = "top-5", .chart = "Accuracy", .is_trivial = true}};
  std::vector<EpochRow> rows(2);
  rows[0].train_parts = rows[1].train_parts = {1, 2, 3};
  rows[0].eval = rows[1].eval = {4, 5, 6, 100};
  const std::vector<Chart> charts = log_charts(task, rows);
  REQUIRE(charts.size() == 2);
  REQUIRE(charts[0].series.size() == 3);
  CHECK(charts[0].series[1].name == "training, other");
  CHECK(charts[0].series[2].name == "held out");
  CHECK(charts[1].title == "Error");
  REQUIRE(charts[1].series.size() == 2);
  CHECK(charts[1].series[0].name == "training");
  CHECK(charts[1].series[0].y == std::vector<double>{1, 1});
  CHECK(charts[1].series[1].name == "held out");
  CHECK(charts[1].series[1].y == std::vector<double>{5, 5});
}

TEST_CASE("a confusion matrix shows names, counts and the accuracy") {
  const ConfusionMatrix matrix{{"cat", "dog", "<frog>"},
                               {{{0, 0}, 8}, {{0, 1}, 2}, {{1, 0}, 1}, {{1, 1}, 9}}};
  const std::string svg = svg_of_confusion(matrix);
  CHECK(count(svg, ">cat</text>") == 2);
  CHECK(count(svg, ">&lt;frog&gt;</text>") == 2);
  CHECK(contains(svg, "top-1 85.0 % of 20 images"));
  CHECK(contains(svg, ">8</text>"));
  CHECK(contains(message_of([] {
                   (void)svg_of_confusion({{"a", "b"}, {{{0, 2}, 1}}});
                 }),
                 "got class 0 predicted as 2, expected 0 to 1"));
  CHECK(contains(message_of([] { (void)image_of_confusion({std::vector<std::string>(40000)}); }),
                 "got 40000 classes"));
}

TEST_CASE("the pixels of a confusion matrix: dark on the diagonal, white where nothing is") {
  const ConfusionMatrix matrix{{"a", "b"}, {{{0, 0}, 4}, {{1, 0}, 1}, {{1, 1}, 3}}};
  const Image image = image_of_confusion(matrix);
  CHECK(image.width >= 256);
  CHECK(image.height == image.width);
  const std::int64_t cell = image.width / 2, middle = cell / 2;
  CHECK(*image.at(middle, middle) == 8);
  CHECK(*image.at(middle, cell + middle) == 255);
  CHECK(*image.at(cell + middle, middle) > *image.at(cell + middle, cell + middle));
  std::vector<std::string> many(300);
  const Image large = image_of_confusion({many});
  CHECK(large.width == 300);
  CHECK(contains(svg_of_confusion({many}), "</svg>"));
  CHECK(contains(svg_of_confusion({}), "</svg>"));
}
