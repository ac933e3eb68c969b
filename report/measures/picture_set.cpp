// Folders and .npz files as data sets, read picture by picture.
#include "report/measures/picture_set.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "data/sources/files/folder_index.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/base/program_call.h"
#include "engine/base/text.h"
#include "engine/formats/numpy/npz.h"
#include "engine/formats/safetensors.h"
#include "report/measures/features_file.h"
#include "report/measures/sample_list.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kUnknown = -1;

const std::vector<std::string>& no_names() {
  static const std::vector<std::string> none;
  return none;
}

class PictureFolder : public FileDataset {
 public:
  PictureFolder(std::vector<fs::path> files, std::vector<std::int64_t> labels)
      : files_(std::move(files)), labels_(std::move(labels)) {}

  [[nodiscard]] std::int64_t size() const override { return std::ssize(files_); }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return no_names(); }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return labels_.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] std::optional<std::string> file(std::int64_t index) const override {
    return read_file(files_.at(static_cast<std::size_t>(index)));
  }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return files_.at(static_cast<std::size_t>(index)).string();
  }

 private:
  std::vector<fs::path> files_;
  std::vector<std::int64_t> labels_;
};

/// Pictures of an .npz file, read one by one, or all at once if they are compressed.
class NpzPictures : public Dataset {
 public:
  explicit NpzPictures(const fs::path& path)
      : path_(path), bytes_(path), file_(bytes_, path.string()) {
    const StoredEntry& entry = *file_.find("arr_0");
    shape_ = entry.shape;
    const bool ok = entry.type == StoredType::u8 && shape_.rank() == 4 && shape_[0] >= 1 &&
                    shape_[1] >= 1 && shape_[2] >= 1 && shape_[3] == Image::kChannels;
    check(ok, path.string(), ": arr_0: got ", to_string(entry.type), " ", shape_,
          ", expected pictures u8 [N, H, W, 3]");
    if (!file_.has_rows("arr_0")) whole_ = file_.read("arr_0");
    labels_.assign(static_cast<std::size_t>(size()), kUnknown);
    if (has_labels()) read_labels();
  }

  [[nodiscard]] std::int64_t size() const override { return shape_[0]; }
  [[nodiscard]] const std::vector<std::string>& class_names() const override { return no_names(); }
  [[nodiscard]] ImageSize image_size() const override { return {shape_[1], shape_[2]}; }
  [[nodiscard]] std::int64_t label(std::int64_t index) const override {
    return labels_.at(static_cast<std::size_t>(index));
  }
  [[nodiscard]] std::string describe(std::int64_t index) const override {
    return concat(path_.string(), ", picture ", index);
  }
  [[nodiscard]] Sample get(std::int64_t index) const override {
    check(index >= 0 && index < size(), path_.string(), ": got picture ", index, " of ", size());
    Sample sample{Image(shape_[1], shape_[2]), label(index)};
    const Tensor row = whole_.defined() ? Tensor() : file_.read_rows("arr_0", index, 1);
    const std::uint8_t* const from =
        row.defined() ? row.data<std::uint8_t>()
                      : whole_.data<std::uint8_t>() + index * std::ssize(sample.image.pixels);
    std::copy_n(from, sample.image.pixels.size(), sample.image.pixels.begin());
    return sample;
  }
  [[nodiscard]] bool has_labels() const { return file_.find("arr_1") != nullptr; }

 private:
  void read_labels() {
    const Tensor labels = file_.read("arr_1");
    const bool ok = labels.rank() == 1 && labels.size(0) == size();
    check(ok, path_.string(), ": arr_1: got shape ", labels.shape(),
          ", expected one class for each of the ", size(), " pictures");
    const std::vector<double> values = labels.to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      labels_[i] = static_cast<std::int64_t>(values[i]);
    }
  }

  fs::path path_;
  InputFile bytes_;
  NpzFile file_;
  Shape shape_;
  Tensor whole_;
  std::vector<std::int64_t> labels_;
};

/// Reads the JSON file of `sample`, if there is one, and its class names.
void read_settings(PictureSet& set, const fs::path& file) {
  if (!fs::exists(file)) return;
  set.settings = read_file(file);
  const nlohmann::json settings = parse_json(set.settings);
  check(settings.is_object(), file.string(),
        ": is not a JSON object, expected a description of the samples");
  const auto names = settings.find("class_names");
  if (names == settings.end() || !names->is_array()) return;
  for (const nlohmann::json& name : *names) {
    if (name.is_string()) set.classes.push_back(visible_text(name.get<std::string>()));
  }
}

/// Whether `sample` wrote the file beside its samples.
bool is_figure(const fs::path& file, const fs::path& root) {
  return file == root / "grid.png" || file == root / "film.png";
}

/// Labels by the folders of the first level; empty unless every picture lies in one.
std::vector<std::int64_t> labels_by_folder(const std::vector<fs::path>& files, const fs::path& root,
                                           std::vector<std::string>& classes) {
  std::map<std::string, std::int64_t> numbers;
  std::vector<std::string> names;
  for (const fs::path& file : files) {
    const fs::path below = file.lexically_relative(root);
    if (std::distance(below.begin(), below.end()) < 2) return {};
    names.push_back(visible_text(below.begin()->string()));
    numbers[names.back()] = 0;
  }
  for (auto& [name, number] : numbers) {  // in the order of names
    number = std::ssize(classes);
    classes.push_back(name);
  }
  std::vector<std::int64_t> labels;
  for (const std::string& name : names) labels.push_back(numbers.at(name));
  return labels;
}

