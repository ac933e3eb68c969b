// Collects the content of a run's report.
#include "report/run_report.h"

#include <algorithm>
#include <memory>

#include "data/classes/class_match.h"
#include "data/sources/boxes/detection_check.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "models/checkpoints/pretrained.h"
#include "models/classifier.h"
#include "models/detector.h"
#include "models/model_as.h"
#include "report/classifier_sections.h"
#include "report/detector_sections.h"
#include "report/page.h"
#include "train/loop/evaluation_pass.h"
#include "train/loop/shown_batch.h"
#include "train/run/weights_info.h"
#include "train/start/latent_training.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"
#include "train/tasks/classification.h"
#include "train/tasks/detection.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSamplesShown = 32;  // training images on the page

TrainConfig read_settings(const RunPaths& run, const RunReportOptions& options) {
  check(fs::exists(run.config()), run.config().string(),
        ": does not exist, expected a run directory");
  TrainConfig config = saved_config(read_file(run.config()), run.config().string());
  if (!options.data_dir.empty()) config.data.data_dir = options.data_dir;
  return config;
}

std::vector<EpochRow> read_log(const TaskInfo& task, const RunPaths& run) {
  const fs::path path = run.log();
  if (!fs::exists(path)) return {};
  return parse_epochs(task, read_file(path), path.string());
}

fs::path find_run_weights(const RunPaths& run, const RunReportOptions& options) {
  const std::string kind = options.use_ema ? "_ema" : "";
  fs::path file = run.weights((options.last ? "last" : "best") + kind);
  // Before its first evaluation, a run has no best weights.
  if (!fs::exists(file)) file = run.weights("last" + kind);
  check(fs::exists(file), file.string(), ": does not exist");
  return file;
}

/// The inputs of the page.
struct Run {
  RunPaths paths;
  RunReportOptions options;
  TrainConfig config;
  std::unique_ptr<Model> model{};
  WeightsInfo info{};
};

std::shared_ptr<const Dataset> images_of(const Run& run, Split split) {
  const Datasets& opened = run.options.images;
  if (opened.train != nullptr) return split == Split::train ? opened.train : opened.test;
  return open_dataset(dataset_options(run.config), split);
}

void require_whole(const EvaluationPass& pass) {
  check(pass.complete, "interrupted");
  pass.require_finite();
}

void load_model_of(Run& run, RunPage& page) {
  const fs::path weights = find_run_weights(run.paths, run.options);
  run.model = load_model(weights, {DType::f32, run.config.run.device});
  run.info = read_weights_info(weights);
  const ModelInfo& model = run.model->info();
  if (page.task.has_class_report) mark_trivial(page.task, model.num_classes);
  page.facts.emplace_back(
      "model",
      model.name + ", " + std::to_string(run.model->store().parameter_count()) + " parameters");
  std::string which = weights.filename().string();
  if (run.info.epoch >= 0) which += ", epoch " + std::to_string(run.info.epoch + 1);
  page.facts.emplace_back("weights", which);
}

/// The images of an evaluation: their number and their size for the model.
struct EvaluatedImages {
  std::int64_t count = 0;
  ImageSize size{};
};

/// Images of the classes that a run's classifier has learned; throws if they are others.
MatchedImages images_of_classes(const Run& run, const std::shared_ptr<const Dataset>& opened) {
  const ModelClasses learned{run.model->info().num_classes, run.info.classes};
  return match_images(opened, learned, !run.config.data.class_map.empty(), "the model");
}

/// Adds a classifier's scores and sections.
EvaluatedImages evaluate_classifier(Run& run, const std::shared_ptr<const Dataset>& opened,
                                    const EvaluateOptions& how, RunPage& page) {
  const std::shared_ptr<const Dataset> test = images_of_classes(run, opened).images;
  EvaluatedModel evaluated;
  evaluated.result =
      evaluate(model_as<Classifier>(*run.model), test, {how, /*keep_predictions=*/true});
  require_whole(evaluated.result.pass);
  evaluated.classes = test->class_names();
  page.scores = scores_of(evaluated);
  page.details =
      sections_of(evaluated, worst_mistakes(evaluated.result.predictions, kMistakesShown, *test,
                                            evaluation_transform(*run.model, how)));
  return {evaluated.result.pass.samples, evaluation_transform(*run.model, how).size};
}

void add_scores(const Scores& scores, RunPage& page) {
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const Measure& measure = page.task.measures.at(i);
    page.scores.emplace_back(measure.title, measure.text(scores[i]));
  }
}

/// Adds a detector's scores and sections.
EvaluatedImages evaluate_detector(Run& run, const std::shared_ptr<const Dataset>& test,
                                  const EvaluateOptions& how, RunPage& page) {
  const auto images = require_boxes(test, "report");
  const FoundObjects found =
      find_objects(model_as<Detector>(*run.model), test, how,
                   [&](std::int64_t index) { return images->stored_size(index); });
  require_whole(found.pass);
  EvaluatedDetector detector;
  detector.classes = images->class_names();
  detector.precision = precision_of(found, test);
  add_scores(detection_scores(found.loss, detector.precision), page);
  page.details = sections_of(detector);
  return {found.pass.samples, evaluation_transform(*run.model, how).size};
}

