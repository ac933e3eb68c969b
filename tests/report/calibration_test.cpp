// Expected calibration error by hand, edges of bins, and the diagram.
#include "report/calibration.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <locale>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.h"

namespace fovea {

TEST_CASE("calibration errors by hand") {
  Calibration c;
  // Bin (0.8, 13/15]: 2 of 4 right at 0.85. Bin (14/15, 1]: 1 of 1 right at 0.95.
  for (const bool right : {true, true, false, false}) c.add(0.85, right);
  c.add(0.95, true);
  CHECK(c.expected_error() == doctest::Approx(100 * (4 * 0.35 + 1 * 0.05) / 5).epsilon(1e-12));
  CHECK(c.maximum_error() == doctest::Approx(35).epsilon(1e-12));
  CHECK(c.overconfidence() == doctest::Approx(100 * (4 * 0.85 + 0.95 - 3) / 5).epsilon(1e-12));
}

TEST_CASE("gaps of both signs do not cancel within ECE, and do in the overconfidence") {
  Calibration c;
  c.add(0.9, false);
  c.add(0.1, true);
  CHECK(c.expected_error() == doctest::Approx(90).epsilon(1e-12));
  CHECK(c.overconfidence() == doctest::Approx(0).epsilon(1e-12));
}

TEST_CASE("a bin holds its upper edge and not its lower one") {
  Calibration c;
  c.add(0, false);
  c.add(0.2, true);  // 3 / 15
  c.add(std::nextafter(0.2, 1.0), true);
  c.add(1, true);
  CHECK(c.bins()[0].images == 1);
  CHECK(c.bins()[2].images == 1);
  CHECK(c.bins()[3].images == 1);
  CHECK(c.bins()[14].images == 1);
}

TEST_CASE("without images, and with confidences that are none") {
  CHECK(Calibration().expected_error() == 0);
  CHECK(Calibration().maximum_error() == 0);
  Calibration c;
  c.add(std::numeric_limits<double>::quiet_NaN(), true);
  CHECK(c.bins()[0].images == 1);
  CHECK(c.bins()[0].right == 0);
  CHECK(c.expected_error() == 0);
}

namespace {

/// As in a German locale.
struct DecimalComma : std::numpunct<char> {
  [[nodiscard]] char do_decimal_point() const override { return ','; }
  [[nodiscard]] char do_thousands_sep() const override { return '.'; }
  [[nodiscard]] std::string do_grouping() const override { return "\3"; }
};

}  // namespace

TEST_CASE("the table is the same in a locale with a decimal comma") {
  const std::vector<Prediction> predictions(2000, Prediction{0, 1, 1, 0.6});
  const Calibration c(predictions);
  const std::string expected = c.csv(), drawn = c.svg();
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new DecimalComma));
  const std::string found = c.csv(), found_svg = c.svg();
  std::locale::global(before);
  CHECK(contains(expected, "0.6"));
  CHECK(found == expected);
  CHECK(found_svg == drawn);
}

TEST_CASE("table and diagram") {
  const std::vector<Prediction> predictions{{0, 1, 1, 0.99}, {1, 1, 0, 0.6}};
  const Calibration c(predictions);
  CHECK(contains(c.csv(), "from,to,images,right,accuracy,mean_confidence\n0,0.0666667,0,0,0,0\n"));
  CHECK(contains(c.csv(), "\n0.933333,1,1,1,1,0.99\n"));
  CHECK(contains(c.svg(), "Expected calibration error 30.50 %"));
}

}  // namespace fovea
