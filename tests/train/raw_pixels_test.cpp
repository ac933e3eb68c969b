// Batches of raw pixels: once finished they have the bits of a loader's values.
#include <doctest/doctest.h>

#include "tests/support/raw_batches.h"
#include "tests/support/tiny_run.h"

using namespace fovea;
using tests::same_bits;
using tests::two_batches;
using tests::TwoBatches;

namespace {

LoaderOptions eight_images(int workers) {
  LoaderOptions options;
  options.batch_size = 8;
  options.workers = workers;
  return options;
}

/// Images in turn of these formats, with different values everywhere.
class Formats : public Dataset {
 public:
  explicit Formats(std::vector<PixelFormat> formats) : formats_(std::move(formats)) {}
  using Dataset::get;
  [[nodiscard]] std::int64_t size() const override { return std::ssize(formats_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return names_; }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    Image image(6, 5, formats_.at(index));
    for (std::size_t i = 0; i < image.pixels.size(); ++i)
      image.pixels[i] = static_cast<std::uint8_t>(7 * i + index) % 63;  // small floats, if floats
    return {std::move(image), index};
  }

 private:
  std::vector<PixelFormat> formats_;
  std::vector<std::string> names_;
};

/// The batch of all images of these formats.
Batch batch_of(const std::vector<PixelFormat>& formats, bool raw) {
  LoaderOptions options = evaluation_loader_options(std::ssize(formats), 0);
  options.rows.raw = raw;
  return Loader(std::make_shared<Formats>(formats), {}, options).next();
}

}  // namespace

TEST_CASE("raw pixels are cropped, flipped and recoloured, and finished have a loader's values") {
  for (const EraseFill fill : {EraseFill::constant, EraseFill::random, EraseFill::pixel}) {
    for (const ImageSize size : {ImageSize{16, 16}, ImageSize{9, 7}}) {
      CAPTURE(name_of(fill));
      CAPTURE(size.width);
      const auto [values, raw] = two_batches(tests::erasing(fill, size), eight_images(2));
      REQUIRE(raw.raw.has_value());
      CHECK(raw.images.dtype() == DType::u8);
      CHECK(raw.images.shape() == values.images.shape());
      CHECK(same_bits(raw.labels, values.labels));
      const Batch done = with_values(raw);
      CHECK_FALSE(done.raw.has_value());
      CHECK(same_bits(done.images, values.images));
      CHECK(raw.raw->fills.numel() > 0);  // boxes were erased
    }
  }
}

TEST_CASE("splits and rows that are not erased stay what they are") {
  LoaderOptions options = eight_images(0);
  options.rows.splits = 3;
  options.rows.unfinished_every = 3;
  const auto [values, raw] =
      two_batches(tests::erasing(EraseFill::pixel, {12, 12}, /*probability=*/1), options);
  CHECK(raw.size() == 24);
  CHECK(same_bits(with_values(raw).images, values.images));
}

TEST_CASE("raw pixels that are mixed have the values and targets of a mixed batch") {
  for (std::size_t turn = 0; turn < 6; ++turn) {
    CAPTURE(turn);
    const TwoBatches drawn =
        two_batches(tests::erasing(EraseFill::pixel, {10, 9}), eight_images(1));
    const auto [values, raw] = tests::mixed(drawn, tests::mixing(turn));
    CHECK(same_bits(raw.at("targets"), values.at("targets")));
    CHECK(same_bits(with_values(raw).images, values.images));
    CHECK_FALSE(same_bits(with_values(raw).images, with_values(drawn.raw).images));
  }
}

TEST_CASE("a batch is raw if all of its images are 8-bit RGB, and otherwise has values") {
  const PixelFormat rgb{}, gray{PixelType::u8, 1}, wide{PixelType::u16, 3}, real{PixelType::f32, 3},
      many{PixelType::u8, 5};
  CHECK(batch_of({rgb, rgb}, true).raw.has_value());
  CHECK_FALSE(batch_of({rgb, rgb}, false).raw.has_value());
  const std::vector<std::vector<PixelFormat>> others{{gray, gray}, {wide, wide}, {real, real},
                                                     {many, many}, {rgb, wide},  {real, rgb}};
  for (const std::vector<PixelFormat>& formats : others) {
    const Batch batch = batch_of(formats, true);
    CHECK_FALSE(batch.raw.has_value());
    CHECK(same_bits(batch.images, batch_of(formats, false).images));
    CHECK(same_bits(with_values(batch).images, batch.images));
  }
  LoaderOptions padded = eight_images(0);
  padded.rows.pad_multiple = 4;
  const auto [values, raw] = two_batches(tests::erasing(EraseFill::constant, {6, 6}), padded);
  CHECK_FALSE(raw.raw.has_value());
  CHECK(same_bits(raw.images, values.images));
}

TEST_CASE("on the CPU no run has raw pixels") {
  CHECK_FALSE(make_trainer(tiny_config()).uploads_bytes());
}

TEST_CASE("tasks that read images on the CPU, or whose images have targets, take values") {
  for (const TaskKind kind :
       {TaskKind::classification, TaskKind::masked_autoencoding, TaskKind::diffusion,
        TaskKind::autoencoding, TaskKind::depth, TaskKind::detection}) {
    const TaskInfo info = task_info(config_for(kind));
    CHECK(info.takes_raw_pixels != info.has_targets);
  }
}
