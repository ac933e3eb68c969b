// The batches of a training run, for loops written in Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>

#include "engine/base/fields.h"
#include "engine/parallel.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "train/loop/trainer.h"
#include "train/settings/config.h"
#include "train/start/resolve.h"
#include "train/start/setup.h"
#include "train/start/tasks.h"

namespace fovea::python {
namespace {

/// The settings of a run of a classifier: a JSON object with the names of the programs' flags.
TrainConfig config_of(const std::string& settings, Notices& notices) {
  const TaskKind task = TaskKind::classification;
  TrainConfig names = config_for(task);
  RunDefaults defaults;
  defaults.task = task;
  const auto flags =
      settings_in_json(fields_of(names), settings, "config", settings_of_others(task));
  ResolvedRun run = resolve_run(flags, defaults);
  notices.add_all(run.notices);
  return run.config;
}

Trainer trainer_of(const TrainConfig& config, Notices& notices) {
  if (config.run.threads > 0) set_num_threads(static_cast<int>(config.run.threads));
  Datasets data = open_datasets(config);
  check_batch_size(config, *data.train);
  std::unique_ptr<Model> model = build_model(config, *data.train, notices);
  return make_trainer(config, std::move(data), std::move(model));
}

/// The loader of a run as its trainer starts it, which the model and the task are needed for.
class RunBatches {
 public:
  explicit RunBatches(const std::string& settings)
      : config_(config_of(settings, notices_)), trainer_(trainer_of(config_, notices_)) {}

  /// Images, and labels, or the targets of mixed images.
  std::pair<Tensor, Tensor> next() {
    const Batch batch = trainer_.take_batch();
    const Tensor targets = batch.find("targets");
    return {batch.images, targets.defined() ? targets : batch.labels};
  }
  [[nodiscard]] std::int64_t steps_per_epoch() const { return trainer_.steps_per_epoch(); }
  [[nodiscard]] std::int64_t epochs() const { return trainer_.epochs(); }

 private:
  Notices notices_;
  TrainConfig config_;
  Trainer trainer_;
};

}  // namespace

void bind_batches(nb::module_& m) {
  nb::class_<RunBatches>(m, "BatchesCore", "What fovea.batches() iterates over.")
      .def(nb::init<const std::string&>(), "settings"_a, no_gil)
      .def("next", &RunBatches::next, no_gil)
      .def_prop_ro("steps_per_epoch", &RunBatches::steps_per_epoch)
      .def_prop_ro("epochs", &RunBatches::epochs);
}

}  // namespace fovea::python
