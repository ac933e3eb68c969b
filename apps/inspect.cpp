// inspect NAME [RUN_DIR | FILE]: analyses of a model as pictures and CSV files.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/common/cli.h"
#include "apps/common/computing.h"
#include "apps/common/help_format.h"
#include "apps/common/launch.h"
#include "apps/common/loading.h"
#include "apps/common/progress_line.h"
#include "engine/base/program_call.h"
#include "engine/base/writable.h"
#include "engine/parallel.h"
#include "models/registry.h"
#include "report/inspect/inspect.h"
#include "train/run/run_paths.h"

namespace fovea::programs {
namespace {
using nlohmann::json;

struct InspectRequest {
  LoadRequest load;
  InspectOptions options;
  std::int64_t seed = 0, threads = 0;
};

Fields fields_of(InspectRequest& r) {
  Fields fields = fields_of(r.options);
  FieldGroup model(fields, "Model");
  model.add("checkpoint", &r.load.checkpoint,
            "run directory or weights file (default: the newest under runs/)");
  add_load_fields(fields, r.load);
  add_orientation_field(fields, *r.load.images);
  model.number("seed", &r.seed, "seed of an untrained model: --model without --checkpoint",
               {0, 9e15});
  model.number("threads", &r.threads, "compute threads; 0: all", {0, 1024});
  return fields;
}

/// True if no analysis is named, with or without a model: prints the list of analyses.
bool asks_for_list(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return true;
  std::error_code none;
  return arguments.size() == 1 && !is_analysis(arguments.front()) &&
         std::filesystem::exists(arguments.front(), none);
}

/// A model with initial values, for --model without --checkpoint.
LoadedModel make_untrained(const InspectRequest& request) {
  const LoadRequest& load = request.load;
  LoadedModel made;
  made.weights = "untrained, seed " + std::to_string(request.seed);
  load.images->apply(made.info);
  const Device device = parse_device(load.device);
  start_computing(device);
  made.model = make_model(load.model, json::parse(model_settings(load)),
                          static_cast<std::uint64_t>(request.seed), {DType::f32, device});
  return made;
}

/// The folder of the files: the run's own, and else one that no folder of sources is named like.
std::string output_folder(const InspectRequest& request, const LoadedModel& loaded) {
  if (!request.options.output.empty()) return request.options.output;
  const RunPaths run{loaded.weights.parent_path()};
  std::error_code none;
  const bool is_run = !run.folder.empty() && std::filesystem::exists(run.config(), none) &&
                      std::filesystem::exists(run.log(), none);  // which a hub's folder lacks
  return is_run ? (run.folder / "inspect").string() : "inspection";
}

/// The data set of the images: the given one, or that of the model's run.
DatasetOptions data_of(const InspectOptions& options, const LoadedModel& loaded) {
  const bool is_runs = options.dataset.empty() && options.data_dir.empty();
  DatasetOptions data = is_runs ? loaded.run.options : DatasetOptions();
  const std::string& name = options.dataset.empty() ? loaded.info.dataset : options.dataset;
  if (!name.empty()) data.name = name;
  if (!is_runs) data.data_dir = options.data_dir;
  data.exif_orientation = loaded.info.exif_orientation;
  return data;
}

}  // namespace

int run_inspect(int argc, char** argv) {
  require_one_process();
  InspectRequest request;
  const std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"inspect", "Shows what a model attends to and how it encodes positions:\n" + inspect_help(),
       "name of an analysis; run directory or weights file", fields_of(request)});
  if (asks_for_list(arguments)) {
    std::cout << program_call("inspect")
              << " NAME [RUN_DIR | FILE], where NAME is one of these analyses:\n"
              << help_lines(inspect_help());
    return 0;
  }
  if (arguments.size() > 2) throw UsageError("inspect: expected one analysis and one checkpoint");
  const std::string& name = arguments.front();
  if (arguments.size() == 2) request.load.checkpoint = arguments.back();
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));

  // The analysis of initial parameters needs a model, but no trained one.
  if (request.options.init && request.load.checkpoint.empty() && request.load.model.empty()) {
    request.load.model = "pervit_tiny_224";
  }
  const bool has_name = !request.load.model.empty(), has_file = !request.load.checkpoint.empty();
  LoadedModel loaded;
  if (has_name && !has_file) {
    loaded = make_untrained(request);
  } else if (has_file || needs_model(name, request.options)) {
    loaded = load_trained(request.load);
  }
  request.options.output = output_folder(request, loaded);
  require_writable_folder(request.options.output);
  ProgressLine line(1);
  Inspection what;
  what.model = loaded.model.get();
  what.source = loaded.title();
  what.normalization = loaded.info.normalization;
  what.crop = loaded.info.crop;
  what.data = data_of(request.options, loaded);
  what.classes = loaded.info.classes;
  what.options = request.options;
  what.progress = [&](std::int64_t done, std::int64_t total) {
    line.update({.label = name, .done = done, .total = total, .note = {}});
  };
  what.print = [&](const std::string& table) { line.print(table); };
  for (const std::filesystem::path& file : run_inspection(name, what)) {
    line.print("wrote " + file.string());
  }
  return 0;
}

}  // namespace fovea::programs
