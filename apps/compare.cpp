// compare LABEL=RUN_DIR...: several runs in one table and one picture; equal labels are one group,
// averaged over its runs.
#include <algorithm>
#include <filesystem>
#include <iostream>

#include "apps/app.h"
#include "apps/cli.h"
#include "base/files.h"
#include "report/compare.h"
#include "train/run/run_paths.h"
#include "train/start/tasks.h"

namespace {

using namespace fovea;

/// A log alone, without settings, is a classifier's: other programs write such ones too.
TaskInfo task_of_run(const RunPaths& run) {
  const std::filesystem::path path = run.config();
  if (!std::filesystem::exists(path)) return task_info(config_for(TaskKind::classification));
  return task_info(saved_config(read_file(path), path.string()));
}

std::vector<EpochRow> read_log(const TaskInfo& task, const RunPaths& run) {
  const std::filesystem::path path = run.log();
  check(std::filesystem::exists(path), "compare: ", path.string(),
        " does not exist, expected the folder of a run");
  std::vector<EpochRow> rows = parse_epochs(task, read_file(path), path.string());
  check(!rows.empty(), "compare: ", path.string(), " holds no epoch yet");
  return rows;
}

/// "LABEL=DIR", or "DIR", whose label is the folder's name.
void add_run(Comparison& comparison, const std::string& argument) {
  std::vector<RunGroup>& groups = comparison.groups;
  const std::size_t equals = argument.find('=');
  const std::filesystem::path run =
      equals == std::string::npos ? argument : argument.substr(equals + 1);
  const std::string label = equals != std::string::npos ? argument.substr(0, equals)
                            : run.filename().empty()    ? run.parent_path().filename().string()
                                                        : run.filename().string();
  const TaskInfo task = task_of_run({run});
  if (groups.empty()) comparison.task = task;
  const std::string &score = task.best_measure().name,
                    &others = comparison.task.best_measure().name;
  check(score == others, "compare: ", run.string(), " is judged by its ", score,
        ", the runs before it by ", others, "; expected runs of one task");
  auto group = std::find_if(groups.begin(), groups.end(),
                            [&](const RunGroup& g) { return g.label == label; });
  if (group == groups.end()) group = groups.insert(groups.end(), RunGroup{label, {}});
  group->runs.push_back(read_log(task, {run}));
}

int run(int argc, char** argv) {
  std::string output;
  Fields fields;
  FieldGroup group(fields, "Output");
  group.add("output", &output, "folder for compare.svg and compare.csv (default: only the table)");
  const std::vector<std::string> arguments =
      parse_into_fields(argc, argv,
                        {"compare", "Runs beside each other; runs of one label are averaged.",
                         "LABEL=RUN_DIR, or RUN_DIR", fields});
  if (arguments.empty()) throw UsageError("compare: name at least one run folder");
  Comparison comparison;
  for (const std::string& argument : arguments) add_run(comparison, argument);
  std::cout << comparison_table(comparison);
  if (output.empty()) return 0;
  const std::filesystem::path folder = output;
  make_folder(folder);
  const std::vector<Chart> charts{comparison_chart(comparison)};
  write_file_atomically(folder / "compare.svg", svg_of_charts(charts));
  write_file_atomically(folder / "compare.csv", comparison_csv(comparison));
  std::cout << "wrote " << (folder / "compare.svg").string() << " and compare.csv\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return fovea::run_app(argc, argv, run); }
