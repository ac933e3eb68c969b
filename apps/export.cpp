// export [RUN] --output FILE.onnx: a trained model as an ONNX file, checked before it appears.
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/common/cli.h"
#include "apps/common/launch.h"
#include "apps/common/loading.h"
#include "apps/common/progress_line.h"
#include "apps/common/version.h"
#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/base/writable.h"
#include "engine/parallel.h"
#include "export/export_model.h"
#include "export/onnx_file.h"
#include "models/checkpoints/hub_config.h"
#include "train/run/fingerprint.h"
#include "train/run/run_log.h"
#include "train/run/run_paths.h"

namespace fovea::programs {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kChecked = 16;     // pictures
constexpr double kMostDifference = 1e-3;  // relative; 1e-7 to 1e-5 are usual
constexpr double kMostOfHalves = 0.1;     // 1e-4 to 1e-3 are usual

struct ExportRequest {
  LoadRequest load;
  std::string output, input = "image";
  std::int64_t top = 0, opset = 20, threads = 0;
  bool half = false, overwrite = false;
};

Fields fields_of(ExportRequest& r) {
  Fields fields;
  FieldGroup group(fields, "Export");
  group.add("output", &r.output, "the .onnx file to write");
  group.choice("input", &r.input,
               "what the file takes: images of 8 bits, which it prepares as in evaluation, or "
               "tensors of prepared ones",
               {"image", "tensor"});
  group.number("top", &r.top,
               "also give the probabilities of that many likeliest classes; 0: logits alone",
               {0, 1e6});
  group.number("opset", &r.opset, "version of ONNX's operators; from 20 on, GELU is one operator",
               {17, 20});
  group.add("half", &r.half, "store matrices in 16 bits (f16); programs compute with f32");
  group.add("overwrite", &r.overwrite, "overwrite an existing file");
  group.number("threads", &r.threads, "compute threads; 0: all", {0, 1024});
  add_load_fields(fields, r.load);
  std::erase_if(fields, [](const Field& field) { return field.name == "device"; });
  return fields;
}

/// Throws if a file would be overwritten unasked, and for a device: files are read back.
void require_replaceable(const ExportRequest& r, const fs::path& path) {
  if (!fs::exists(path)) return;
  check(r.overwrite, path.string(), ": already exists; --overwrite replaces it");
  check(fs::is_regular_file(path), path.string(), ": is not a regular file");
}

void check_request(const ExportRequest& r, std::size_t arguments) {
  check_usage(arguments <= 1, "export: got ", arguments,
              " arguments, expected one: a run directory, a hub folder or a weights file");
  check_usage(lowercase_ending(r.output) == ".onnx", "export: needs --output FILE.onnx",
              r.output.empty() ? "" : ", got ", r.output);
  require_replaceable(r, r.output);
  with_context("--output", [&] { require_writable(r.output); });
}

/// "license" in the hub's config.json beside the weights; "" if there is none.
std::string license_of(const fs::path& weights) {
  const fs::path config = weights.parent_path() / "config.json";
  std::error_code none;
  if (!fs::is_regular_file(config, none)) return {};
  const json root = parse_json(read_file(config));
  for (const json& place : {root, root.value("pretrained_cfg", json::object())}) {
    const auto license = place.is_object() ? place.find("license") : place.end();
    if (license != place.end() && license->is_string()) return *license;
  }
  return {};
}

/// The last fingerprint that the log of the weights' run has for their epoch; "" without one.
std::string run_fingerprint_of(const LoadedModel& loaded) {
  const fs::path log = RunPaths{loaded.weights.parent_path()}.steps();
  std::error_code none;
  std::string last;
  if (loaded.info.epoch < 0 || !fs::is_regular_file(log, none)) return last;
  for (const std::string& line : lines_of(read_file(log))) {
    const auto row = parse_step({}, line);
    if (row && row->epoch == loaded.info.epoch && !row->fingerprint.empty())
      last = row->fingerprint;
  }
  return last;
}

std::vector<std::pair<std::string, std::string>> metadata_of(const LoadedModel& loaded) {
  const ModelInfo& model = loaded.model->info();
  const WeightsInfo& info = loaded.info;
  FingerprintChain chain;
  add_weights(chain, loaded.model->store());
  std::vector<std::pair<std::string, std::string>> metadata{
      {"model", model.name},
      {"config", model.config},
      {"fingerprint", chain.last},
      {"mean", json_text(json(info.normalization.mean))},
      {"std", json_text(json(info.normalization.deviation))},
      {"crop_pct", shortest_text(info.crop.crop_pct)},
      {"crop_mode", std::string(name_of(info.crop.mode))},
      {"interpolation", std::string(name_of(info.crop.filter))}};
  if (loaded.names_classes) metadata.emplace_back("classes", json_text(json(info.classes)));
  const std::string run_fingerprint = run_fingerprint_of(loaded);
  if (!run_fingerprint.empty()) metadata.emplace_back("run_fingerprint", run_fingerprint);
  const std::string license = license_of(loaded.weights);
  if (!license.empty()) metadata.emplace_back("license", license);
  return metadata;
}

/// "[batch, 3, 32, 32]".
std::string shape_text(const onnx::ValueInfoProto& value) {
  std::vector<std::string> sizes;
  for (const onnx::Dimension& size : value.shape) {
    std::visit([&](const auto& known) { sizes.push_back(concat(known)); }, size);
  }
  return "[" + join(sizes, ", ") + "]";
}

std::string values_text(const std::vector<onnx::ValueInfoProto>& values) {
  std::vector<std::string> texts;
  for (const onnx::ValueInfoProto& value : values)
    texts.push_back(value.name + " " + shape_text(value));
  return join(texts, ", ");
}

ExportedPass pass_of(const ExportRequest& request, Model& model) {
  if (request.top == 0) return exported_pass(model);
  const ModelInfo& info = model.info();
  check(info.task == TaskKind::classification, "--top: ", info.name, " is ", noun_of(info.task),
        ", expected a classifier");
  check(request.top <= info.num_classes, "--top: got ", request.top, ", but ", info.name, " has ",
        info.num_classes, " classes");
  return with_likeliest(exported_pass(model), request.top);
}

bool takes_images(const ExportedPass& pass) { return pass.inputs.front().name == "pixels"; }

/// What the file does; throws if it cannot.
ExportSettings settings_of(const ExportRequest& request, const LoadedModel& loaded,
                           const ExportedPass& pass) {
  const ModelInfo& model = loaded.model->info();
  ExportSettings settings{request.opset, version_text(), {}, metadata_of(loaded)};
  settings.half = request.half;
  if (!takes_images(pass)) return settings;
  if (request.input == "tensor") {
    settings.description =
        "Takes prepared images: levels from 0 to 1, minus the metadata's mean, divided by its std.";
    return settings;
  }
  check(model.in_chans == Image::kChannels, model.name, " takes images of ", model.in_chans,
        " channels, which the file cannot prepare; --input tensor writes a file for prepared ones");
  settings.images = loaded.preparation();
  const bool turns = loaded.info.exif_orientation == ExifOrientation::apply;
  settings.description =
      concat("Takes RGB from 0 to 255, u8 [batch, height, width, 3] of any size. Pictures are ",
             turns ? "turned as their EXIF orientation says"
                   : "as stored: their EXIF orientation is ignored",
             ". Grey is repeated in all channels, and transparency dropped.");
  return settings;
}

std::vector<ExportTrial> trials_of(const ExportSettings& settings, const ExportedPass& pass) {
  if (settings.images) return picture_trials(*settings.images, kChecked);
  return random_trials(pass, kChecked);
}

/// The steps of an export, of which the pictures are the last ones.
class Steps {
 public:
  void tell(const char* step, std::int64_t done) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
    line_.update({.label = step,
                  .done = done,
                  .total = kChecked + 3,
                  .seconds = passed.count(),
                  .img_s = 0,
                  .note = {}});
  }

