// The interface of all data sets (numbered images with labels), and the function that opens one by
// name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/sample.h"
#include "engine/base/names.h"

namespace fovea {

struct LatentInfo;  // data/sources/packed/latent_file.h

enum class Split { train, test };

/// An image that could not be read, and the reason; the message names its file.
struct BrokenImage {
  std::int64_t index = 0;
  std::string message;
};

/// An image's entry in the list of its data set.
struct ListEntry {
  /// Identifies the image within the set, independent of where the set is stored: a path below the
  /// split's folder, or a name in a shard.
  std::string name{};
  std::int64_t label = -1;  ///< -1: only known after reading
};

/// Immutable after construction: get() is called from several threads at once. A picture that
/// cannot be read or decoded throws ImageError with its name.
class Dataset {
 public:
  virtual ~Dataset() = default;

  [[nodiscard]] virtual std::int64_t size() const = 0;
  /// Display names, safe to print whatever the files contain: see visible_text().
  [[nodiscard]] virtual const std::vector<std::string>& class_names() const = 0;
  /// The stored image and its targets, before any augmentation. Throws unless 0 <= index < size().
  [[nodiscard]] virtual Sample get(std::int64_t index) const = 0;
  /// The part of the image, with its targets, that `choose` returns for the size of the whole
  /// image. Sources of JPEG files decode only that part; the pixels are the same unless
  /// `shrink_to` permits a reduced decode (see DecodeOptions).
  [[nodiscard]] virtual Sample get(std::int64_t index, const ChooseBox& choose,
                                   ImageSize shrink_to) const;
  /// The label. Sources that store labels separately do not decode the image.
  [[nodiscard]] virtual std::int64_t label(std::int64_t index) const { return get(index).label; }
  /// The bytes of the picture file; none if the image is stored as pixels.
  [[nodiscard]] virtual std::optional<std::string> file(std::int64_t /*index*/) const { return {}; }
  /// Reads a sample completely. Throws ImageError unless it is intact.
  virtual void verify(std::int64_t index) const { (void)get(index); }
  /// The name of a sample in messages: its file, if it has one.
  [[nodiscard]] virtual std::string describe(std::int64_t index) const;
  /// Fills `entry` without reading the image. The caller passes an entry with an empty name. Called
  /// for all images at the start of a run.
  virtual void list_entry(std::int64_t index, ListEntry& entry) const;
  /// The common size of all images, or 0 x 0 if they differ.
  [[nodiscard]] virtual ImageSize image_size() const { return {}; }
  /// The sizes of consecutive parts within which sequential reading is faster (tar files); empty
  /// if any order is equally fast.
  [[nodiscard]] virtual std::vector<std::int64_t> parts() const { return {}; }
  /// Not null for a set of latents, whose samples are moments instead of pictures:
  /// latent_pipeline() takes the place of augmentation and normalisation.
  [[nodiscard]] virtual const LatentInfo* latents() const { return nullptr; }
  /// Whether pictures are turned by their EXIF data.
  [[nodiscard]] virtual ExifOrientation exif_orientation() const { return ExifOrientation::ignore; }
  /// A one-time message for the user ("12000 records, the official set has ..."), or "".
  [[nodiscard]] const std::string& notice() const { return notice_; }

  [[nodiscard]] std::int64_t classes() const { return std::ssize(class_names()); }

 protected:
  Dataset() = default;
  Dataset(const Dataset&) = default;
  Dataset& operator=(const Dataset&) = default;

  /// Throws Error, starting with `context`, unless 0 <= index < size().
  void check_index(std::int64_t index, const std::string& context) const;

  std::string notice_;
};

/// A data set of picture files: combines a file and its label into a sample.
class FileDataset : public Dataset {
 public:
  [[nodiscard]] Sample get(std::int64_t index) const override;
  [[nodiscard]] Sample get(std::int64_t index, const ChooseBox& choose,
                           ImageSize shrink_to) const override;
  [[nodiscard]] ExifOrientation exif_orientation() const override { return orientation_; }

 protected:
  FileDataset() = default;
  explicit FileDataset(ExifOrientation orientation) : orientation_(orientation) {}