/// The pictures that samples.json lists, and no others.
PictureSet open_listed(PictureSet set, const fs::path& root,
                       const std::vector<ListedSample>& listed) {
  std::vector<fs::path> files;
  std::vector<std::int64_t> labels;
  const std::vector<fs::path> present = pictures_below(root);
  const std::set<fs::path> names(present.begin(), present.end());
  std::string missing;
  for (const ListedSample& sample : listed) {
    const fs::path file = root / sample.file;
    if (names.contains(file)) {
      files.push_back(file);
      labels.push_back(sample.label);
    } else if (missing.empty()) {
      missing = sample.file;
    }
  }
  check(missing.empty(), root.string(), ": lacks ", listed.size() - files.size(), " of the ",
        listed.size(), " samples in samples.json, the first is ", missing, "; the ",
        program_call("sample"), " command that was stopped makes them");
  const auto figures = std::count_if(present.begin(), present.end(),
                                     [&](const fs::path& file) { return is_figure(file, root); });
  const std::int64_t others = std::ssize(present) - figures - std::ssize(files);
  if (others > 0) {
    set.notes.push_back(concat(root.string(), ": ", others,
                               others == 1 ? " picture is" : " pictures are",
                               " not in samples.json and left out"));
  }
  set.has_labels = true;
  set.images = std::make_shared<PictureFolder>(std::move(files), std::move(labels));
  return set;
}

/// Samples whose list is missing: all pictures but the figures are named like samples.
bool are_samples(const std::vector<fs::path>& files, const fs::path& root) {
  bool any = false;
  for (const fs::path& file : files) {
    const bool is_sample = class_in_name(file).has_value();
    if (!is_sample && !is_figure(file, root)) return false;
    any = any || is_sample;
  }
  return any;
}

PictureSet open_folder(const fs::path& root) {
  PictureSet set{root.string()};
  if (fs::exists(root / "samples.json")) {
    read_settings(set, root / "samples.json");
    if (const auto listed = listed_samples(set.settings)) {
      return open_listed(std::move(set), root, *listed);
    }
  }
  std::vector<fs::path> files = pictures_below(root);
  check(!files.empty(), root.string(), ": contains no ", join(picture_endings(), ", "), " file");
  std::vector<std::int64_t> labels;
  if (are_samples(files, root)) {
    std::erase_if(files, [&](const fs::path& file) { return is_figure(file, root); });
    for (const fs::path& file : files) labels.push_back(*class_in_name(file));
    set.has_labels = true;
  } else {
    set.classes.clear();
    labels = labels_by_folder(files, root, set.classes);
    set.has_labels = !labels.empty();
    labels.resize(files.size(), kUnknown);
  }
  set.images = std::make_shared<PictureFolder>(std::move(files), std::move(labels));
  return set;
}

PictureSet open_features(const fs::path& path) {
  StoredFeatures stored = read_features_file(path);
  PictureSet set{concat(path.string(), ", features of ", visible_text(stored.name))};
  set.features_origin = std::move(stored.origin);
  set.features = std::move(stored.reference);
  return set;
}

PictureSet open_file(const fs::path& path) {
  const InputFile bytes(path);
  if (is_safetensors(bytes)) return open_features(path);
  PictureSet set{path.string()};
  check(is_npz(bytes), path.string(),
        ": is not an .npz file, expected a folder of pictures, an .npz file or the name of a data "
        "set");
  const NpzFile arrays(bytes, path.string());
  const bool has_pictures = arrays.find("arr_0") != nullptr;
  if (arrays.find("mu") || !has_pictures) set.statistics = read_statistics(path);
  if (arrays.find("mu_s")) set.spatial_statistics = read_statistics(path, "_s");
  if (!has_pictures) return set;
  const auto pictures = std::make_shared<NpzPictures>(path);
  set.has_labels = pictures->has_labels();
  set.images = pictures;
  const fs::path settings = fs::path(path).replace_extension(".json");
  read_settings(set, settings);
  const auto listed = listed_samples(set.settings);
  if (listed && std::ssize(*listed) != pictures->size()) {
    set.notes.push_back(concat(path.string(), ": has ", pictures->size(), " pictures, but ",
                               settings.string(), " lists ", listed->size(),
                               "; so it may describe others"));
  }
  return set;
}

}  // namespace

bool names_dataset(const std::string& path) {
  const std::vector<std::string>& names = dataset_names();
  return !fs::exists(path) && std::find(names.begin(), names.end(), path) != names.end();
}

PictureSet open_picture_set(const std::string& path, const DatasetOptions& data, Split split) {
  if (names_dataset(path)) {
    DatasetOptions options = data;
    options.name = path;
    PictureSet set{path + (split == Split::train ? ", training images" : ", test images")};
    set.images = open_dataset(options, split);
    set.has_labels = true;
    set.classes = set.images->class_names();
    return set;
  }
  check(fs::exists(path), path,
        ": does not exist, expected a folder of pictures, an .npz file or the name of a data set (",
        join(dataset_names(), ", "), ")");
  return fs::is_directory(path) ? open_folder(path) : open_file(path);
}

}  // namespace fovea
