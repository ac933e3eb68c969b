// Evaluation of depth models beside constant predictions.
#include "apps/tasks/evaluate_depth.h"

#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "apps/common/progress_line.h"
#include "engine/base/files.h"
#include "models/model_as.h"
#include "report/depth_report.h"
#include "train/loop/evaluation_pass.h"

namespace fovea {
namespace {

std::vector<DepthProtocol> protocols_of(const EvaluateRequest& r) {
  try {
    return parse_protocols(r.protocol.empty() ? to_text(DepthProtocol{}) : r.protocol);
  } catch (const Error& error) {
    throw UsageError(std::string("--") + error.what());
  }
}

void check_depth_request(const EvaluateRequest& r) {
  const std::array<std::pair<const char*, std::string>, 3> others{
      {{"--logits", r.logits}, {"--class-map", r.class_map}, {"--shape-bias", r.shape_bias}}};
  for (const auto& [flag, text] : others) {
    check_usage(text.empty(), flag, ": got ", text,
                ", but it is for classifiers, and the checkpoint is a depth model");
  }
}

EvaluatedDepth evaluate_one(const EvaluateRequest& request, const LoadedModel& trained,
                            ProgressLine& line) {
  const DatasetOptions data = request.images_of(trained);
  check(!data.name.empty(), trained.weights.string(),
        ": does not record its training data set; add --dataset");
  const auto train = open_dataset(data, Split::train);
  const auto images = request.split == "train" ? train : open_dataset(data, Split::test);
  require_depths(*images, protocols_of(request));
  EvaluateOptions options = request.options(trained);
  options.on_batch = [&](std::int64_t done) {
    line.update({.label = "evaluating", .done = done, .total = images->size(), .note = {}});
    return true;
  };
  auto& model = model_as<DepthModel>(*trained.model);
  EvaluatedDepth evaluated{.checkpoint = trained.weights.string(),
                           .model = model.info().name,
                           .dataset = data.name,
                           .size = trained.preparation().size,
                           .protocols = protocols_of(request),
                           .results = {}};
  if (request.split == "train") evaluated.dataset += ", training images";
  evaluated.results = evaluate_depth(model, images, options, evaluated.protocols,
                                     measure_baselines(model, *train, options));
  evaluated.results.pass.require_finite(trained.weights.string() + ": ");
  return evaluated;
}

/// Files of a single checkpoint; those in its own folder describe test images only.
void write_files(const EvaluateRequest& request, const std::vector<EvaluatedDepth>& models,
                 ProgressLine& line) {
  std::filesystem::path folder = request.output;
  if (folder.empty() && request.is_alone() && request.split == "val")
    folder = std::filesystem::path(models.front().checkpoint).parent_path();
  if (!folder.empty()) {
    make_folder(folder);
    write_file_atomically(folder / "depth.csv", depth_csv(models));
    line.print("wrote " + (folder / "depth.csv").string());
  }
  if (!request.csv.empty()) write_file_atomically(request.csv, depth_csv(models));
  if (!request.json.empty()) write_file_atomically(request.json, depth_json(models));
}

}  // namespace

void require_no_protocol(const EvaluateRequest& request) {
  check_usage(request.protocol.empty(), "--protocol: got ", request.protocol,
              ", but it is for depth models, and the checkpoint is another model");
}

void evaluate_depths(const EvaluateRequest& given) {
  check_depth_request(given);
  static_cast<void>(protocols_of(given));
  EvaluateRequest request = given;
  ProgressLine line(1);
  std::set<std::string> told;
  std::vector<EvaluatedDepth> models;
  request.load.key_is_shared = request.checkpoints.size() > 1;
  for (const std::string& checkpoint : request.checkpoints) {
    for (const std::string& size : given.sizes()) {
      request.load.checkpoint = checkpoint;
      request.load.img_size = size;
      const LoadedModel trained = load_trained(request.load);
      for (const std::string& notice : trained.notices) {
        if (told.insert(notice).second) line.print("note: " + notice);
      }
      models.push_back(evaluate_one(request, trained, line));
      for (const BrokenImage& image : models.back().results.pass.bad_images)
        line.print("broken: " + image.message);
    }
  }
  line.print("\n" + depth_table(models));
  if (request.processes->is_first()) write_files(request, models, line);
}

}  // namespace fovea
