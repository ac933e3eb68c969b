// Pairs the files of two folders by their names.
#include "data/sources/dense/depth_pairs.h"

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

}  // namespace

DepthPairs::DepthPairs(const DatasetOptions& options, Split split)
    : FileDataset(options.exif_orientation), root_(find_pairs(options, split)) {
  if (root_.empty()) fail_without_split(options, split);
  check(holds_pairs(root_), root_.string(), ": has no folder ",
        is_folder(root_ / "rgb") ? "depth" : "rgb",
        ", expected rgb/NAME.png or .jpg and depth/NAME.png");
  pair_files();
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
  Image metres = decode_depth_png(as_u8(read_file(path)), path.string());
  return {.maps = {{"depth", std::move(metres), Filter::nearest, 0}}};
} catch (const ImageError&) {
  throw;
} catch (const Error& error) {
  throw ImageError(error.what());
}

}  // namespace fovea
