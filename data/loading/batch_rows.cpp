// Collects rows. Values of images of one size are written directly to the batch; others wait until
// the largest size is known, and possibly raw pixels until all images are.
#include "data/loading/batch_rows.h"

#include <algorithm>
#include <utility>

#include "data/geometry/transforms.h"
#include "data/loading/raw_pixels.h"
#include "engine/base/error.h"

namespace fovea {
namespace {

constexpr TensorOptions kWhole = {DType::i64, {}};

std::int64_t rounded_up(std::int64_t side, std::int64_t multiple) {
  return (side + multiple - 1) / multiple * multiple;
}

/// Copies [C, small] to the upper left corner of [C, large].
void place(const float* from, ImageSize small, float* to, ImageSize large, std::int64_t channels) {
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < small.height; ++y)
      std::copy_n(from + (c * small.height + y) * small.width, small.width,
                  to + (c * large.height + y) * large.width);
  }
}

/// Throws unless both or neither have boxes, and their maps agree in name and channels.
void require_alike(const ImageTargets& a, const ImageTargets& b) {
  check(a.boxes.has_value() == b.boxes.has_value(),
        "some samples have boxes and others have none, expected a list for each");
  const bool alike = std::ranges::equal(a.maps, b.maps, [](const DenseMap& x, const DenseMap& y) {
    return x.name == y.name && x.values.format.channels == y.values.format.channels;
  });
  check(alike, "samples differ in their dense maps, expected the same names and channels for each");
}

}  // namespace

BatchRows::BatchRows(std::int64_t most, const RowOptions& options,
                     const Normalization& normalization)
    : most_(most),
      pad_multiple_(options.pad_multiple),
      keeps_images_(options.raw && options.pad_multiple == 0),
      normalization_(normalization) {
  rows_.reserve(static_cast<std::size_t>(most));
}

void BatchRows::write_values(const Image& image, std::span<const Erasure> erased, float* to) const {
  normalize(image, normalization_, to);
  for (const auto& [box, fill] : erased) erase_box(to, image.size(), box, fill);
}

/// The values of a row of images of one size.
float* BatchRows::place_of(std::int64_t row) {
  if (!images_.defined()) images_ = empty({most_, channels_, size_.height, size_.width});
  return images_.data<float>() + row * channels_ * size_.height * size_.width;
}

void BatchRows::add(Sample sample, std::int64_t index, std::vector<Erasure> erased) {
  const ImageSize size = sample.image.size();
  const std::int64_t channels = sample.image.format.channels;
  if (rows_.empty()) {
    channels_ = channels;
    size_ = size;
  }
  check(channels == channels_, "it has ", channels, " channels, the batch began with ", channels_);
  for (const DenseMap& map : sample.targets.maps)
    check(map.values.size() == size, "its map \"", map.name, "\" is ", to_string(map.values.size()),
          ", its image ", to_string(size));
  const bool pads = pad_multiple_ > 0;
  check(pads || size == size_, "its size is ", size.height, " x ", size.width,
        ", the batch began with ", size_.height, " x ", size_.width);
  BufferedRow& row =
      rows_.emplace_back(BufferedRow{size, sample.label, index, std::move(sample.targets)});
  require_alike(rows_.front().targets, row.targets);
  if (keeps_images_) {
    row.image = std::move(sample.image);
    row.erased = std::move(erased);
    return;
  }
  if (!pads) return write_values(sample.image, erased, place_of(count() - 1));
  size_ = {std::max(size_.height, size.height), std::max(size_.width, size.width)};
  row.values.resize(static_cast<std::size_t>(channels * size.height * size.width));
  write_values(sample.image, erased, row.values.data());
}

Tensor BatchRows::padded_images() const {
  Tensor images = zeros({count(), channels_, size_.height, size_.width});
  float* to = images.data<float>();
  for (const BufferedRow& row : rows_) {
    place(row.values.data(), row.size, to, size_, channels_);
    to += channels_ * size_.height * size_.width;
  }
  return images;
}