 private:
  ProgressLine line_{/*descriptor=*/2};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Throws if what was written does not compute what the model does.
ExportDifference checked_difference(const onnx::ModelProto& written, const ExportedPass& pass,
                                    const ExportSettings& settings, Steps& steps) {
  const auto tell = [&](std::int64_t trial) { steps.tell("running", 3 + trial); };
  const ExportDifference difference = difference_of(written, pass, trials_of(settings, pass), tell);
  check(difference.relative <= (settings.half ? kMostOfHalves : kMostDifference),
        "export: what was written differs from the model by ", general_text(difference.relative, 2),
        " of its outputs, so no file is left");
  return difference;
}

/// Writes the model, reads it back and runs it before it gets its name. Weights that one file
/// cannot hold are in a second one, which gets its name first.
ExportDifference write_checked(const ExportRequest& request, const onnx::ModelProto& model,
                               const ExportedPass& pass, const ExportSettings& settings,
                               Steps& steps) {
  const fs::path path = request.output;
  NewFile file(path);
  if (onnx::encoded_size(model) <= onnx::kMaxModelBytes) {
    write_model(file, model);
    const auto difference =
        checked_difference(onnx::read_model(file.unfinished_path()), pass, settings, steps);
    file.finish();
    return difference;
  }
  const std::string name = path.filename().string() + ".data";
  require_replaceable(request, path.parent_path() / name);
  NewFile weights(path.parent_path() / name);
  write_model(file, model, {weights, name});
  const onnx::ModelProto written =
      onnx::read_model(file.unfinished_path(), weights.unfinished_path());
  const auto difference = checked_difference(written, pass, settings, steps);
  weights.finish();
  file.finish();
  return difference;
}

}  // namespace

int run_export(int argc, char** argv) {
  require_one_process();
  ExportRequest request;
  const std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"export",
       "Writes a trained model as an ONNX file for onnxruntime, OpenVINO and others. Before\n"
       "the file appears, it is read back, run on pictures and compared with the model.",
       "run directory, hub folder or weights file (default: the newest under runs/)",
       fields_of(request)});
  check_request(request, arguments.size());
  if (!arguments.empty()) request.load.checkpoint = arguments.front();
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));

  const LoadedModel loaded = load_trained(request.load);
  for (const std::string& notice : loaded.notices) std::cerr << note_of(notice, 2) << '\n';
  const ExportedPass pass = pass_of(request, *loaded.model);
  const ExportSettings settings = settings_of(request, loaded, pass);
  Steps steps;
  steps.tell("tracing", 0);
  const onnx::ModelProto model = export_pass(pass, loaded.model->info().name, settings);
  steps.tell("writing", 1);
  const ExportDifference difference = write_checked(request, model, pass, settings, steps);
  std::cout << "wrote " << request.output << ": " << megabytes_text(encoded_size(model))
            << ", opset " << request.opset << "\ninput  " << values_text(model.graph.inputs)
            << "\noutput " << values_text(model.graph.outputs) << "\nread back and run on "
            << kChecked << (settings.images ? " pictures" : " random inputs")
            << ": the largest difference is " << general_text(difference.largest, 2) << ", "
            << general_text(difference.relative, 2) << " of the outputs' norm\n";
  return 0;
}

}  // namespace fovea::programs
