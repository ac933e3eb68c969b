// Inputs of networks, passes over pictures, the Gaussian of pixels, and rows of measures.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/base/error.h"
#include "engine/base/temporary_folder.h"
#include "engine/formats/safetensors.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "report/measures/comparison.h"
#include "report/measures/features_file.h"
#include "report/measures/picture_set.h"
#include "report/measures/picture_watch.h"
#include "report/measures/pixel_gaussian.h"

namespace fovea {
namespace {

Image ramp(std::int64_t height, std::int64_t width, int step) {
  Image image(height, width);
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i * static_cast<std::size_t>(step) % 256);
  }
  return image;
}

/// Pictures of random pixels around a level per class.
class Drawn : public Dataset {
 public:
  Drawn(std::int64_t count, std::uint64_t seed) : count_(count), seed_(seed) {}
  [[nodiscard]] std::int64_t size() const override { return count_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    Rng rng(seed_, static_cast<std::uint64_t>(index));
    Sample sample{Image(8, 8), index % 2};
    const double level = 80 + 60 * static_cast<double>(sample.label);
    for (std::uint8_t& pixel : sample.image.pixels) {
      pixel = static_cast<std::uint8_t>(std::clamp(level + 20 * rng.normal(), 0.0, 255.0));
    }
    return sample;
  }

 private:
  std::int64_t count_;
  std::uint64_t seed_;
  std::vector<std::string> names_{"dark", "light"};
};

/// Two features: the means of the upper and the lower half; logits favour class 1 on light images.
class MeanSpace : public FeatureSpace {
 public:
  MeanSpace() : FeatureSpace({"FD(means)", "", "means", "means.safetensors", "halves", true}) {}
  [[nodiscard]] Pipeline pipeline() const override {
    Pipeline pipeline;
    pipeline.normalization = {{0, 0, 0}, {1, 1, 1}};
    return pipeline;
  }
  [[nodiscard]] Output operator()(const Tensor& images) override {
    const std::int64_t n = images.size(0), values = images.numel() / n;
    Output out{zeros({n, 2}), {}, zeros({n, 2})};
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k < values; ++k) {
        const bool upper = k % 64 < 32;
        out.features.data<float>()[2 * i + (upper ? 0 : 1)] +=
            images.data<float>()[i * values + k] / static_cast<float>(values / 2);
      }
      out.features.data<float>()[2 * i] += offset;
      out.logits.data<float>()[2 * i + 1] = 50 * (out.features.data<float>()[2 * i + 1] - 0.43F);
    }
    return out;
  }
  float offset = 0;
};

}  // namespace

TEST_CASE("pytorch-fid's input is bilinear without antialiasing, 2 x / 255 - 1") {
  const Image same = inception_input(ramp(299, 299, 7), FidProtocol::pytorch_fid);
  CHECK(same.size() == ImageSize{299, 299});
  CHECK(*same.values<float>(0, 1) == doctest::Approx(2 * 21 / 255.0 - 1));
  // Halving reads the two pixels around each centre only: of 598, positions 2 i and 2 i + 1.
  Image wide(598, 598);
  for (std::int64_t y = 0; y < 598; ++y) {
    for (std::int64_t x = 0; x < 598; ++x) wide.at(y, x)[0] = x % 2 == 0 ? 200 : 100;
  }
  const Image halved = inception_input(wide, FidProtocol::pytorch_fid);
  CHECK(*halved.values<float>(10, 10) == doctest::Approx(2 * 150 / 255.0 - 1));
}

TEST_CASE("clean-fid's input is Pillow's bicubic, clipped but not rounded, (x - 128) / 128") {
  Image edge(4, 4);
  for (std::int64_t y = 0; y < 4; ++y) {
    for (std::int64_t x = 2; x < 4; ++x) edge.at(y, x)[0] = 255;
  }
  const Image input = inception_input(edge, FidProtocol::clean_fid);
  float least = 1, most = -1;
  bool has_fractions = false;
  for (std::int64_t x = 0; x < 299; ++x) {
    const float value = *input.values<float>(150, x);
    least = std::min(least, value);
    most = std::max(most, value);
    const float level = value * 128 + 128;
    has_fractions |= std::abs(level - std::round(level)) > 0.1F;
  }
  CHECK(least == -1);  // bicubic goes below 0 and above 255 beside an edge
  CHECK(most == doctest::Approx(127.0 / 128));
  CHECK(has_fractions);
}

TEST_CASE("a pass gathers rows, statistics, score and accuracy, whatever the batches") {
  const auto images = std::make_shared<Drawn>(31, 1);
  MeanSpace space;
  PassOptions options{.batch_size = 4, .workers = 0, .classes = {0, 1}};
  const SetFeatures small = read_features(space, images, options);
  options.batch_size = 31;
  options.workers = 2;
  const SetFeatures large = read_features(space, images, options);
  CHECK(small.rows.to_vector() == large.rows.to_vector());
  CHECK(small.statistics.covariance.to_vector() == large.statistics.covariance.to_vector());
  CHECK(small.count() == 31);
  CHECK(small.accuracy() == 1);
  CHECK(small.inception_score > 1.5);
  options.classes = {1, 0};  // the set's class 0 is the network's class 1
  CHECK(read_features(space, images, options).accuracy() == 0);
  options.classes = {};
  CHECK_FALSE(read_features(space, images, options).accuracy().has_value());
}

