// NYU's pictures and depth maps, which MATLAB stores column by column.
#include "data/sources/dense/nyu/nyu_depth.h"

#include <cmath>
#include <utility>

#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/matlab_split_lists.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImages = "images";
constexpr const char* kDepths = "depths";
constexpr const char* kRawDepths = "rawDepths";

fs::path find_labelled(const DatasetOptions& options) {
  const std::string file = "nyu_depth_v2_labeled.mat";
  const fs::path folder = folder_with(options.data_dir, {"nyu", "nyu_depth_v2"}, file);
  check(!folder.empty(), options.data_dir.string(), ": has no ", file,
        ", expected NYU's labelled file and splits.mat; set the folder with --data-dir or ",
        "$FOVEA_DATA");
  return folder / file;
}

/// Columns [C, W, H], as MATLAB stores an image, to interleaved rows.
template <class T>
Image from_columns(const Tensor& columns, ImageSize size, int channels) {
  Image image(size.height, size.width, {kPixelType<T>, channels});
  const T* from = columns.data<T>();
  for (int c = 0; c < channels; ++c) {
    for (std::int64_t x = 0; x < size.width; ++x) {
      for (std::int64_t y = 0; y < size.height; ++y) image.values<T>(y, x)[c] = *from++;
    }
  }
  return image;
}

}  // namespace

NyuDepth::NyuDepth(const DatasetOptions& options, Split split)
    : path_(find_labelled(options)), file_(path_) {
  check_arrays(split == Split::test);
  const fs::path splits = path_.parent_path() / "splits.mat";
  check(is_file(splits), splits.string(), ": does not exist, expected the official split, a file ",
        "of its own beside the labelled one");
  const std::int64_t images = file_.entry(kImages).shape[0];
  const SplitLists lists = read_matlab_split_lists(splits, {"trainNdxs", "testNdxs"}, images);
  numbers_ = lists[split == Split::train ? 0 : 1].second;
  check(!numbers_.empty(), splits.string(), ": its list ",
        lists[split == Split::train ? 0 : 1].first, " is empty");
  constexpr std::int64_t official = 1449;
  if (images != official) {
    notice_ = concat(path_.string(), ": ", images, " images, the official set has ", official);
  }
}

/// Checks types and shapes, and sets the size of the images.
void NyuDepth::check_arrays(bool wants_raw) {
  const StoredEntry images = file_.entry(kImages), depths = file_.entry(kDepths);
  check(images.type == StoredType::u8 && images.shape.rank() == 4 && images.shape[1] == 3 &&
            images.shape.numel() > 0,
        path_.string(), ": images is ", to_string(images.type), " ", images.shape,
        ", expected U8 [images, 3, width, height]");
  const std::int64_t width = images.shape[2], height = images.shape[3];
  check(width * height <= kMaxPixels, path_.string(), ": has images of ", width, " x ", height,
        " pixels, the limit is ", kMaxPixels);
  const Shape expected{images.shape[0], width, height};
  check(depths.type == StoredType::f32 && depths.shape == expected, path_.string(), ": depths is ",
        to_string(depths.type), " ", depths.shape, ", expected F32 ", expected, " like images");
  size_ = {height, width};
  has_raw_ = wants_raw && file_.has(kRawDepths);
  if (!has_raw_) return;
  const StoredEntry raw = file_.entry(kRawDepths);
  check(raw.type == StoredType::f32 && raw.shape == expected, path_.string(), ": rawDepths is ",
        to_string(raw.type), " ", raw.shape, ", expected F32 ", expected, " like images");
}

std::int64_t NyuDepth::number(std::int64_t index) const {
  check_index(index, path_.string());
  return numbers_[static_cast<std::size_t>(index)];
}

Image NyuDepth::depth(const std::string& array, std::int64_t index) const {
  Image metres = from_columns<float>(file_.read_rows(array, number(index), 1), size_, 1);
  const float* values = metres.values<float>(0, 0);
  for (std::int64_t i = 0; i < size_.height * size_.width; ++i) {
    if (std::isfinite(values[i]) && values[i] >= 0) continue;
    fail(describe(index), ": ", array, " has ", values[i], " m at row ", i / size_.width,
         ", column ", i % size_.width, ", expected 0 (unknown) or more");
  }
  return metres;
}

Sample NyuDepth::get(std::int64_t index) const try {
  Sample sample{from_columns<std::uint8_t>(file_.read_rows(kImages, number(index), 1), size_, 3)};
  sample.targets.maps.push_back({"depth", depth(kDepths, index), Filter::nearest, 0});
  if (has_raw_) {
    sample.targets.maps.push_back({"raw_depth", depth(kRawDepths, index), Filter::nearest, 0});
  }
  return sample;
} catch (const Error& error) {
  throw ImageError(error.what());
}

std::string NyuDepth::describe(std::int64_t index) const {
  return path_.string() + ": image " + std::to_string(number(index) + 1);
}

void NyuDepth::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name += std::to_string(number(index) + 1);
  entry.label = 0;
}

}  // namespace fovea
