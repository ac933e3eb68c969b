// What every data set offers: numbered images with labels. And the choice of one by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/names.h"
#include "data/sample.h"

namespace fovea {

enum class Split { train, test };

/// An image that could not be read, and why; the message names its file.
struct BrokenImage {
  std::int64_t index = 0;
  std::string message;
};

/// An image's line in the list of its data set.
struct ListEntry {
  /// Tells it from the set's other images, the same wherever the set lies: a path below the
  /// split's folder, a name in a shard.
  std::string name{};
  std::int64_t label = -1;  ///< -1: known only by reading it
};

/// Immutable after construction: get() is called from several threads at once. A picture that
/// cannot be decoded or read throws ImageError, naming it.
class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// As they may be shown, whatever the files hold: see visible_text().
  [[nodiscard]] virtual const std::vector<std::string>& class_names() const = 0;
  /// The image as stored with what lies in it, before any augmentation. Throws unless 0 <= index <
  /// size().
  [[nodiscard]] virtual Sample get(std::int64_t index) const = 0;
  /// The part of it that `choose` says, and what lies there, given the whole image's size. Sources
  /// of JPEG files decode only that part; the pixels are the same unless `shrink_to` allows others
  /// (see DecodeOptions).
  [[nodiscard]] virtual Sample get(std::int64_t index, const ChooseBox& choose,
                                   ImageSize shrink_to) const;
  /// Without decoding, where the source can tell.
  [[nodiscard]] virtual std::int64_t label(std::int64_t index) const { return get(index).label; }
  /// The bytes of the file that a picture is stored as; none where it is stored as pixels.
  [[nodiscard]] virtual std::optional<std::string> file(std::int64_t /*index*/) const { return {}; }
  /// Reads all of a sample and throws ImageError unless it is whole.
  virtual void verify(std::int64_t index) const { (void)get(index); }
  /// What to call a sample in messages: its file, where it has one.
  [[nodiscard]] virtual std::string describe(std::int64_t index) const;
  /// Fills an entry whose name is empty, without reading the image. Called for all of them when a
  /// run starts.
  virtual void list_entry(std::int64_t index, ListEntry& entry) const;
  /// Of all images, or 0 x 0 where they differ.
  [[nodiscard]] virtual ImageSize image_size() const { return {}; }
  /// How many images lie together, part by part, where reading in order within a part is faster
  /// (tar files); empty where any order is as good.
  [[nodiscard]] virtual std::vector<std::int64_t> parts() const { return {}; }
  /// Something its user should be told once ("12000 records, the official set has ..."), or "".
  [[nodiscard]] virtual std::string notice() const { return {}; }

  [[nodiscard]] std::int64_t classes() const {
    return static_cast<std::int64_t>(class_names().size());
  }

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;
};

/// A data set of picture files: these make up a sample from the file and its label.
class FileDataset : public Dataset {
 public:
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override;

 protected:
  /// What lies in the whole image; a set with boxes or dense maps says it here. What keeps it from
  /// being read is an ImageError.
  [[nodiscard]] virtual ImageTargets targets(std::int64_t /*index*/) const { return {}; }
  /// How its files are decoded; `shrink_to` is not for it to say.
  [[nodiscard]] virtual DecodeOptions decode_options() const { return {}; }

 private:
  /// Of its file; what keeps it from being read is the fault of that image.
  [[nodiscard]] std::string bytes(std::int64_t index) const;
};

/// Which images a share of a class is.
enum class FractionRule {
  drawn,  ///< ceil(fraction n) of its n images, at least one, in an order drawn for the class
  first,  ///< its first int(fraction n) in the order of the set, which for files is their paths'
};
template <>
inline constexpr auto kNames<FractionRule> = std::to_array<Named<FractionRule>>(
    {{FractionRule::drawn, "drawn"}, {FractionRule::first, "first"}});

struct DatasetOptions {
  std::string name = "builtin";      ///< one of dataset_names()
  std::filesystem::path data_dir{};  ///< empty: $FOVEA_DATA, else ./datasets
  std::uint64_t seed = 0;            ///< of the built-in set

  // Of data sets of photographs: folder, tar, pack.
  std::string train_split{}, val_split{};  ///< folder or file pattern below data_dir; empty: usual
  std::filesystem::path val_labels{};      ///< of test pictures in no class folders
  std::filesystem::path class_map{};       ///< a class name a line, in label order
  std::string index_cache{};  ///< folder of index files, "none"; empty: the user's cache folder

  bool labelled = true;  ///< false: folders of pictures, without one for each class, will do

  // Of all.
  double val_fraction = 0;  ///< of the training images of each class, which are the test images
  std::string classes{};    ///< only these: names or numbers, or how many; empty: all
  double fraction = 1;      ///< of the training images of each class
  FractionRule fraction_rule = FractionRule::drawn;
};

[[nodiscard]] const std::vector<std::string>& dataset_names();
/// "folder", "tar" or "pack", by what lies in options.data_dir. Throws where none of them does.
[[nodiscard]] std::string detect_dataset(const DatasetOptions& options);
/// Throws on an unknown name (with the nearest known one) and on missing or damaged files.
[[nodiscard]] std::shared_ptr<const Dataset> open_dataset(const DatasetOptions& options,
                                                          Split split);

}  // namespace fovea
