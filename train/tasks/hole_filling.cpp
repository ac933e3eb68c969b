// Inpainting baseline. One sweep per direction: a pixel's nearest visible pixel follows from its
// neighbour's.
#include "train/tasks/hole_filling.h"

#include <array>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

constexpr std::array<std::pair<int, int>, 8> kDirections = {
    {{0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {1, -1}, {-1, 1}, {-1, -1}}};

/// An image with visible and hidden pixels.
struct Sheet {
  const float* values;  ///< [channels, height, width]
  std::int64_t channels, height, width;
  std::vector<bool> visible;  ///< [height, width]

  [[nodiscard]] std::int64_t pixels() const { return height * width; }
};

/// For each pixel, the nearest visible one in a direction, itself included: its index or -1, and
/// its distance in steps.
struct Sight {
  std::vector<std::int64_t> place, steps;

  Sight(const Sheet& sheet, int down, int right)
      : place(static_cast<std::size_t>(sheet.pixels()), -1), steps(place.size()) {
    // Starts from the side that the direction points to, so the neighbour's result is known.
    for (std::int64_t i = 0; i < sheet.height; ++i) {
      const std::int64_t y = down > 0 ? sheet.height - 1 - i : i;
      for (std::int64_t j = 0; j < sheet.width; ++j) {
        look(sheet, y, right > 0 ? sheet.width - 1 - j : j, {down, right});
      }
    }
  }

 private:
  void look(const Sheet& sheet, std::int64_t y, std::int64_t x, std::pair<int, int> direction) {
    const auto at = static_cast<std::size_t>(y * sheet.width + x);
    if (sheet.visible[at]) {
      place[at] = static_cast<std::int64_t>(at);
      return;
    }
    const std::int64_t to_y = y + direction.first, to_x = x + direction.second;
    if (to_y < 0 || to_y >= sheet.height || to_x < 0 || to_x >= sheet.width) return;
    const auto neighbour = static_cast<std::size_t>(to_y * sheet.width + to_x);
    place[at] = place[neighbour];
    steps[at] = steps[neighbour] + 1;
  }
};

/// Weighted sums over the directions.
struct Fill {
  std::vector<double> values;   ///< [channels, pixels], multiplied by their weights
  std::vector<double> weights;  ///< [pixels]

  explicit Fill(const Sheet& sheet)
      : values(static_cast<std::size_t>(sheet.channels * sheet.pixels())),
        weights(static_cast<std::size_t>(sheet.pixels())) {
    for (const auto& [down, right] : kDirections)
      add(sheet, Sight(sheet, down, right), down, right);
  }

 private:
  void add(const Sheet& sheet, const Sight& sight, int down, int right) {
    const double unit = down * down + right * right;  // the squared length of a step
    for (std::size_t at = 0; at < weights.size(); ++at) {
      if (sheet.visible[at] || sight.place[at] < 0) continue;
      const auto steps = static_cast<double>(sight.steps[at]);
      const double weight = 1 / (unit * steps * steps);
      weights[at] += weight;
      for (std::int64_t c = 0; c < sheet.channels; ++c) {
        values[static_cast<std::size_t>(c * sheet.pixels()) + at] +=
            weight * static_cast<double>(sheet.values[c * sheet.pixels() + sight.place[at]]);
      }
    }
  }
};

double mean_of_visible(const Sheet& sheet, std::int64_t channel) {
  double sum = 0;
  std::int64_t count = 0;
  for (std::int64_t at = 0; at < sheet.pixels(); ++at) {
    if (!sheet.visible[static_cast<std::size_t>(at)]) continue;
    sum += static_cast<double>(sheet.values[channel * sheet.pixels() + at]);
    ++count;
  }
  check(count > 0, "fill_holes: no pixel of an image is visible");
  return sum / static_cast<double>(count);
}

void fill(const Sheet& sheet, float* filled) {
  const Fill sums(sheet);
  for (std::int64_t c = 0; c < sheet.channels; ++c) {
    const double mean = mean_of_visible(sheet, c);
    for (std::int64_t at = 0; at < sheet.pixels(); ++at) {
      const std::int64_t i = c * sheet.pixels() + at;
      const double weight = sums.weights[static_cast<std::size_t>(at)];
      const double seen = weight > 0 ? sums.values[static_cast<std::size_t>(i)] / weight : mean;
      filled[i] =
          sheet.visible[static_cast<std::size_t>(at)] ? sheet.values[i] : static_cast<float>(seen);
    }
  }
}

/// Visible pixels of one image from `hidden` [N], one value per patch.
std::vector<bool> visible_pixels(const float* hidden, std::int64_t height, std::int64_t width,
                                 std::int64_t patch) {
  std::vector<bool> visible(static_cast<std::size_t>(height * width));
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      visible[static_cast<std::size_t>(y * width + x)] =
          hidden[y / patch * (width / patch) + x / patch] == 0;
    }
  }
  return visible;
}

}  // namespace

Tensor fill_holes(const Tensor& images, const Tensor& hidden, std::int64_t patch_size) {
  check(images.rank() == 4 && images.dtype() == DType::f32 && images.device().is_cpu(),
        "fill_holes: got images ", images.dtype(), " ", images.shape(), " on ",
        to_string(images.device()), ", expected f32 [B, C, H, W] on the CPU");
  const std::int64_t B = images.size(0), C = images.size(1), H = images.size(2), W = images.size(3);
  check(patch_size >= 1 && H % patch_size == 0 && W % patch_size == 0, "fill_holes: got images ",
        images.shape(), " and patches of ", patch_size, " pixels, expected whole patches");
  const Shape expected{B, H / patch_size * (W / patch_size)};
  check(hidden.shape() == expected && hidden.dtype() == DType::f32, "fill_holes: got hidden ",
        hidden.dtype(), " ", hidden.shape(), ", expected f32 ", expected);
  const Tensor from = images.contiguous(), mask = hidden.contiguous(), to = empty(images.shape());
  const float *const values = from.data<float>(), *const masks = mask.data<float>();
  float* const filled = to.data<float>();
  parallel_for(B, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const Sheet sheet{values + b * C * H * W, C, H, W,
                        visible_pixels(masks + b * mask.size(1), H, W, patch_size)};
      fill(sheet, filled + b * C * H * W);
    }
  });
  return to;
}

}  // namespace fovea