bool BatchRows::are_raw() const {
  return keeps_images_ &&
         std::ranges::all_of(rows_, [](const BufferedRow& row) { return row.image.is_rgb8(); });
}

void BatchRows::add_raw(Batch& batch) {
  batch.images = empty({count(), channels_, size_.height, size_.width}, {DType::u8, {}});
  std::uint8_t* to = batch.images.data<std::uint8_t>();
  std::vector<std::vector<Erasure>> erased;
  for (BufferedRow& row : rows_) {
    planar_bytes(row.image, to);
    to += channels_ * size_.height * size_.width;
    erased.push_back(std::move(row.erased));
  }
  batch.raw = raw_pixels(normalization_, erased);
}

/// The values of images of one size.
Tensor BatchRows::take_images() {
  for (std::int64_t b = 0; keeps_images_ && b < count(); ++b)
    write_values(rows_[b].image, rows_[b].erased, place_of(b));
  if (count() == most_) return std::exchange(images_, {});
  Shape shape = images_.shape();
  shape[0] = count();
  return images_.alias(shape, images_.strides(), 0);
}

Tensor BatchRows::mask() const {
  Tensor mask = zeros({count(), size_.height, size_.width});
  float* to = mask.data<float>();
  for (const BufferedRow& row : rows_) {
    for (std::int64_t y = 0; y < row.size.height; ++y)
      std::fill_n(to + y * size_.width, row.size.width, 1.0F);
    to += size_.height * size_.width;
  }
  return mask;
}

void BatchRows::add_boxes(Batch& batch) const {
  std::int64_t most = 1;
  for (const BufferedRow& row : rows_) most = std::max(most, std::ssize(*row.targets.boxes));
  Tensor boxes = zeros({count(), most, 4}), labels = full({count(), most}, -1, kWhole);
  Tensor counts = empty({count()}, kWhole);
  for (std::int64_t b = 0; b < count(); ++b) {
    float* to = boxes.data<float>() + b * most * 4;
    std::int64_t* label = labels.data<std::int64_t>() + b * most;
    const std::vector<ObjectBox>& found = *rows_[b].targets.boxes;
    for (const ObjectBox& box : found) {
      for (const float side : {box.x0, box.y0, box.x1, box.y1}) *to++ = side;
      *label++ = box.label;
    }
    counts.data<std::int64_t>()[b] = std::ssize(found);
  }
  batch.set("boxes", boxes);
  batch.set("box_labels", labels);
  batch.set("box_count", counts);
}

Tensor BatchRows::dense(std::size_t map) const {
  const DenseMap& first = rows_.front().targets.maps[map];
  const std::int64_t channels = first.values.format.channels;
  Tensor result = full({count(), channels, size_.height, size_.width}, first.outside);
  float* to = result.data<float>();
  std::vector<float> values;
  for (const BufferedRow& row : rows_) {
    const Image& image = row.targets.maps[map].values;
    values.resize(static_cast<std::size_t>(channels * image.height * image.width));
    planar_values(image, values.data());
    place(values.data(), row.size, to, size_, channels);
    to += channels * size_.height * size_.width;
  }
  return result;
}

Batch BatchRows::take() {
  Batch batch;
  batch.labels = empty({count()}, kWhole);
  batch.indices = empty({count()}, kWhole);
  for (std::int64_t b = 0; b < count(); ++b) {
    batch.labels.data<std::int64_t>()[b] = rows_[b].label;
    batch.indices.data<std::int64_t>()[b] = rows_[b].index;
  }
  if (rows_.empty()) return batch;
  if (pad_multiple_ > 0) {
    size_ = {rounded_up(size_.height, pad_multiple_), rounded_up(size_.width, pad_multiple_)};
    batch.images = padded_images();
    batch.set("mask", mask());
  } else if (are_raw()) {
    add_raw(batch);
  } else {
    batch.images = take_images();
  }
  const ImageTargets& targets = rows_.front().targets;
  if (targets.boxes) add_boxes(batch);
  for (std::size_t map = 0; map < targets.maps.size(); ++map)
    batch.set(targets.maps[map].name, dense(map));
  return batch;
}

}  // namespace fovea
