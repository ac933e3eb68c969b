// Pairs the files of two folders by their names.
#include "data/sources/dense/depth_pairs.h"

#include <algorithm>
#include <map>
#include <utility>

#include "data/codecs/depth_png.h"
#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/folder_index.h"
#include "data/sources/files/split_folders.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

bool holds_pairs(const fs::path& folder) {
  return is_folder(folder / "rgb") && is_folder(folder / "depth");
}

fs::path find_pairs(const DatasetOptions& options, Split split) {
  const fs::path found = find_split_folder(options, split);
  const bool is_plain_test = split == Split::test && wanted_split(options, split).empty();
  const fs::path test = find_ignoring_case(options.data_dir, "test");
  if (is_plain_test && !holds_pairs(found) && holds_pairs(test)) return test;
  return found;
}

/// The picture files below a folder: the path without its ending, and the path, both below it.
std::vector<std::pair<std::string, std::string>> files_below(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const fs::path& path : pictures_below(folder)) {
    const fs::path below = path.lexically_relative(folder);
    files.emplace_back((below.parent_path() / below.stem()).string(), below.string());
  }
  return files;
}

/// Explains how to lay out or divide the pairs.
[[noreturn]] void fail_without_pairs(const DatasetOptions& options, Split split) {
  const bool is_one = holds_pairs(options.data_dir);
  const bool has_train = holds_pairs(find_split_folder(options, Split::train));
  const bool is_named = !wanted_split(options, split).empty();
  if (!is_folder(options.data_dir) || is_named) fail_without_split(options, split);
  const std::string name = split == Split::train ? "train" : "val";
  check(!is_one && !has_train, options.data_dir.string(), ": has no folder ", name,
        "; --val-fraction 0.1 holds out a tenth of the pairs in ",
        is_one ? "rgb/ and depth/" : "train/", " for validation, ", split_flag(split),
        " FOLDER sets another folder");
  fail(options.data_dir.string(), ": has no folder ", name, " with rgb/ and depth/; expected ",
       "train/ and val/, each with rgb/NAME.png or .jpg and depth/NAME.png, or rgb/ and depth/ ",
       "with --val-fraction 0.1");
}

/// Whether a map has the greatest value of 16 bits. A damaged one is reported when it is needed.
bool holds_greatest_value(const fs::path& path) {
  try {
    const Image map =
        decode_image(as_u8(read_file(path)), path.string(), DecodeOptions{.as_stored = true});
    if (map.format != PixelFormat{PixelType::u16, 1}) return false;
    const auto* const values = map.values<std::uint16_t>(0, 0);
    const std::uint16_t* const end = values + map.height * map.width;
    return std::find(values, end, kUnknownDepth) != end;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

DepthPairs::DepthPairs(const DatasetOptions& options, Split split)
    : FileDataset(options.exif_orientation),
      root_(find_pairs(options, split)),
      scale_(options.depth_scale) {
  if (root_.empty()) fail_without_pairs(options, split);
  check(holds_pairs(root_), root_.string(), ": has no folder ",
        is_folder(root_ / "rgb") ? "depth" : "rgb",
        ", expected rgb/NAME.png or .jpg and depth/NAME.png");
  pair_files();
  note_unknown_depths();
}

void DepthPairs::pair_files() {
  std::map<std::string, std::string> depths;
  for (auto& [name, path] : files_below(root_ / "depth")) {
    check(lowercase_ending(path) == ".png", (root_ / "depth" / path).string(),
          ": a depth map is a 16-bit PNG file");
    const auto [known, is_new] = depths.emplace(std::move(name), path);
    check(is_new, (root_ / "depth" / path).string(), ": ", known->second,
          " is the same map's name");
  }
  std::vector<std::string> without;
  const std::string* before = nullptr;
  const auto pictures = files_below(root_ / "rgb");
  for (const auto& [name, path] : pictures) {
    check(before == nullptr || *before != name, (root_ / "rgb" / path).string(), ": ",
          names_.empty() ? "" : names_.back().picture, " is a picture of the same name");
    before = &name;
    const auto depth = depths.find(name);
    if (depth == depths.end()) {
      without.push_back(visible_text(path));
      continue;
    }
    names_.push_back({path, depth->second});
    depths.erase(depth);
  }
  check(!pictures.empty(), (root_ / "rgb").string(), ": contains no pictures");
  check(without.empty(), root_.string(), ": ", without.size(), " of ", pictures.size(),
        " pictures in rgb/ have no depth/NAME.png: ", first_few(without));
  if (depths.empty()) return;
  std::vector<std::string> unused;
  for (const auto& [name, path] : depths) unused.push_back(visible_text(path));
  notice_ = concat(root_.string(), ": ", unused.size(),
                   " depth maps have no picture in rgb/: ", first_few(unused));
}

void DepthPairs::note_unknown_depths() {
  constexpr std::int64_t most = 16;
  const std::int64_t looked_at = std::min(size(), most);
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < looked_at; ++i)
    found += holds_greatest_value(root_ / "depth" / at(i * size() / looked_at).depth) ? 1 : 0;
  if (found == 0) return;
  notice_ += concat(notice_.empty() ? root_.string() + ": " : "; ", found, " of ", looked_at,
                    " depth maps looked at hold 65535, which counts as unknown, as 0 does");
}

const DepthPairs::Pair& DepthPairs::at(std::int64_t index) const {
  check_index(index, root_.string());
  return names_[static_cast<std::size_t>(index)];
}

std::string DepthPairs::describe(std::int64_t index) const {
  return (root_ / "rgb" / at(index).picture).string();
}

std::optional<std::string> DepthPairs::file(std::int64_t index) const {
  return read_file(describe(index));
}

void DepthPairs::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name += at(index).picture;
  entry.label = 0;
}

ImageTargets DepthPairs::targets(std::int64_t index) const try {
  const fs::path path = root_ / "depth" / at(index).depth;
  Image metres = decode_depth_png(as_u8(read_file(path)), path.string(), kMaxPixels, scale_);
  return {.maps = {{"depth", std::move(metres), Filter::nearest, 0}}};
} catch (const ImageError&) {
  throw;
} catch (const Error& error) {
  throw ImageError(error.what());
}

}  // namespace fovea
