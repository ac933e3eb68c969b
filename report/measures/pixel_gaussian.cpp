// Collecting pixels, and drawing pictures as random sums of them.
#include "report/measures/pixel_gaussian.h"

#include <algorithm>
#include <cmath>

#include "data/geometry/evaluation_transform.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/rng.h"

namespace fovea {
namespace {

constexpr std::uint64_t kGaussStream = 0x6761757373;  // "gauss" in ASCII

const std::vector<std::string>& no_classes() {
  static const std::vector<std::string> none;
  return none;
}

class Recorded : public Dataset {
 public:
  Recorded(std::shared_ptr<const Dataset> images, std::shared_ptr<PixelTable> table)
      : images_(std::move(images)),
        table_(std::move(table)),
        step_((images_->size() + table_->rows() - 1) / table_->rows()) {}

  [[nodiscard]] std::int64_t size() const override { return images_->size(); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return images_->class_names();
  }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return images_->label(index);
  }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return images_->describe(index);
  }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    Sample sample = images_->get(index);
    if (index % step_ == 0) table_->set(index / step_, sample.image);
    return sample;
  }

 private:
  std::shared_ptr<const Dataset> images_;
  std::shared_ptr<PixelTable> table_;
  std::int64_t step_;
};

class GaussianPictures : public Dataset {
 public:
  GaussianPictures(std::shared_ptr<const PixelTable> table, std::int64_t count, std::uint64_t seed)
      : table_(std::move(table)), count_(count), seed_(seed) {
    mean_.resize(static_cast<std::size_t>(table_->values()));
    for (std::int64_t i = 0; i < table_->rows(); ++i) add_row(mean_, i, 1);
    for (float& value : mean_) value /= static_cast<float>(table_->rows());
  }

  [[nodiscard]] std::int64_t size() const override { return count_; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override {
    return no_classes();
  }
  [[nodiscard]] std::int64_t label(std::int64_t) const override { return -1; }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return concat("picture ", index, " of the fitted Gaussian");
  }
  /// mean + sum of z_i (x_i - mean) / sqrt(rows - 1).
  [[nodiscard]] Sample get(std::int64_t index) const override {
    Rng rng(seed_, stream_of(kGaussStream, static_cast<std::uint64_t>(index)));
    const float scale = 1 / std::sqrt(static_cast<float>(table_->rows() - 1));
    std::vector<float> sum(mean_.size());
    float weights = 0;
    for (std::int64_t i = 0; i < table_->rows(); ++i) {
      const auto weight = static_cast<float>(rng.normal()) * scale;
      add_row(sum, i, weight);
      weights += weight;
    }
    Sample sample{Image(table_->size().height, table_->size().width), -1};
    for (std::size_t k = 0; k < sum.size(); ++k) {
      const float value = mean_[k] + sum[k] - weights * mean_[k];
      sample.image.pixels[k] = static_cast<std::uint8_t>(std::clamp(value, 0.0F, 255.0F) + 0.5F);
    }
    return sample;
  }

 private:
  void add_row(std::vector<float>& sum, std::int64_t row, float weight) const {
    const std::uint8_t* const pixels = table_->row(row);
    for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += weight * static_cast<float>(pixels[k]);
  }

  std::shared_ptr<const PixelTable> table_;
  std::int64_t count_;
  std::uint64_t seed_;
  std::vector<float> mean_;
};

}  // namespace

PixelTable::PixelTable(std::int64_t rows, ImageSize size) : rows_(rows), size_(size) {
  check(rows >= 2, "Gaussian of pixels: got ", rows, " pictures, expected at least 2");
  pixels_.resize(static_cast<std::size_t>(rows * values()));
}

std::int64_t PixelTable::rows_for(std::int64_t pictures, ImageSize size) {
  // A drawn picture is a sum of all rows, so their number bounds its time.
  constexpr std::int64_t kMaxRows = 10'000, kMaxBytes = std::int64_t{256} << 20;
  const std::int64_t most =
      std::max<std::int64_t>(2, std::min(kMaxRows, kMaxBytes / (size.height * size.width * 3)));
  const std::int64_t step = (pictures + most - 1) / most;
  return (pictures + step - 1) / step;
}

void PixelTable::set(std::int64_t row, const Image& picture) {
  require_rgb8(picture, "Gaussian of pixels");
  const EvaluationTransform fit{size_, {}, {1.0, CropMode::center, Filter::bicubic}};
  const Image fitted = picture.size() == size_ ? picture : prepare_for_evaluation(picture, fit);
  std::copy(fitted.pixels.begin(), fitted.pixels.end(), pixels_.begin() + row * values());
}

std::shared_ptr<const Dataset> recorded(std::shared_ptr<const Dataset> images,
                                        std::shared_ptr<PixelTable> table) {
  return std::make_shared<Recorded>(std::move(images), std::move(table));
}

std::shared_ptr<const Dataset> gaussian_pictures(std::shared_ptr<const PixelTable> table,
                                                 std::int64_t count, std::uint64_t seed) {
  return std::make_shared<GaussianPictures>(std::move(table), count, seed);
}

}  // namespace fovea
