// Defaults of the data set interface, and opening a data set by name.
#include "data/dataset.h"

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "data/classes/class_list.h"
#include "data/classes/class_match.h"
#include "data/geometry/geometry.h"
#include "data/sources/boxes/coco.h"
#include "data/sources/boxes/voc.h"
#include "data/sources/dense/depth_pairs.h"
#include "data/sources/dense/nyu/nyu_depth.h"
#include "data/sources/drawn/builtin.h"
#include "data/sources/drawn/rooms.h"
#include "data/sources/drawn/scenes.h"
#include "data/sources/files/flowers.h"
#include "data/sources/files/folder.h"
#include "data/sources/files/split_folders.h"
#include "data/sources/orientation.h"
#include "data/sources/packed/cifar.h"
#include "data/sources/packed/latents.h"
#include "data/sources/packed/pack.h"
#include "data/sources/packed/tar_shards.h"
#include "data/sources/subset.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/base/names.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

using Opened = std::shared_ptr<const Dataset>;

struct Source {
  std::string_view name;
  Opened (*open)(const DatasetOptions& options, Split split);
  DataKind kind = DataKind::photographs;
};

template <class Set>
Opened open_files(const DatasetOptions& options, Split split) {
  return std::make_shared<Set>(options, split);
}

/// For sets with names of their own: applies a class map that reorders or replaces their names.
Opened under_class_map(Opened set, const DatasetOptions& options) {
  if (options.class_map.empty()) return set;
  const ClassList map = read_class_map(options.class_map, options.data_dir);
  std::vector<std::string> names;
  for (const std::string& id : map.ids()) names.push_back(visible_text(id));
  const auto match = find_match({std::ssize(names), names}, {set->class_names(), true});
  check(match.has_value(), options.class_map.string(), ": names the classes ", first_few(names),
        ", expected the data set's ", set->classes(), " (", first_few(set->class_names()),
        ") in any order, or other names for all of them");
  return relabelled(std::move(set), match->labels, std::move(names));
}

template <CifarKind kind>
Opened open_cifar(const DatasetOptions& options, Split split) {
  return under_class_map(std::make_shared<Cifar>(kind, options.data_dir, split), options);
}

Opened open_builtin(const DatasetOptions& options, Split split) {
  const BuiltinOptions builtin{.seed = options.seed};
  return under_class_map(std::make_shared<Builtin>(split, builtin), options);
}

Opened open_rooms(const DatasetOptions& options, Split split) {
  return std::make_shared<Rooms>(split, RoomsOptions{.seed = options.seed});
}

/// Boxes have categories with names of their own.
void refuse_class_map(const DatasetOptions& options) {
  check(options.class_map.empty(), "--class-map: only applies to images with labels and to voc, ",
        "but the data set is ", options.name);
}

Opened open_coco(const DatasetOptions& options, Split split) {
  refuse_class_map(options);
  return std::make_shared<Coco>(options, split);
}

Opened open_voc(const DatasetOptions& options, Split split) {
  return std::make_shared<Voc>(options, split);
}

Opened open_scenes(const DatasetOptions& options, Split split) {
  refuse_class_map(options);
  return std::make_shared<Scenes>(split,
                                  SceneOptions{.seed = options.seed, .side = options.scene_side});
}

Opened open_latents(const DatasetOptions& options, Split split) {
  return under_class_map(std::make_shared<Latents>(options, split), options);
}

Opened open_flowers(const DatasetOptions& options, Split split) {
  if (find_flowers(options).empty()) {
    require_flower_folders(options, split);
    return named_flowers(open_files<ImageFolder>(options, split), options);
  }
  return under_class_map(std::make_shared<Flowers>(options, split), options);
}

Opened open_pack(const DatasetOptions& options, Split split) {
  return under_class_map(std::make_shared<PackDataset>(options, split), options);
}

Opened open_detected(const DatasetOptions& options, Split split);

/// Rejects CIFAR's files: they have their own recipes and are opened as cifar10 or cifar100.
void require_no_cifar(const std::filesystem::path& data_dir) {
  for (const auto& [kind, name] :
       {std::pair(CifarKind::cifar10, "cifar10"), std::pair(CifarKind::cifar100, "cifar100")}) {
    check(!holds_cifar(kind, data_dir), data_dir.string(), ": contains the files of ", name,
          "; --dataset ", name, " reads them");
  }
}

/// One row per data set. flowers102 counts as small: its recipe, the Pixel Transformer's, uses
/// 32x32.
constexpr auto kSources =
    std::to_array<Source>({{"builtin", open_builtin, DataKind::drawn},
                           {"cifar10", open_cifar<CifarKind::cifar10>, DataKind::small},
                           {"cifar100", open_cifar<CifarKind::cifar100>, DataKind::small},
                           {"auto", open_detected},
                           {"folder", open_files<ImageFolder>},
                           {"tar", open_files<TarShards>},
                           {"pack", open_pack},
                           {"latents", open_latents, DataKind::latents},
                           {"scenes", open_scenes, DataKind::drawn},
                           {"rooms", open_rooms, DataKind::drawn},
                           {"coco", open_coco},
                           {"voc", open_voc},
                           {"flowers102", open_flowers, DataKind::small},
                           {"depth_pairs", open_files<DepthPairs>},
                           {"nyu", open_files<NyuDepth>}});

const Source& source_of(std::string_view name) {
  for (const Source& source : kSources)
    if (source.name == name) return source;
  refuse_name("open_dataset", std::string(name), dataset_names());
}

