// evaluate [RUN_DIR | FILE]: top-1 and top-5 of a trained model, per-class table, confusion matrix.
#include <iomanip>
#include <iostream>

#include "apps/app.h"
#include "apps/cli.h"
#include "apps/console.h"
#include "apps/loading.h"
#include "engine/files.h"
#include "engine/parallel.h"
#include "train/class_report.h"
#include "train/evaluate.h"
#include "train/progress.h"

namespace {

using namespace fovea;

struct Request {
  LoadRequest load;
  std::string dataset, data_dir, output, precision = "f32";
  std::int64_t batch_size = 128, workers = 2, threads = 0;
};

Fields fields_of(Request& r) {
  Fields fields;
  FieldGroup data(fields, "Data");
  data.add("dataset", &r.dataset, "builtin, cifar10, cifar100 (default: what it learned from)");
  data.add("data-dir", &r.data_dir, "folder of the .bin files or its parent");
  data.number("batch-size", &r.batch_size, "images of one forward pass", {1, 65536});
  data.number("workers", &r.workers, "threads that prepare batches", {0, 256});
  FieldGroup run(fields, "Run");
  run.add("output", &r.output, "folder for CSV files and pictures (default: beside the weights)");
  run.choice("precision", &r.precision, "of activations", {"f32", "bf16"});
  run.number("threads", &r.threads, "for computing; 0: all", {0, 1024});
  add_load_fields(fields, r.load);
  return fields;
}

std::vector<std::string> split_sizes(const std::string& text) {
  std::vector<std::string> sizes(1);
  for (const char c : text) {
    if (c == ',') {
      sizes.emplace_back();
    } else {
      sizes.back() += c;
    }
  }
  return sizes;
}

void evaluate_at(const Request& request, const std::string& size, bool report) {
  LoadRequest load = request.load;
  load.img_size = size;
  const LoadedModel trained = load_trained(load);
  DatasetOptions data;
  data.name = !request.dataset.empty() ? request.dataset : trained.info.dataset;
  check(!data.name.empty(), trained.weights.string(),
        ": does not say what it was trained on; give --dataset");
  data.data_dir = request.data_dir;
  const std::shared_ptr<const Dataset> test = open_dataset(data, Split::test);

  ProgressLine line(1);
  EvaluateOptions options;
  options.batch_size = request.batch_size;
  options.workers = static_cast<int>(request.workers);
  options.normalization = trained.info.normalization;
  options.activations = parse_dtype(request.precision);
  options.count_predictions = true;
  options.on_batch = [&](std::int64_t done) {
    line.update({.label = "evaluating", .done = done, .total = test->size(), .note = {}});
    return true;
  };
  const Evaluation result = evaluate(*trained.model, test, options);
  const auto [height, width] = trained.model->info().img_size;
  line.print(trained.weights.string() + "  " + data.name + "  " + std::to_string(height) + "x" +
             std::to_string(width) + "  loss " + fixed(result.metrics.loss(), 4) + "  top-1 " +
             percent(result.metrics.top1()) + "  top-5 " + percent(result.metrics.top5()) + "  " +
             fixed(static_cast<double>(result.metrics.samples) / result.seconds, 0) + " img/s");
  if (!report) return;
  const ClassReport classes(test->class_names(), result.predictions);
  std::cout << '\n' << classes.table() << '\n';
  const std::filesystem::path folder = request.output.empty()
                                           ? trained.weights.parent_path()
                                           : std::filesystem::path(request.output);
  for (const std::filesystem::path& file : classes.write(folder)) {
    std::cout << "wrote " << file.string() << '\n';
  }
}

int run(int argc, char** argv) {
  Request request;
  const std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"evaluate", "Measures a trained model on the test images of its data set.",
       "run directory or weights file (default: the newest under runs/)", fields_of(request)});
  if (arguments.size() > 1) throw UsageError("evaluate: one checkpoint at a time");
  if (!arguments.empty()) request.load.checkpoint = arguments.front();
  if (request.threads > 0) set_num_threads(static_cast<int>(request.threads));
  const std::vector<std::string> sizes = split_sizes(request.load.img_size);
  for (const std::string& size : sizes) evaluate_at(request, size, sizes.size() == 1);
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, run); }
