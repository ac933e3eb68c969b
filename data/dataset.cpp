// What data sets have in common, and the choice of one by name.
#include "data/dataset.h"

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "data/geometry.h"
#include "data/sources/builtin.h"
#include "data/sources/cifar.h"
#include "data/sources/folder.h"
#include "data/sources/pack.h"
#include "data/sources/subset.h"
#include "data/sources/tar_shards.h"

namespace fovea {
namespace {

std::filesystem::path data_dir_of(const DatasetOptions& options) {
  if (!options.data_dir.empty()) return options.data_dir;
  const char* variable = std::getenv("FOVEA_DATA");
  return variable != nullptr && *variable != '\0' ? variable : "datasets";
}

using Opened = std::shared_ptr<const Dataset>;

struct Source {
  std::string_view name;
  Opened (*open)(const DatasetOptions& options, Split split);
};

template <class Set>
Opened open_files(const DatasetOptions& options, Split split) {
  return std::make_shared<Set>(options, split);
}

template <CifarKind kind>
Opened open_cifar(const DatasetOptions& options, Split split) {
  return std::make_shared<Cifar>(kind, options.data_dir, split);
}

Opened open_builtin(const DatasetOptions& options, Split split) {
  return std::make_shared<Builtin>(split, BuiltinOptions{.seed = options.seed});
}

Opened open_detected(const DatasetOptions& options, Split split);

/// A data set has its row here.
constexpr auto kSources = std::to_array<Source>({{"builtin", open_builtin},
                                                 {"cifar10", open_cifar<CifarKind::cifar10>},
                                                 {"cifar100", open_cifar<CifarKind::cifar100>},
                                                 {"auto", open_detected},
                                                 {"folder", open_files<ImageFolder>},
                                                 {"tar", open_files<TarShards>},
                                                 {"pack", open_files<Pack>}});

Opened open_whole(const DatasetOptions& options, Split split) {
  for (const Source& source : kSources)
    if (source.name == options.name) return source.open(options, split);
  refuse_name("open_dataset", options.name, dataset_names());
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

Sample FileDataset::get(std::int64_t index) const {
  return {decode_image(as_u8(bytes(index)), describe(index), decode_options()), label(index),
          targets(index)};
}

Sample FileDataset::get(std::int64_t index, const ChooseBox& choose, ImageSize shrink_to) const {
  DecodeOptions options = decode_options();
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
  const geometry::Resize shrunk{sample.image.size()};  // or the same size
  sample.targets = moved(std::move(sample.targets), part, whole);
  sample.targets = moved(std::move(sample.targets), shrunk, part.box.size());
  return sample;
}

std::string Dataset::describe(std::int64_t index) const { return "image " + std::to_string(index); }

void Dataset::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name += std::to_string(index);
}

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Source& source : kSources) all.emplace_back(source.name);
    return all;
  }();
  return names;
}

std::string detect_dataset(const DatasetOptions& given) {
  DatasetOptions options = given;
  options.data_dir = data_dir_of(given);
  if (!find_pack(options, Split::train).empty()) return "pack";
  if (!find_shards(options, Split::train).empty()) return "tar";
  if (!find_split_folder(options, Split::train).empty()) return "folder";
  if (!find_pack(options, Split::test).empty()) return "pack";
  if (!find_shards(options, Split::test).empty()) return "tar";
  if (!find_split_folder(options, Split::test).empty()) return "folder";
  fail(options.data_dir.string(), ": holds no data set that is known: expected class folders in ",
       "train/ and val/, tar shards train*.tar and val*.tar, or train.pack and val.pack (CIFAR's "
       "files ",
       "are read where the data set is named, cifar10 or cifar100); name the place as data_dir or "
       "in ",
       "$FOVEA_DATA");
}

std::shared_ptr<const Dataset> open_dataset(const DatasetOptions& given, Split split) {
  DatasetOptions options = given;
  options.data_dir = data_dir_of(given);
  const SubsetOptions subset{options.classes, split == Split::train ? options.fraction : 1,
                             options.fraction_rule};
  return select(open_whole(options, split), subset);
}

}  // namespace fovea