TEST_CASE("features that are not finite are refused with the picture's name") {
  MeanSpace space;
  space.offset = NAN;
  try {
    (void)read_features(space, std::make_shared<Drawn>(3, 1), {.workers = 0});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("the features of means for it are not finite") !=
          std::string::npos);
  }
}

TEST_CASE("a classifier's features are what its head reads") {
  const auto model = make_model("vit_tiny_patch8_32",
                                nlohmann::json{{"embed_dim", 12}, {"num_heads", 2}, {"depth", 1}});
  auto space = classifier_space(model_as<Classifier>(*model), {{32, 32}}, "r", "w");
  const FeatureSpace::Output out = (*space)(zeros({3, 3, 32, 32}));
  CHECK(out.features.shape() == Shape({3, 12}));
  CHECK(out.logits.size(0) == 3);
  CHECK(space->info().distance == "FD(r)");
  CHECK(space->info().spatial_distance.empty());
}

TEST_CASE("only Inception's distance is called FID") {
  const FeatureComparison c{{"FD(run)", "", "vit", "w", "p", true},
                            "12",
                            "real",
                            2,
                            3,
                            5000,
                            {{"samples", "s", 4, 5, 0.25, {}, 0.5, 1.0, 0.0, 2.0, 0.75}},
                            {"a note"}};
  const std::string table = comparison_table(c, R"({"sampler": "ddim", "seed": 3})");
  CHECK(table.find("FD(run)") != std::string::npos);
  CHECK(table.find("FID") == std::string::npos);
  CHECK(table.find("sampler ddim, seed 3") != std::string::npos);
  CHECK(table.find("sha256 12") != std::string::npos);
  CHECK(table.find("note: a note") != std::string::npos);
  const auto j =
      nlohmann::json::parse(comparisons_json(std::vector<FeatureComparison>{c}, R"({"seed": 3})"));
  CHECK(j["samples"]["seed"] == 3);
  const auto row = j["comparisons"][0]["rows"][0];
  CHECK(row["FD(run)"] == 0.25);
  CHECK(row["conditional_accuracy"] == 0.75);
  CHECK_FALSE(row.contains("FID"));
  CHECK(j["comparisons"][0]["sha256"] == "12");
}

TEST_CASE("the fitted Gaussian has the pixels' mean and covariance") {
  const auto table = std::make_shared<PixelTable>(40, ImageSize{1, 2});
  StatisticsSum fitted, drawn;
  const auto add = [](StatisticsSum& sum, const Image& image) {
    const Tensor row = empty({1, 6}, {DType::f64, {}});
    for (int k = 0; k < 6; ++k) row.data<double>()[k] = image.pixels[static_cast<std::size_t>(k)];
    sum.add(row);
  };
  for (std::int64_t i = 0; i < 40; ++i) {
    Rng rng(3, static_cast<std::uint64_t>(i));
    Image image(1, 2);
    const double common = 10 * rng.normal();
    for (std::uint8_t& pixel : image.pixels) {
      pixel = static_cast<std::uint8_t>(128 + common + 8 * rng.normal());
    }
    table->set(i, image);
    add(fitted, image);
  }
  const auto pictures = gaussian_pictures(table, 4000, 7);
  CHECK(pictures->get(5).image == gaussian_pictures(table, 10, 7)->get(5).image);
  CHECK_FALSE(pictures->get(5).image == gaussian_pictures(table, 10, 8)->get(5).image);
  for (std::int64_t i = 0; i < 4000; ++i) add(drawn, pictures->get(i).image);
  const FeatureStatistics a = fitted.finish(), b = drawn.finish();
  for (int k = 0; k < 6; ++k) CHECK(std::abs(a.mean.at(k) - b.mean.at(k)) < 1);
  for (int i = 0; i < 6; ++i) {
    for (int j = 0; j < 6; ++j) {  // 4000 pictures estimate a variance to 2.2 %
      const double scale = std::sqrt(a.covariance.at(7 * i) * a.covariance.at(7 * j));
      CHECK(std::abs(a.covariance.at(6 * i + j) - b.covariance.at(6 * i + j)) < 0.1 * scale);
    }
  }
}