Opened open_whole(const DatasetOptions& options, Split split) {
  const bool has_folders = options.name == "folder" || options.name == "auto";
  check(has_folders || options.val_labels.empty(),
        "--val-labels: only applies to pictures in folders, but ", "the data set is ",
        options.name);
  check(options.name == "coco" || (options.annotations.empty() && options.val_annotations.empty()),
        "--annotations and --val-annotations: only apply to coco, but the data set is ",
        options.name);
  check(options.name == "coco" || !options.compact_ids,
        "--compact-ids: only applies to coco, but the data set is ", options.name);
  return source_of(options.name).open(options, split);
}

Opened open_detected(const DatasetOptions& given, Split split) {
  DatasetOptions options = given;
  options.name = detect_dataset(given);
  return open_whole(options, split);
}

}  // namespace

Sample Dataset::get(std::int64_t index, const ChooseBox& choose, ImageSize /*shrink_to*/) const {
  Sample sample = get(index);
  const geometry::Crop part{choose(sample.image.size())};
  return moved(std::move(sample), part);
}

std::string FileDataset::bytes(std::int64_t index) const try {
  return file(index).value();
} catch (const Error& error) {
  throw ImageError(error.what());
}

ImageTargets FileDataset::checked(ImageTargets targets, ImageSize image, std::int64_t index) const {
  for (const DenseMap& map : targets.maps) {
    if (map.values.size() == image) continue;
    throw ImageError(describe(index) + ": has " + to_string(image) + " pixels, but its map \"" +
                     map.name + "\" has " + to_string(map.values.size()) +
                     orientation_cause(*this, index, image, map.values.size()));
  }
  return targets;
}

Sample FileDataset::get(std::int64_t index) const {
  Image image = decode_image(as_u8(bytes(index)), describe(index), decode_options(index));
  ImageTargets moving = checked(targets(index), image.size(), index);
  return {std::move(image), label(index), std::move(moving)};
}

Sample FileDataset::get(std::int64_t index, const ChooseBox& choose, ImageSize shrink_to) const {
  DecodeOptions options = decode_options(index);
  options.shrink_to = shrink_to;
  ImageSize whole;
  geometry::Crop part{};
  const ChooseBox note = [&](ImageSize size) {
    whole = size;
    return part.box = choose(size);
  };
  Sample sample{decode_image(as_u8(bytes(index)), describe(index), note, options), label(index),
                targets(index)};
  if (sample.targets.empty()) return sample;
  sample.targets = checked(std::move(sample.targets), whole, index);
  const geometry::Resize shrunk{sample.image.size()};  // possibly the same size
  sample.targets = moved(std::move(sample.targets), part, whole);
  sample.targets = moved(std::move(sample.targets), shrunk, part.box.size());
  return sample;
}

void Dataset::check_index(std::int64_t index, const std::string& context) const {
  check(index >= 0 && index < size(), context, ": got index ", index, ", expected 0 to ",
        size() - 1);
}

std::string Dataset::describe(std::int64_t index) const { return "image " + std::to_string(index); }

void Dataset::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name += std::to_string(index);
}

std::filesystem::path data_folder(const DatasetOptions& options) {
  if (!options.data_dir.empty()) return options.data_dir;
  const char* variable = std::getenv("FOVEA_DATA");
  return variable != nullptr && *variable != '\0' ? variable : "datasets";
}

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Source& source : kSources) all.emplace_back(source.name);
    return all;
  }();
  return names;
}

DataKind data_kind(std::string_view dataset) { return source_of(dataset).kind; }

std::string detect_dataset(const DatasetOptions& given) {
  DatasetOptions options = given;
  options.data_dir = data_folder(given);
  for (const Split split : {Split::train, Split::test}) {
    if (!find_pack(options, split).empty()) return "pack";
    if (!find_shards(options, split).empty()) return "tar";
    if (!find_split_folder(options, split).empty()) return "folder";
  }
  const std::string context = options.data_dir.string();
  check(std::filesystem::is_directory(options.data_dir), context, ": no such folder, expected the ",
        "folder of the data set; set it with --data-dir or $FOVEA_DATA");
  require_no_cifar(options.data_dir);
  const std::filesystem::path compressed = find_compressed_shard(options, Split::train);
  check(compressed.empty(), unpacking_advice(compressed));
  fail(
      context, ": contains no known data set, expected class folders in train/ and val/, tar ",
      "shards train*.tar and val*.tar, or train.pack and val.pack; set the folder with --data-dir ",
      "or $FOVEA_DATA");
}

std::shared_ptr<const Dataset> open_dataset(const DatasetOptions& given, Split split) {
  DatasetOptions options = given;
  options.data_dir = data_folder(given);
  const SubsetOptions subset{options.classes, split == Split::train ? options.fraction : 1,
                             options.fraction_rule};
  if (options.val_fraction == 0) return select(open_whole(options, split), subset);
  const bool names_split =
      !options.val_split.empty() || !options.val_labels.empty() || !options.val_annotations.empty();
  check(!names_split, "--val-fraction: holds out training images for validation, expected no ",
        "--val-split, --val-labels or --val-annotations with it");
  const Opened all = open_whole(options, Split::train);
  const HoldOut held{options.val_fraction, options.val_rule.value_or(HoldOutRule::number),
                     options.val_seed};
  return select(hold_out(all, held, split), subset);
}

}  // namespace fovea
