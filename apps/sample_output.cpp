// Pictures are written as they are made, so that an interrupted program keeps them.
#include "apps/sample_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/figures/generated_pictures.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

constexpr std::int64_t kMaxInGrid = 400;  // the pictures of the grid stay in memory

std::string padded(std::int64_t number) {
  std::string digits = std::to_string(number);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return digits;
}

}  // namespace

std::string sample_name(std::int64_t index, std::int64_t label, std::uint64_t seed) {
  return padded(index) + "-class" + std::to_string(label) + "-seed" + std::to_string(seed) + ".png";
}

bool has_other_samples(const std::filesystem::path& folder, const std::string& settings) {
  const std::filesystem::path file = folder / "samples.json";
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return false;
  nlohmann::json before = parse_json(read_file(file)), now = parse_json(settings);
  if (!before.is_object()) return true;
  for (nlohmann::json* json : {&before, &now}) {
    for (const char* key : {"count", "first"}) json->erase(key);
  }
  return before != now;
}

std::filesystem::path free_sample_folder(const std::filesystem::path& base,
                                         const std::string& settings) {
  std::filesystem::path folder = base;
  for (int i = 2; has_other_samples(folder, settings); ++i) {
    folder = base.string() + "-" + std::to_string(i);
  }
  return folder;
}

SampleOutput::SampleOutput(SampleFiles files) : files_(std::move(files)) {
  if (!files_.npz.empty()) npz_.emplace(files_.npz);
  if (!files_.folder.empty()) make_folder(files_.folder);
}

void SampleOutput::write_picture(const LabelledPicture& sample) {
  if (files_.folder.empty()) return;
  write_png(files_.folder / sample_name(sample.index, sample.label, files_.seed), sample.picture);
  if (std::ssize(grid_) < kMaxInGrid) grid_.push_back(sample.picture);
}

void SampleOutput::add(const std::vector<LabelledPicture>& pictures) {
  for (const LabelledPicture& sample : pictures) {
    const Image& image = sample.picture;
    if (npz_ && labels_.empty()) {
      npz_->begin("arr_0", StoredType::u8,
                  {files_.count, image.height, image.width, Image::kChannels});
    }
    labels_.push_back(sample.label);
    if (npz_) npz_->append(std::as_bytes(std::span(image.pixels)));
    write_picture(sample);
  }
}

void SampleOutput::finish() {
  const std::int64_t made = std::ssize(labels_);
  if (npz_ && made == files_.count) {
    npz_->begin("arr_1", StoredType::i64, {made});
    npz_->append(std::as_bytes(std::span(labels_)));
    npz_->finish();
    std::filesystem::path settings = files_.npz;
    write_file_atomically(settings.replace_extension(".json"), files_.settings);
    written_.push_back(concat(files_.npz.string(), "  ", made, " samples, arr_0 and arr_1"));
  }
  npz_.reset();
  if (files_.folder.empty() || made == 0) return;
  write_png(files_.folder / "grid.png", picture_grid(grid_, files_.columns));
  write_file_atomically(files_.folder / "samples.json", files_.settings);
  const std::string first = std::ssize(grid_) < made ? concat(" the first ", grid_.size()) : " all";
  written_.push_back(concat((files_.folder / "grid.png").string(), " ", first));
  written_.push_back(concat(files_.folder.string(), "/  ", made, " pictures, samples.json"));
}

void SampleOutput::write_film(const std::vector<Image>& pictures, std::int64_t columns) {
  const std::filesystem::path folder =
      files_.folder.empty() ? files_.npz.parent_path() : files_.folder;
  write_png(folder / "film.png", picture_grid(pictures, columns));
  written_.push_back((folder / "film.png").string() + "  from noise to picture");
}

std::vector<std::string> SampleOutput::summary() const { return written_; }

}  // namespace fovea
