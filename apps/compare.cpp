// compare [LABEL=]RUN_DIR...: several runs in one table and one picture. Runs with equal labels
// form a group and are averaged.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "apps/common/cli.h"
#include "apps/common/run_argument.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"
#include "engine/base/wrap.h"
#include "engine/formats/metadata.h"
#include "models/checkpoints/checkpoint.h"
#include "report/compare.h"
#include "train/run/image_lists.h"
#include "train/run/run_paths.h"
#include "train/run/weights_info.h"
#include "train/start/tasks.h"
#include "train/tasks/classification.h"

namespace fovea::programs {
namespace {

/// The task of a run. A log without settings counts as a classifier's, since other programs write
/// such logs too.
TaskInfo task_of_run(const RunPaths& run) {
  const std::filesystem::path path = run.config();
  if (!std::filesystem::exists(path)) return task_info(config_for(TaskKind::classification));
  TaskInfo task = task_info(saved_config(read_file(path), path.string()));
  const std::filesystem::path weights = run.weights("last");
  if (task.has_class_report && std::filesystem::exists(weights)) {
    const std::int64_t classes = std::ssize(read_weights_info(weights).classes);
    if (classes > 0) mark_trivial(task, classes);
  }
  return task;
}

std::vector<EpochRow> read_log(const TaskInfo& task, const RunPaths& run) {
  const std::filesystem::path path = run.log();
  check(std::filesystem::exists(path), "compare: ", path.string(),
        " does not exist, expected a run directory");
  std::vector<EpochRow> rows = parse_epochs(task, read_file(path), path.string());
  check(!rows.empty(), "compare: ", path.string(), " has no finished epoch yet");
  return rows;
}

void add_run(RunComparison& comparison, const RunArgument& named) {
  std::vector<RunGroup>& groups = comparison.groups;
  const RunPaths run{named.folder};
  const TaskInfo task = task_of_run(run);
  if (groups.empty()) comparison.task = task;
  const std::string &score = task.best_measure().name,
                    &others = comparison.task.best_measure().name;
  check(score == others, "compare: ", named.folder.string(), " is scored by ", score,
        ", the runs before it by ", others, "; expected runs of the same task");
  auto group = std::find_if(groups.begin(), groups.end(),
                            [&](const RunGroup& g) { return g.label == named.label; });
  if (group == groups.end()) group = groups.insert(groups.end(), RunGroup{named.label, {}});
  group->runs.push_back({task, read_log(task, run)});
}

/// Each run once: a repeated argument is not another seed.
std::vector<RunArgument> distinct_runs(const std::vector<std::string>& arguments) {
  std::vector<RunArgument> runs;
  for (const std::string& argument : arguments) {
    const RunArgument run = parse_run_argument(argument);
    if (is_named_again(run, runs)) {
      std::cerr << note_of(argument + ": this run was already named and counts once", 2) << '\n';
      continue;
    }
    runs.push_back(run);
  }
  distinguish(runs);
  return runs;
}

/// The lists of the run's images as its state records them, if it does and can be read.
std::optional<ImageLists> images_of(const RunArgument& run) try {
  const std::filesystem::path state = RunPaths{run.folder}.state();
  if (!std::filesystem::exists(state)) return {};
  return parse_image_lists(value_or(read_metadata(state), "images", ""), state.string());
} catch (const Error&) {
  return {};
}

/// Notes about runs that have other images than the first.
std::vector<std::string> notes_on_data(const std::vector<RunArgument>& runs) {
  std::vector<std::string> notes;
  const std::optional<ImageLists> first = images_of(runs.front());
  for (const RunArgument& run : runs) {
    const std::optional<ImageLists> own = images_of(run);
    if (!first || !own) continue;
    const auto compare = [&](const char* what, const ImageList& a, const ImageList& b) {
      if (a == b) return;
      notes.push_back(concat(run.folder.string(), ": its ", what, " images (", b.images,
                             ") are not those of ", runs.front().folder.string(), " (", a.images,
                             ")"));
    };
    compare("held-out", first->test, own->test);
    compare("training", first->train, own->train);
  }
  return notes;
}

/// The charts of the chosen curves, in the order of their names.
std::vector<Chart> chosen_charts(const RunComparison& comparison, const std::string& curves) {
  std::vector<Chart> charts;
  for (const std::string& curve : split_text(curves, ',')) {
    check_usage(!curve.empty(), "--curve: got ", curves, ", expected names separated by commas");
    charts.push_back(comparison_chart(comparison, curve));
  }
  if (charts.empty()) charts.push_back(comparison_chart(comparison));
  return charts;
}

}  // namespace

int run_compare(int argc, char** argv) {
  std::string output, curves;
  ShownEpoch shown = ShownEpoch::last;
  Fields fields;
  FieldGroup group(fields, "Output");
  group.add("output", &output,
            "folder for compare.svg and compare.csv (default: print the table only)");
  group.add(
      "curve", &curves,
      "columns that compare.svg plots, separated by commas: top1, top5, loss, train_loss, lr, "
      "ema_top1, ... (default: the metric that selects the best epoch)");
  group.choice(
      "epoch", &shown,
      "whose scores the table shows: the last evaluated epoch that all runs of a label have, or "
      "each run's best, as evaluate does");
  const std::vector<std::string> arguments = parse_into_fields(
      argc, argv,
      {"compare", "Compares runs side by side; runs with the same label are averaged.",
       "RUN_DIR, or LABEL=RUN_DIR", fields});
  if (arguments.empty()) throw UsageError("compare: name at least one run directory");
  check_usage(curves.empty() || !output.empty(),
              "--curve: the figure needs a folder; add --output DIR");
  const std::vector<RunArgument> runs = distinct_runs(arguments);
  RunComparison comparison;
  comparison.shown = shown;
  for (const RunArgument& run : runs) add_run(comparison, run);
  const std::vector<Chart> charts = chosen_charts(comparison, curves);
  std::cout << comparison_table(comparison) << '\n' << shown_epoch_text(comparison) << '\n';
  for (const std::string& note : notes_on_data(runs)) std::cout << note_of(note) << '\n';
  if (output.empty()) return 0;
  const std::filesystem::path folder = output;
  make_folder(folder);
  write_file_atomically(folder / "compare.svg", svg_of_charts(charts));
  write_file_atomically(folder / "compare.csv", comparison_csv(comparison));
  std::cout << "wrote " << (folder / "compare.svg").string() << " and compare.csv\n";
  return 0;
}

}  // namespace fovea::programs
