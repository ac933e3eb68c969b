// Parses shape and texture from picture names.
#include "data/sources/files/cue_conflict.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "data/sources/files/folder_index.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/names.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

struct Cues {
  fs::path file;
  std::int64_t shape = 0, texture = 0;
};

class CueConflictFolder : public FileDataset {
 public:
  CueConflictFolder(std::vector<std::string> categories, std::vector<Cues> images,
                    std::string notice)
      : categories_(std::move(categories)), images_(std::move(images)) {
    notice_ = std::move(notice);
  }

  [[nodiscard]] std::int64_t size() const override { return std::ssize(images_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return categories_; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override { return at(index).shape; }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override {
    return read_file(at(index).file);
  }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return at(index).file.string();
  }

 private:
  [[nodiscard]] const Cues& at(std::int64_t index) const {
    check_index(index, "cue conflict");
    return images_[static_cast<std::size_t>(index)];
  }

  std::vector<std::string> categories_;
  std::vector<Cues> images_;
};

/// "cat" for "cat12"; empty if the word does not end with a number.
std::string without_number(std::string_view word) {
  const std::size_t end = word.find_last_not_of("0123456789");
  if (end == std::string_view::npos || end + 1 == word.size()) return {};
  return std::string(word.substr(0, end + 1));
}

class NameReader {
 public:
  explicit NameReader(const std::vector<std::string>& categories) : names_(categories) {
    for (std::size_t k = 0; k < names_.size(); ++k)
      numbers_.emplace(names_[k], static_cast<std::int64_t>(k));
  }

  [[nodiscard]] Cues read(const fs::path& file) const {
    const std::string shape = visible_text(file.parent_path().filename().string());
    const std::string stem = visible_text(file.stem().string());
    const std::size_t dash = stem.find('-', std::min(shape.size(), stem.size()));
    const bool named = dash != std::string::npos && stem.starts_with(shape) &&
                       without_number(std::string_view(stem).substr(0, dash)) == shape;
    const std::string texture =
        named ? without_number(std::string_view(stem).substr(dash + 1)) : "";
    const std::int64_t label = find(shape, file);  // first: identifies a wrong folder best
    check(!texture.empty(), file.string(), ": got the name \"", stem, "\", expected \"", shape,
          "\", a number, \"-\", a category and a number, as in ", shape, "1-", other_than(shape),
          "2");
    return {file, label, find(texture, file)};
  }

 private:
  [[nodiscard]] std::int64_t find(const std::string& category, const fs::path& file) const {
    const auto found = numbers_.find(category);
    check(found != numbers_.end(), file.string(), ": \"", category, "\" is not one of the ",
          names_.size(), " categories", did_you_mean(category, names_),
          "; a class map lists the model's classes of each category, in lines such as \"", category,
          ": index index ...\"");
    return found->second;
  }
  [[nodiscard]] std::string other_than(const std::string& name) const {
    const auto other = std::ranges::find_if(names_, [&](const auto& n) { return n != name; });
    return other == names_.end() ? name : *other;
  }

  const std::vector<std::string>& names_;
  std::map<std::string, std::int64_t> numbers_;
};

}  // namespace

CueConflict open_cue_conflict(const fs::path& folder, const std::vector<std::string>& categories) {
  const std::vector<fs::path> files = pictures_below(folder);
  check(!files.empty(), folder.string(),
        ": contains no pictures, expected SHAPE/SHAPEn-TEXTUREm.png for each category");
  const NameReader names(categories);
  std::vector<bool> seen(categories.size());
  std::vector<Cues> conflicts;
  CueConflict result;
  for (const fs::path& file : files) {
    const Cues cues = names.read(file);
    seen[static_cast<std::size_t>(cues.shape)] = true;
    if (cues.shape == cues.texture) continue;
    conflicts.push_back(cues);
    result.textures.push_back(cues.texture);
  }
  const auto empty = std::ranges::find(seen, false);
  check(empty == seen.end(), folder.string(), ": has no pictures of the category \"",
        empty == seen.end() ? "" : categories[static_cast<std::size_t>(empty - seen.begin())],
        "\", expected a folder of that name with pictures");
  check(!conflicts.empty(), folder.string(), ": shape and texture agree in all ", files.size(),
        " pictures, expected pictures with a conflict");
  const std::string notice = folder.string() + ": " + std::to_string(conflicts.size()) + " of " +
                             std::to_string(files.size()) +
                             " pictures count; shape and texture agree in the others";
  const bool all_count = conflicts.size() == files.size();
  result.images = std::make_shared<CueConflictFolder>(categories, std::move(conflicts),
                                                      all_count ? "" : notice);
  return result;
}

}  // namespace fovea