TEST_CASE("a table takes pictures spread over the set, as they are read") {
  CHECK(PixelTable::rows_for(50, {8, 8}) == 50);
  CHECK(PixelTable::rows_for(20'000, {32, 32}) == 10'000);
  CHECK(PixelTable::rows_for(25'000, {32, 32}) == 8'334);
  CHECK(PixelTable::rows_for(50'000, {256, 256}) <= 1365);
  const auto images = std::make_shared<Drawn>(10, 1);
  const auto table = std::make_shared<PixelTable>(5, ImageSize{8, 8});
  const auto recording = recorded(images, table);
  for (std::int64_t i = 0; i < 10; ++i) CHECK(recording->get(i).label == i % 2);
  const Image third = images->get(4).image;
  CHECK(std::equal(third.pixels.begin(), third.pixels.end(), table->row(2)));
}

TEST_CASE("rows of measures: what needs the reference's features, and what does not") {
  MeanSpace space;
  const PassOptions options{.workers = 0, .classes = {0, 1}};
  const SetFeatures real = read_features(space, std::make_shared<Drawn>(40, 1), options);
  const SetFeatures fake = read_features(space, std::make_shared<Drawn>(30, 2), options);
  const MeasureRow row = measure(fake, Reference(real), 3);
  CHECK(row.count == 30);
  CHECK(row.reference_count == 40);
  CHECK(row.kid.has_value());
  CHECK(row.precision.has_value());
  const MeasureRow by_statistics = measure(fake, Reference(real.statistics), 3);
  CHECK(by_statistics.frechet == row.frechet);
  CHECK_FALSE(by_statistics.kid.has_value());
  CHECK(by_statistics.accuracy == 1);
  CHECK_FALSE(measure(fake, Reference(real), 30).precision.has_value());
}

TEST_CASE("a part of a set has its rows in the given order, and equal rows are counted") {
  MeanSpace space;
  const PassOptions options{.workers = 0};
  const SetFeatures real = read_features(space, std::make_shared<Drawn>(40, 1), options);
  const std::vector<std::int64_t> chosen{7, 2, 39};
  const SetFeatures part = real.subset(chosen);
  CHECK(part.count() == 3);
  CHECK(part.rows.at(0) == real.rows.at(14));
  CHECK(part.rows.at(5) == real.rows.at(79));
  CHECK(part.statistics.count == 3);
  CHECK(part.rows_also_in(real) == 3);
  CHECK(part.rows_also_in(real.subset(std::vector<std::int64_t>{1, 2, 3})) == 1);
  const SetFeatures fake = read_features(space, std::make_shared<Drawn>(30, 2), options);
  CHECK(fake.rows_also_in(real) == 0);
}

TEST_CASE("features in a file stand for the pictures of a reference") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "f.safetensors";
  MeanSpace space;
  const PassOptions options{.workers = 0, .classes = {0, 1}};
  SetFeatures real = read_features(space, std::make_shared<Drawn>(40, 1), options);
  real.spatial = real.statistics;
  write_features(path, {"cats", R"({"sha256": "12"})", real});
  const PictureSet set = open_picture_set(path.string(), {}, Split::train);
  CHECK(set.images == nullptr);
  CHECK(set.name == path.string() + ", features of cats");
  CHECK(set.features_origin == R"({"sha256": "12"})");
  REQUIRE(set.features.has_value());
  const SetFeatures fake = read_features(space, std::make_shared<Drawn>(30, 2), options);
  const MeasureRow stored = measure(fake, Reference(*set.features), 3),
                   read = measure(fake, Reference(real), 3);
  CHECK(stored.frechet == read.frechet);
  CHECK(stored.kid == read.kid);
  CHECK(stored.recall == read.recall);
  CHECK(set.features->accuracy() == real.accuracy());
  CHECK(set.features->inception_score == real.inception_score);
  CHECK(set.features->spatial->covariance.to_vector() == real.spatial->covariance.to_vector());
}

TEST_CASE("other files of tensors are no features") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "f.safetensors";
  const auto refusal = [&](const Tensor& rows, const char* format) {
    write_safetensors(path, {{"reference", rows}}, {{"format", format}});
    try {
      (void)read_features_file(path);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal(zeros({3, 2}), kFeaturesFormat).empty());
  CHECK(refusal(zeros({3, 2}), "other").find("is no file of features") != std::string::npos);
  CHECK(refusal(zeros({3}), kFeaturesFormat).find("expected f32 [N, d]") != std::string::npos);
  CHECK(refusal(full({3, 2}, NAN), kFeaturesFormat).find("f.safetensors") != std::string::npos);
}

TEST_CASE("sizes and transparency are those of all pictures, not of the first") {
  const TemporaryFolder folder;
  std::vector<ImageSize> sizes{{4, 6}, {4, 6}, {8, 8}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    write_png(folder.path() / (std::to_string(i) + ".png"), Image(sizes[i].height, sizes[i].width));
  }
  const PictureSet set = open_picture_set(folder.path().string(), {}, Split::train);
  const auto watch = std::make_shared<PictureWatch>();
  const auto images = watched(set.images, watch);
  CHECK(images->describe(1) == set.images->describe(1));
  for (std::int64_t i = 0; i < images->size(); ++i) (void)images->get(i);
  CHECK(watch->sizes() == 2);
  CHECK(watch->sizes_text() == "4x6 (2 pictures), 8x8 (1)");
  CHECK(watch->transparent() == 0);
  PictureWatch single;
  single.see({4, 6}, /*is_transparent=*/true);
  CHECK(single.sizes_text() == "4x6");
  CHECK(single.transparent() == 1);
}

}  // namespace fovea
