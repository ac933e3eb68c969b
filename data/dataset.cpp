// The data sets by name.
#include "data/dataset.h"

#include <cstdlib>

#include "data/builtin.h"
#include "data/cifar.h"
#include "engine/check.h"
#include "engine/files.h"

namespace fovea {
namespace {

std::filesystem::path data_dir_of(const DatasetOptions& options) {
  if (!options.data_dir.empty()) return options.data_dir;
  const char* variable = std::getenv("FOVEA_DATA");
  return variable != nullptr && *variable != '\0' ? variable : "datasets";
}

}  // namespace

const std::vector<std::string>& dataset_names() {
  static const std::vector<std::string> names = {"builtin", "cifar10", "cifar100"};
  return names;
}

std::shared_ptr<const Dataset> open_dataset(const DatasetOptions& options, Split split) {
  if (options.name == "builtin")
    return std::make_shared<Builtin>(split, BuiltinOptions{.seed = options.seed});
  if (options.name == "cifar10")
    return std::make_shared<Cifar>(CifarKind::cifar10, data_dir_of(options), split);
  if (options.name == "cifar100")
    return std::make_shared<Cifar>(CifarKind::cifar100, data_dir_of(options), split);
  fail("open_dataset: got \"", options.name, "\", did you mean \"",
       nearest_name(options.name, dataset_names()), "\"?");
}

}  // namespace fovea