/// Adds the scores of any other task.
EvaluatedImages evaluate_task(Run& run, const std::shared_ptr<const Dataset>& test,
                              const EvaluateOptions& how, RunPage& page) {
  take_kept_vae(run.config, run.paths.folder);
  const auto train = page.task.needs_training_images ? images_of(run, Split::train) : nullptr;
  const auto task = make_task(run.config, *run.model, train.get());
  if (const auto& latents = task->info().latents) {
    require_vae_of_run(run.paths.folder, *latents);
  }
  const EvaluationResult evaluated = task->evaluate(test, how);
  require_whole(evaluated.pass);
  add_scores(task->scores(evaluated), page);
  return {evaluated.pass.samples, task->image_size(*run.model)};
}

void evaluate_model_of(Run& run, RunPage& page) {
  const auto test = images_of(run, Split::test);
  EvaluateOptions how = evaluate_options(run.config);
  how.normalization = run.info.normalization;
  how.crop = run.info.crop;
  how.on_batch = [&](std::int64_t done) {
    return !run.options.on_progress || run.options.on_progress(done, test->size());
  };
  const bool finds_objects = dynamic_cast<const Detector*>(run.model.get()) != nullptr;
  const auto evaluate = page.task.has_class_report ? evaluate_classifier
                        : finds_objects            ? evaluate_detector
                                                   : evaluate_task;
  const EvaluatedImages images = evaluate(run, test, how, page);
  page.facts.emplace_back("evaluated on",
                          concat(images.count, " images of ", run.config.data.name, " at ",
                                 images.size.height, " x ", images.size.width));
}

/// Adds the picture of the last epoch that has one.
void add_picture(const RunPaths& paths, RunPage& page) {
  for (const EpochRow& row : page.epochs) {
    fs::path file = paths.epoch_picture(row.epoch);
    if (!fs::exists(file)) file = paths.former_epoch_picture(row.epoch);
    if (!fs::exists(file)) continue;
    page.picture = read_image(file);
    page.picture_epoch = row.epoch;
  }
}

/// Adds the first training images as augmented in the first epoch.
void add_samples(const Run& run, RunPage& page) {
  TrainConfig config = run.config;
  const std::shared_ptr<const Dataset> train = images_of(run, Split::train);
  check(run.model != nullptr, "the model's image size is unknown");
  if (page.task.has_class_report) images_of_classes(run, train);  // else it saw other images
  LoaderOptions& loading = config.images.loader;
  const std::int64_t shown = kSamplesShown / loading.rows.splits;
  config.task->forget_files();  // a teacher does not affect the images
  const std::unique_ptr<const Task> task = make_task(config, *run.model);
  const std::int64_t unit = task->info().batch_multiple;
  loading.batch_size = std::max(unit, std::min(shown, train->size() / unit * unit));
  const std::unique_ptr<Loader> loader = training_loader(
      training_images(config), train, training_size(config, task->image_size(*run.model), 0));
  const Batch batch = task->prepare(loader->next(), {});
  page.samples_note = "The first images of the first epoch, after augmentation";
  if (!task->info().prepared.empty()) page.samples_note += " and " + task->info().prepared;
  if (loading.rows.splits > 1) page.samples_note += ", the splits of each image in a row";
  page.samples_note += ".";
  page.samples = batch_sheet(shown_batch(*task, batch, *train), config.run.normalization);
  page.sample_side = batch.images.size(2);
}

/// Runs `part`. An error becomes a note on the page; the other parts are still written.
template <class Part>
void attempt(const Part& part, std::string& note, const std::string& what) {
  try {
    part();
  } catch (const std::exception& error) {
    note = what + ": " + error.what();
  }
}

}  // namespace

fs::path write_run_report(const RunPaths& paths, const RunReportOptions& options) {
  Run run{paths, options, read_settings(paths, options)};
  RunPage page;
  const fs::path folder = fs::absolute(paths.folder).lexically_normal();
  // A path that ends in a slash has no file name.
  const fs::path name = folder.filename().empty() ? folder.parent_path() : folder;
  page.title = "Run " + name.filename().string();
  page.task = task_info(run.config);
  page.epochs = read_log(page.task, paths);
  add_picture(paths, page);
  page.settings = settings_of(fields_of(run.config));
  attempt([&] { load_model_of(run, page); }, page.no_evaluation, "Not evaluated");
  if (run.model != nullptr && options.evaluate) {
    attempt([&] { evaluate_model_of(run, page); }, page.no_evaluation, "Not evaluated");
  }
  attempt([&] { add_samples(run, page); }, page.samples_note, "No training images");
  write_file_atomically(paths.report(), html_of(page));
  return paths.report();
}

}  // namespace fovea
