// From what the user names to a model with weights.
#include "apps/loading.h"

#include <nlohmann/json.hpp>

#include "engine/check.h"
#include "engine/safetensors.h"
#include "models/config_reader.h"
#include "models/pretrained.h"
#include "models/registry.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

fs::path newest_run() {
  fs::path newest;
  fs::file_time_type best{};
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("runs", none)) {
    const fs::path weights = RunPaths{entry.path()}.weights("last");
    if (!fs::exists(weights) || (!newest.empty() && fs::last_write_time(weights) <= best)) continue;
    newest = entry.path();
    best = fs::last_write_time(weights);
  }
  check(!newest.empty(),
        "no checkpoint was named and no finished epoch is under runs/; "
        "./run train_cifar makes one");
  return newest;
}

fs::path weights_file(const LoadRequest& request) {
  const fs::path given = request.checkpoint.empty() ? newest_run() : fs::path(request.checkpoint);
  if (!fs::is_directory(given)) return given;
  const std::string kind = request.use_ema ? "_ema" : "";
  fs::path file = RunPaths{given}.weights((request.last ? "last" : "best") + kind);
  if (!fs::exists(file)) file = RunPaths{given}.weights("last" + kind);  // of its first epoch
  check(fs::exists(file), file.string(), ": does not exist",
        request.use_ema ? "; was the run made with --model-ema?" : "; is this a run directory?");
  return file;
}

/// The file's own model, or the one that the request names, at the size that it asks for.
std::unique_ptr<Model> make_empty_model(const fs::path& path, const LoadRequest& request) {
  const auto metadata = read_safetensors(path).metadata;
  json config = json::object();
  if (!request.model.empty()) {
    config = preset(request.model);
    if (request.num_classes > 0) config["num_classes"] = request.num_classes;
  } else {
    const auto found = metadata.find("config");
    check(found != metadata.end(), path.string(),
          ": its metadata names no model; give --model and --num-classes");
    config = json::parse(found->second, nullptr, false);
    check(config.is_object(), path.string(), ": the model in its metadata is not JSON");
  }
  if (!request.img_size.empty()) {
    const json size = parse_config_value(request.img_size);
    const bool pair = size.is_array() && size.size() == 2;
    check(pair || size.is_number_unsigned(), "--img-size: got ", request.img_size,
          ", expected N or HxW");
    config["img_size"] = pair ? size : json{size, size};
  }
  const auto name = metadata.find("model");
  const std::string shown = !request.model.empty()   ? request.model
                            : name != metadata.end() ? name->second
                                                     : "";
  const Device device = parse_device(request.device);
  require_device(device);
  return make_model_from_config(config, 0, {DType::f32, device}, shown);
}

}  // namespace

LoadedModel load_trained(const LoadRequest& request) {
  LoadedModel loaded;
  loaded.weights = weights_file(request);
  loaded.model = make_empty_model(loaded.weights, request);
  load_weights(*loaded.model, loaded.weights);
  loaded.info = read_weights_info(loaded.weights);
  for (auto k = static_cast<std::int64_t>(loaded.info.classes.size());
       k < loaded.model->info().num_classes; ++k) {
    loaded.info.classes.push_back("class " + std::to_string(k));
  }
  return loaded;
}

void add_load_fields(Fields& fields, LoadRequest& r) {
  FieldGroup g(fields, "Model");
  g.add("use-ema", &r.use_ema, "the averaged weights");
  g.add("last", &r.last, "the last weights instead of the best ones");
  g.add("img-size", &r.img_size, "N or HxW (default: as trained)");
  g.add("model", &r.model, "registry name, for a file that does not say what it is");
  g.number("num-classes", &r.num_classes, "of such a file", {0, 1e6});
  g.add("device", &r.device, "cpu, cuda or cuda:N");
}

}  // namespace fovea
