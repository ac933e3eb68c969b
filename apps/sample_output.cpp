// What earlier calls left, and what this call adds.
#include "apps/sample_output.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "data/figures/generated_pictures.h"
#include "data/figures/pixel_text.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "report/measures/sample_list.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxInGrid = 400;  // the pictures of the grid are in memory together

fs::path list_in(const fs::path& folder) { return folder / "samples.json"; }

bool is_there(const fs::path& path) {
  std::error_code none;
  return fs::exists(path, none);
}

/// The names of the files in a folder; none if it does not exist.
std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// The name of a class by the settings of its samples, or its number.
std::string caption_of(const nlohmann::json& settings, std::int64_t label) {
  const auto names = settings.find("class_names");
  const bool is_named = names != settings.end() && names->is_array() && label >= 0 &&
                        label < std::ssize(*names) &&
                        (*names)[static_cast<std::size_t>(label)].is_string();
  return is_named ? (*names)[static_cast<std::size_t>(label)].get<std::string>()
                  : std::to_string(label);
}

/// The pictures of a folder that its samples.json lists, at most `most`, with their classes below.
std::vector<Image> captioned_samples(const fs::path& folder, std::size_t most) {
  const std::string list = read_file(list_in(folder));
  const nlohmann::json settings = parse_json(list);
  const std::set<std::string> names = names_in(folder);
  const std::vector<ListedSample> listed = listed_samples(list).value();
  std::vector<Image> pictures;
  std::vector<std::string> captions;
  for (const ListedSample& sample : listed) {
    if (pictures.size() == most) break;
    if (!names.contains(sample.file)) continue;
    pictures.push_back(read_image(folder / sample.file));
    captions.push_back(caption_of(settings, sample.label));
  }
  return pictures.empty() ? pictures : captioned(pictures, captions);
}

}  // namespace

fs::path scale_folder(const fs::path& folder, double scale) {
  return folder / ("cfg-" + shortest_text(scale));
}

fs::path write_guidance_sheet(const fs::path& folder, const std::vector<double>& scales) {
  constexpr std::size_t kMostColumns = 10;
  std::vector<Image> sheet;
  std::int64_t columns = 0;
  for (const double scale : scales) {
    const std::vector<Image> row = captioned_samples(scale_folder(folder, scale), kMostColumns);
    Image head(row.front().height, row.front().width);
    draw_text(head, head.height / 2 - kLineHeight, 2, "cfg-scale");
    draw_text(head, head.height / 2, 2, shortest_text(scale));
    sheet.push_back(std::move(head));
    sheet.insert(sheet.end(), row.begin(), row.end());
    columns = std::ssize(row) + 1;
  }
  const fs::path file = folder / "guidance.png";
  write_png(file, picture_grid(sheet, columns));
  return file;
}

std::string difference_to_samples_in(const fs::path& folder, const std::string& settings) {
  if (is_there(list_in(folder))) {
    const std::string before = read_file(list_in(folder));
    if (!parse_json(before).is_object()) return "samples.json is no JSON object";
    return settings_difference(before, settings);
  }
  const std::set<std::string> names = names_in(folder);
  const bool has_samples = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return class_in_name(name).has_value();
  });
  return has_samples ? "samples.json is missing" : "";
}

fs::path free_sample_folder(const fs::path& base, const std::string& settings) {
  fs::path folder = base;
  for (int i = 2; !difference_to_samples_in(folder, settings).empty(); ++i) {
    folder = base.string() + "-" + std::to_string(i);
  }
  return folder;
}

SampleOutput::SampleOutput(SampleFiles files) : files_(std::move(files)) {
  if (!files_.npz.empty()) open_npz();
  if (!files_.folder.empty()) open_folder();
}

void SampleOutput::open_npz() {
  const fs::path settings = fs::path(files_.npz).replace_extension(".json");
  const bool is_complete = is_there(files_.npz);
  std::error_code none;
  const auto kept = fs::file_size(files_.npz.string() + ".partial", none);
  if (is_complete || (!none && kept > 0)) {
    check(is_there(settings), files_.npz.string(), ": exists, but not ", settings.string(),
          ", which says how it was made; choose another --npz");
    const std::string before = read_file(settings);
    std::string difference = settings_difference(before, files_.settings);
    if (difference.empty() &&
        with_calls_of(before, files_.settings) != with_calls_of(files_.settings, files_.settings)) {
      difference = "first or count";
    }
    check(difference.empty(), files_.npz.string(), ": has samples of other settings (", difference,
          "); choose another --npz");
  }
  rows_ = files_.count;
  if (is_complete) return;
  npz_.emplace(files_.npz, Unfinished::kept);
  write_file_atomically(settings, files_.settings);
  rows_ =
      npz_->resume("arr_0", StoredType::u8,
                   {files_.count, files_.picture.height, files_.picture.width, Image::kChannels});
}

