// Pictures that decoders stumble on: each is treated as expected.csv says, and its colours are
// those of Pillow.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "data/image.h"
#include "engine/base/files.h"
#include "tests/data/image_libraries.h"
#include "tests/data/user_data.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// A row of expected.csv.
struct Row {
  std::string file, format, mode, wanted, note;
  ImageSize size;
  std::array<double, 3> mean{};
  bool has_mean = false;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields(1);
  for (const char c : line) {
    if (c == ',')
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

std::vector<Row> read_table(const fs::path& file) {
  std::vector<Row> rows;
  std::istringstream lines(read_file(file));
  std::string line;
  std::getline(lines, line);  // the titles
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = split(line);
    REQUIRE(fields.size() == 13);
    Row row{fields[0], fields[3], fields[4], fields[11], fields[12], {}, {}, !fields[7].empty()};
    if (row.has_mean) {
      row.size = {std::stoll(fields[6]), std::stoll(fields[5])};
      for (std::size_t c = 0; c < 3; ++c) row.mean[c] = std::stod(fields[7 + c]);
    }
    rows.push_back(row);
  }
  return rows;
}

std::array<double, 3> mean_of(const Image& image) {
  std::array<double, 3> sum{};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) sum[i % 3] += image.pixels[i];
  for (double& value : sum) value /= static_cast<double>(image.height * image.width);
  return sum;
}

void check_pixels(const Row& row, const Image& image) {
  CHECK(image.height == row.size.height);
  CHECK(image.width == row.size.width);
  // Pillow 9.4 clips 16-bit gray to nearly white; its high byte is as bright as the other pictures.
  const bool clipped = row.wanted.find("high byte") != std::string::npos && row.mode == "I";
  const std::array<double, 3> mean = mean_of(image);
  for (std::size_t c = 0; c < 3; ++c) {
    const double wanted = clipped ? 144.7 : row.mean[c];
    CHECK(std::abs(mean[c] - wanted) < (clipped ? 1 : 1e-4));
  }
}

void check_row(const Row& row, const fs::path& folder) {
  CAPTURE(row.file);
  Image image;
  const std::string error = message_of([&] { image = read_image(folder / row.file); });
  const bool may_succeed = row.wanted.find("ok") != std::string::npos;
  const bool may_fail = row.wanted.find("error") != std::string::npos;
  CHECK((error.empty() ? may_succeed : may_fail));
  if (error.empty()) {
    if (row.has_mean) check_pixels(row, image);
    return;
  }
  CHECK(contains(error, row.file));
  if (contains(row.wanted, "names the format"))
    CHECK(contains(error, row.format == "JPEG2000" ? "JPEG 2000"
                          : row.format == "WEBP"   ? "WebP"
                                                   : row.format));
  if (contains(row.wanted, "from the header")) CHECK(contains(error, "its header specifies"));
}

void check_all(const fs::path& folder) {
  const std::vector<Row> rows = read_table(folder / "expected.csv");
  CHECK(rows.size() >= 25);
  for (const Row& row : rows) check_row(row, folder);
}

}  // namespace

TEST_CASE("odd pictures are treated as wanted" * doctest::skip(tests::kWithoutLibraries)) {
  check_all(fs::path(FOVEA_TESTS) / "data" / "odd");
}

TEST_CASE("all odd pictures are treated as wanted" *
          doctest::skip(tests::kWithoutLibraries ||
                        tests::user_data("odd-images/expected.csv").empty())) {
  check_all(tests::user_data("odd-images"));
}

}  // namespace fovea
