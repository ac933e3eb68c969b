// Evaluation of depth models beside constant predictions.
#include <filesystem>
#include <optional>

#include "apps/tasks/depth.h"
#include "apps/tasks/evaluation_session.h"
#include "engine/base/output_folder.h"
#include "models/model_as.h"
#include "report/depth_report.h"

namespace fovea {
namespace {

std::vector<DepthProtocol> protocols_of(const EvaluateRequest& r) {
  try {
    return parse_protocols(r.protocol.empty() ? to_text(DepthProtocol{}) : r.protocol);
  } catch (const Error& error) {
    throw UsageError(std::string("--") + error.what());
  }
}

EvaluatedDepth evaluate_depth_model(EvaluationSession& session, const LoadedModel& trained) {
  const EvaluateRequest& request = session.request();
  const DatasetOptions data = request.images_of(trained);
  const auto train = open_dataset(data, Split::train);
  const auto images = request.split == "train" ? train : open_dataset(data, Split::test);
  require_depths(*images, protocols_of(request));
  session.note(request.held_out_note(trained, *images));
  const EvaluateOptions options = session.options(trained, images->size());
  auto& model = model_as<DepthTransformer>(*trained.model);
  EvaluatedDepth evaluated{.checkpoint = trained.weights.string(),
                           .model = model.info().name,
                           .dataset = request.dataset_title(trained),
                           .size = trained.preparation().size,
                           .protocols = protocols_of(request),
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
