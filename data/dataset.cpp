// What data sets have in common, and the choice of one by name.
#include "data/dataset.h"

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/names.h"
#include "data/sources/builtin.h"
#include "data/sources/cifar.h"
#include "data/sources/folder.h"
#include "data/sources/pack.h"
#include "data/sources/subset.h"
#include "data/sources/tar_shards.h"
#include "data/transforms.h"

namespace fovea {
namespace {

std::filesystem::path data_dir_of(const DatasetOptions& options) {
  if (!options.data_dir.empty()) return options.data_dir;
  const char* variable = std::getenv("FOVEA_DATA");
  return variable != nullptr && *variable != '\0' ? variable : "datasets";
}

std::shared_ptr<const Dataset> open_whole(const DatasetOptions& options, Split split) {
  if (options.name == "builtin")
    return std::make_shared<Builtin>(split, BuiltinOptions{.seed = options.seed});
  if (options.name == "cifar10")
    return std::make_shared<Cifar>(CifarKind::cifar10, options.data_dir, split);
  if (options.name == "cifar100")
    return std::make_shared<Cifar>(CifarKind::cifar100, options.data_dir, split);
  if (options.name == "folder") return std::make_shared<ImageFolder>(options, split);
  if (options.name == "tar") return std::make_shared<TarShards>(options, split);
  if (options.name == "pack") return std::make_shared<Pack>(options, split);
  refuse_name("open_dataset", options.name, dataset_names());
}

}  // namespace

Sample Dataset::get(std::int64_t index, const ChooseBox& choose, ImageSize /*shrink_to*/) const {
  Sample sample = get(index);
  const PixelBox box = choose({sample.image.height, sample.image.width});
  sample.image = crop(sample.image, box.top, box.left, box.size());
  return sample;
}

std::string FileDataset::bytes(std::int64_t index) const try {
  return file(index).value();
} catch (const Error& error) {
  throw ImageError(error.what());
}

Sample FileDataset::get(std::int64_t index) const {
  return {decode_image(as_u8(bytes(index)), describe(index)), label(index)};
}

Sample FileDataset::get(std::int64_t index, const ChooseBox& choose, ImageSize shrink_to) const {
  DecodeOptions options;
  options.shrink_to = shrink_to;
  return {decode_image(as_u8(bytes(index)), describe(index), choose, options), label(index)};
}

std::string Dataset::describe(std::int64_t index) const { return "image " + std::to_string(index); }

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> names = {"builtin", "cifar10", "cifar100", "auto",
                                                 "folder",  "tar",     "pack"};
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
  if (options.name == "auto") options.name = detect_dataset(options);
  const SubsetOptions subset{options.classes, split == Split::train ? options.fraction : 1,
                             options.fraction_rule};
  return select(open_whole(options, split), subset);
}

}  // namespace fovea