void SampleOutput::open_folder() {
  const std::string difference = difference_to_samples_in(files_.folder, files_.settings);
  check(difference.empty(), files_.folder.string(), ": has samples of other settings (", difference,
        "); choose another --output");
  make_folder(files_.folder);
  const fs::path list = list_in(files_.folder);
  const std::string before = is_there(list) ? read_file(list) : files_.settings;
  write_file_atomically(list, with_calls_of(before, files_.settings));
  const std::set<std::string> names = names_in(files_.folder);
  for (std::int64_t place = 0; place < files_.count; ++place) {
    in_folder_.push_back(names.contains(file_of(place).filename().string()));
  }
}

std::int64_t SampleOutput::label_of(std::int64_t place) const {
  const auto index = static_cast<std::size_t>(files_.first + place);
  return files_.labels[index % files_.labels.size()];
}

fs::path SampleOutput::file_of(std::int64_t place) const {
  return files_.folder / sample_name(files_.first + place, label_of(place), files_.seed);
}

bool SampleOutput::has(std::int64_t place) const {
  const bool in_npz = files_.npz.empty() || place < rows_;
  return in_npz && (files_.folder.empty() || in_folder_[static_cast<std::size_t>(place)]);
}

std::int64_t SampleOutput::done() const {
  std::int64_t count = 0;
  for (std::int64_t place = 0; place < files_.count; ++place) count += has(place) ? 1 : 0;
  return count;
}

void SampleOutput::add(const std::vector<LabelledPicture>& pictures) {
  for (const LabelledPicture& sample : pictures) {
    const std::int64_t place = sample.index - files_.first;
    if (npz_ && place == rows_) {
      npz_->append(std::as_bytes(std::span(sample.picture.pixels)));
      ++rows_;
    }
    if (files_.folder.empty()) continue;
    write_png(file_of(place), sample.picture);
    in_folder_[static_cast<std::size_t>(place)] = true;
  }
  if (npz_) npz_->commit();
}

void SampleOutput::finish() {
  if (!files_.npz.empty()) finish_npz();
  if (!files_.folder.empty()) finish_folder();
}

void SampleOutput::finish_npz() {
  if (rows_ < files_.count) return npz_.reset();
  if (npz_) {
    std::vector<std::int64_t> labels;
    for (std::int64_t place = 0; place < rows_; ++place) labels.push_back(label_of(place));
    npz_->begin("arr_1", StoredType::i64, {rows_});
    npz_->append(std::as_bytes(std::span(labels)));
    npz_->finish();
    npz_.reset();
  }
  written_.push_back(concat(files_.npz.string(), "  ", rows_, " samples, arr_0 and arr_1"));
}

void SampleOutput::finish_folder() {
  const fs::path list = list_in(files_.folder);
  // Again, because a call that began at the same time may have replaced it.
  const std::string calls = with_calls_of(read_file(list), files_.settings);
  write_file_atomically(list, calls);
  const std::set<std::string> names = names_in(files_.folder);
  const std::vector<ListedSample> listed = listed_samples(calls).value();
  const std::int64_t present = std::ranges::count_if(
      listed, [&](const ListedSample& sample) { return names.contains(sample.file); });
  const std::vector<Image> grid = captioned_samples(files_.folder, kMaxInGrid);
  if (grid.empty()) {  // stopped before the first picture: no trace is left
    std::error_code ignored;
    fs::remove(list, ignored);
    fs::remove(files_.folder, ignored);
    return;
  }
  write_png(files_.folder / "grid.png", picture_grid(grid, files_.columns));
  const std::string shown =
      std::ssize(grid) < present ? concat(" the first ", grid.size()) : " all";
  written_.push_back(concat((files_.folder / "grid.png").string(), " ", shown));
  written_.push_back(concat(files_.folder.string(), "/  ", present, " pictures, samples.json"));
}

void SampleOutput::write_film(const std::vector<Image>& pictures, std::int64_t columns) {
  fs::path file = files_.folder / "film.png";
  if (files_.folder.empty()) {
    file = files_.npz.parent_path() / (files_.npz.stem().string() + "-film.png");
  }
  write_png(file, picture_grid(pictures, columns));
  written_.push_back(file.string() + "  from noise to picture");
}

}  // namespace fovea
