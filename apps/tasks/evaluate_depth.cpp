// Evaluation of depth models beside constant predictions.
#include <filesystem>
#include <optional>

#include "apps/tasks/depth.h"
#include "apps/tasks/evaluation_session.h"
#include "data/sources/orientation.h"
#include "engine/base/files.h"
#include "engine/base/output_folder.h"
#include "models/model_as.h"
#include "report/depth_report.h"
#include "train/run/run_paths.h"
#include "train/settings/config.h"
#include "train/start/tasks.h"

namespace fovea {
namespace {

/// Whether a model is evaluated on the data set of its run, wherever that lies.
bool is_own_set(const EvaluateRequest& request, const LoadedModel& trained) {
  return request.data.name.empty() || request.data.name == trained.info.dataset;
}

/// The greatest depth that counts where a protocol does not say: as in the model's own run. On
/// other data own pairs have no limit, and published sets the usual one.
double limit_of(const EvaluateRequest& request, const LoadedModel& trained) {
  const RunPaths run{trained.weights.parent_path()};
  const std::string set = request.data.name.empty() ? trained.info.dataset : request.data.name;
  if (is_own_set(request, trained) && std::filesystem::exists(run.config())) {
    TrainConfig config = saved_config(read_file(run.config()), run.config().string());
    return parse_protocol(field_text(find_field(fields_of(config), "protocol", ""))).most;
  }
  return parse_protocol(set == "depth_pairs" ? "most=none" : "full").most;
}

std::vector<DepthProtocol> protocols_of(const EvaluateRequest& r,
                                        double limit = DepthProtocol{}.most) {
  try {
    return parse_protocols(r.protocol.empty() ? "full" : r.protocol, limit);
  } catch (const Error& error) {
    throw UsageError(std::string("--") + error.what());
  }
}

/// The training images of the baselines: in the model's own set, those that its run trained on.
DatasetOptions baseline_images(const EvaluateRequest& request, const LoadedModel& trained) {
  DatasetOptions data = request.images_of(trained);
  if (!is_own_set(request, trained)) return data;
  data.fraction = trained.run.options.fraction;
  data.fraction_rule = trained.run.options.fraction_rule;
  return data;
}

EvaluatedDepth evaluate_depth_model(EvaluationSession& session, const LoadedModel& trained) {
  const EvaluateRequest& request = session.request();
  const Split split = request.split == "train" ? Split::train : Split::test;
  const auto images = open_dataset(request.images_of(trained), split);
  const auto train = open_dataset(baseline_images(request, trained), Split::train);
  const double limit = limit_of(request, trained);
  const std::vector<DepthProtocol> protocols = protocols_of(request, limit);
  require_depths(*images, protocols);
  session.note(images->notice());
  session.note(orientation_notice(*images));
  session.note(request.other_images_note(trained, *images));
  const EvaluateOptions options = session.options(trained, images->size());
  auto& model = model_as<DepthTransformer>(*trained.model);
  EvaluatedDepth evaluated{.checkpoint = trained.weights.string(),
                           .model = model.info().name,
                           .dataset = request.dataset_title(trained),
                           .size = trained.preparation().size,
                           .protocols = protocols,
                           .limit = limit,
                           .results = {}};
  evaluated.results = evaluate_depth(model, images, options, evaluated.protocols,
                                     measure_baselines(model, *train, options));
  session.report(evaluated.results.pass, trained);
  return evaluated;
}

}  // namespace

void evaluate_depths(const EvaluateRequest& request) {
  static_cast<void>(protocols_of(request));  // an error in them is reported before models load
  EvaluationSession session(request);
  std::vector<EvaluatedDepth> models;
  std::optional<std::filesystem::path> folder;
  session.for_each_model([&](const LoadedModel& trained) {
    folder = request.output.empty() ? session.own_folder(trained) : request.output;
    models.push_back(evaluate_depth_model(session, trained));
  });
  const std::string csv = depth_csv(models);
  session.finish(depth_table(models), csv, depth_json(models));
  if (folder) {
    session.write([&] {
      OutputFolder output(*folder);
      output.write("depth.csv", csv);
      return output.files();
    });
  }
  session.throw_failure();
}

}  // namespace fovea
