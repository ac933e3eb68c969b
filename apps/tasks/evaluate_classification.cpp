// Accuracy and mistakes of classifiers, and whether shape or texture decides.
#include <optional>
#include <set>

#include "apps/tasks/classification.h"
#include "apps/tasks/evaluation_session.h"
#include "engine/base/files.h"
#include "engine/base/lists.h"
#include "engine/formats/safetensors.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "report/evaluations.h"
#include "report/measured_bias.h"
#include "train/tasks/stored_logits.h"

namespace fovea {
namespace {

EvaluatedModel evaluate_classifier(EvaluationSession& session, const LoadedModel& trained,
                                   const MatchedImages& shown) {
  const EvaluateRequest& request = session.request();
  const EvaluationTransform preparation = trained.preparation();
  ClassifierOptions options = session.options(trained, shown.images->size());
  options.keep_predictions = true;
  options.keep_logits = !request.logits.empty();
  EvaluatedModel model;
  model.result = evaluate(model_as<Classifier>(*trained.model), shown.images, options);
  session.report(model.result.pass, trained);
  model.checkpoint = trained.weights.string();
  model.model = trained.model->info().name;
  model.dataset = request.dataset_title(trained);
  model.size = preparation.size;
  model.crop_pct = preparation.crop.crop_pct;
  model.classes = shown.images->class_names();
  model.data_classes = shown.data.names;
  model.match = shown.match;
  return model;
}

/// Folder for the files about a model, below --output with a name of its own among those `taken`;
/// empty: none are written.
std::optional<std::filesystem::path> output_folder(EvaluationSession& session,
                                                   const LoadedModel& trained,
                                                   std::set<std::string>& taken) {
  const EvaluateRequest& request = session.request();
  if (request.output.empty()) return session.own_folder(trained);
  if (request.is_single()) return request.output;
  const std::filesystem::path& weights = trained.weights;
  std::string name = weights.parent_path().filename().string();
  name += (name.empty() ? "" : "-") + weights.stem().string() + "-" +
          to_string(trained.preparation().size);
  const std::string own = distinct_name(name, taken);
  const std::filesystem::path folder = std::filesystem::path(request.output) / own;
  if (own != name) session.note(folder.string() + " is of " + weights.string());
  return folder;
}

void write_logits(EvaluationSession& session, const Tensor& logits, const Metadata& images) {
  const std::string& file = session.request().logits;
  if (file.empty()) return;
  session.write([&] {
    if (session.request().is_in_output(file)) {
      make_folder(std::filesystem::path(file).parent_path());
    }
    write_safetensors(file, {{"logits", logits}}, images);
    return std::vector<std::filesystem::path>{file};
  });
}

void evaluate_models(EvaluationSession& session) {
  const EvaluateRequest& request = session.request();
  std::vector<EvaluatedModel> models;
  std::set<std::string> folders;
  Metadata which_images;
  session.for_each_model([&](const LoadedModel& trained) {
    require_classes(trained);
    const MatchedImages shown = request.open_images(trained);
    if (!request.logits.empty()) which_images = request.logits_metadata(trained, shown);
    session.note(shown.images->notice());
    session.note(request.other_images_note(trained, *shown.images));
    session.note(match_notice(trained.classes(), shown.data, shown.match));
    const auto folder = output_folder(session, trained, folders);
    const EvaluatedModel& model = models.emplace_back(evaluate_classifier(session, trained, shown));
    if (request.is_single()) session.print(model.class_report().table());
    if (!folder) return;
    session.write(
        [&] { return write_evaluation(*folder, model, *shown.images, trained.preparation()); });
  });
  session.finish(evaluation_table(models), evaluation_csv(models), evaluation_json(models));
  write_logits(session, models.front().result.logits, which_images);
  session.throw_failure();
}

MeasuredBias measure_bias(EvaluationSession& session, const LoadedModel& trained) {
  const EvaluateRequest& request = session.request();
  const EvaluationTransform preparation = trained.preparation();
  const CueRequest wanted{request.shape_bias, request.class_map};
  const ShownCues shown = open_cues(wanted, trained.classes());
  session.note(shown.cues.images->notice());
  session.note(categories_notice(wanted, trained.classes(), shown.categories));
  MeasuredBias model;
  model.responses = respond(model_as<Classifier>(*trained.model), shown.cues, shown.categories,
                            session.options(trained, shown.cues.size()));
  session.report(model.responses.pass, trained);
  model.checkpoint = trained.weights.string();
  model.model = trained.model->info().name;
  model.images = request.shape_bias;
  model.size = preparation.size;
  model.crop_pct = preparation.crop.crop_pct;
  model.cues = shown.cues;
  model.classes = trained.info.classes;
  if (!request.class_map.empty()) model.categories_by = "class map";
  return model;
}

void measure_shape_bias(EvaluationSession& session) {
  const EvaluateRequest& request = session.request();
  std::vector<MeasuredBias> models;
  std::set<std::string> folders;
  session.for_each_model([&](const LoadedModel& trained) {
    require_classes(trained);
    const auto folder = output_folder(session, trained, folders);
    const MeasuredBias& model = models.emplace_back(measure_bias(session, trained));
    if (request.is_single()) session.print(model.bias().table());
    if (folder) session.write([&] { return write_bias(*folder, model); });
  });
  session.finish(bias_table(models), bias_csv(models));
  write_logits(session, models.front().responses.logits, classes_metadata(models.front().classes));
  session.throw_failure();
}

}  // namespace

void evaluate_classifiers(const EvaluateRequest& request) {
  EvaluationSession session(request);
  request.shape_bias.empty() ? evaluate_models(session) : measure_shape_bias(session);
}

}  // namespace fovea