  /// The targets of the whole image; data sets with boxes or dense maps override this. Throws
  /// ImageError if they cannot be read.
  [[nodiscard]] virtual ImageTargets targets(std::int64_t /*index*/) const { return {}; }
  /// How a file is decoded; `shrink_to` is ignored.
  [[nodiscard]] virtual DecodeOptions decode_options(std::int64_t /*index*/) const {
    return {.orientation = orientation_};
  }

 private:
  /// The bytes of an image's file. Throws ImageError if they cannot be read.
  [[nodiscard]] std::string bytes(std::int64_t index) const;
  /// Throws ImageError if a map has another size than its image.
  [[nodiscard]] ImageTargets checked(ImageTargets targets, ImageSize image,
                                     std::int64_t index) const;

  ExifOrientation orientation_ = ExifOrientation::ignore;
};

/// The rule that selects a fraction of a class.
enum class FractionRule {
  drawn,  ///< ceil(fraction n) of its n images, at least one, in an order drawn at random per class
  first,  ///< the first int(fraction n) in the set's order (for files: sorted by path)
};
template <>
inline constexpr auto kNames<FractionRule> = std::to_array<Named<FractionRule>>(
    {{FractionRule::drawn, "drawn"}, {FractionRule::first, "first"}});

/// The rule that selects the training images to hold out for validation.
enum class HoldOutRule {
  number,  ///< as many of each class as the fraction says, drawn by (class number, image count)
  name,    ///< each image by (its name, seed), so that adding images moves no others
};
template <>
inline constexpr auto kNames<HoldOutRule> = std::to_array<Named<HoldOutRule>>(
    {{HoldOutRule::number, "number"}, {HoldOutRule::name, "name"}});

struct DatasetOptions {
  std::string name = "builtin";      ///< one of dataset_names()
  std::filesystem::path data_dir{};  ///< empty: $FOVEA_DATA or, if unset, ./datasets
  std::uint64_t seed = 0;            ///< seed of the built-in set and of scenes
  std::int64_t scene_side = 64;      ///< side of scenes, in pixels
  double depth_scale = 1000;         ///< of depth_pairs: values of a map per metre

  // For data sets of photographs: folder, tar, pack.
  std::string train_split{}, val_split{};  ///< below data_dir; empty: the usual names
  std::filesystem::path annotations{}, val_annotations{};  ///< of coco; empty: the usual names
  bool compact_ids = false;  ///< of coco: its categories have the numbers 1 to n, see CategoryIds
  /// With compact_ids the ids of the categories 1 to n; empty: those of the training images' file.
  std::vector<std::int64_t> category_ids{};
  std::filesystem::path val_labels{};  ///< labels of test pictures that are not in class folders
  std::filesystem::path class_map{};   ///< a file with one class name per line, in label order
  std::string index_cache{};  ///< folder for index files, or "none"; empty: the user's cache folder

  ExifOrientation exif_orientation = ExifOrientation::ignore;  ///< of picture files

  bool labelled = true;  ///< false: pictures without class folders are accepted

  // For all data sets.
  double val_fraction = 0;  ///< fraction of each class's training images used as test images
  std::optional<HoldOutRule> val_rule{};  ///< empty: number
  std::uint64_t val_seed = 0;             ///< for HoldOutRule::name
  std::string classes{};  ///< classes to keep: names, numbers or a count; empty: all
  double fraction = 1;    ///< fraction of each class's training images to keep
  FractionRule fraction_rule = FractionRule::drawn;
};

/// options.data_dir or its default.
[[nodiscard]] std::filesystem::path data_folder(const DatasetOptions& options);
[[nodiscard]] const std::vector<std::string>& dataset_names();

/// What a data set's recipes depend on.
enum class DataKind {
  drawn,        ///< pictures that are computed
  small,        ///< 32x32 pictures, and sets whose recipes shrink them to 32x32
  photographs,  ///< of any size
  latents,
};
/// The kind of one of dataset_names(). Throws on an unknown name.
[[nodiscard]] DataKind data_kind(std::string_view dataset);
/// "folder", "tar" or "pack", detected from the content of options.data_dir. Throws if nothing
/// matches.
[[nodiscard]] std::string detect_dataset(const DatasetOptions& options);
/// Throws on an unknown name (suggesting the nearest known one) and on missing or damaged files.
[[nodiscard]] std::shared_ptr<const Dataset> open_dataset(const DatasetOptions& options,
                                                          Split split);

}  // namespace fovea
