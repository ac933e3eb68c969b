// Optimizers and schedules, under the names of the programs' settings.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/fields.h"
#include "python/bindings/ops.h"
#include "python/bindings/parameters.h"
#include "python/bindings/parts.h"
#include "train/optim/fields.h"
#include "train/optim/gradients.h"
#include "train/optim/optimizer.h"
#include "train/optim/schedule.h"

namespace fovea::python {
namespace {

/// Options whose fields are set by a JSON object with the names of the settings.
template <class Options>
Options options_of(const std::string& settings, const std::string& what) {
  Options options;
  Fields fields;
  add_fields(fields, options);
  apply_json(fields, settings, what);
  return options;
}

/// An optimizer and the store of the parameters that it updates.
class StoreOptimizer {
 public:
  StoreOptimizer(const ParameterPlace& parameters, const std::string& settings)
      : store_(parameters.store),
        optimizer_(*store_, options_of<OptimizerOptions>(settings, "optimizer")) {}

  /// Returns the norm of all gradients.
  double step(double lr, std::optional<double> clip_norm) {
    const Tensor squares = gradient_squares(*store_);
    const ClipOptions clip{ClipMode::norm, clip_norm};
    optimizer_.step(lr, clip_gradients(*store_, clip, {squares, std::sqrt(squares.item()), 1}));
    return std::sqrt(squares.item());
  }
  void zero_grad() const { store_->zero_grad(); }
  [[nodiscard]] std::map<std::string, Tensor> state() const { return optimizer_.state(); }
  [[nodiscard]] std::int64_t steps_done() const { return optimizer_.steps_done(); }
  void set_steps_done(std::int64_t steps) { optimizer_.set_steps_done(steps); }

 private:
  std::shared_ptr<ParameterStore> store_;
  Optimizer optimizer_;
};

ScheduleOptions schedule_of(double lr, const std::string& settings) {
  ScheduleOptions options = options_of<ScheduleOptions>(settings, "schedule");
  check_options(options);
  return with_peak(options, lr);
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<StoreOptimizer>(m, "OptimizerCore", "What fovea.AdamW and the others are made of.")
      .def(nb::init<const ParameterPlace&, const std::string&>(), "parameters"_a, "settings"_a)
      .def("step", &StoreOptimizer::step, "lr"_a, "clip_norm"_a.none(), no_gil)
      .def("zero_grad", &StoreOptimizer::zero_grad)
      .def("state", &StoreOptimizer::state)
      .def_prop_rw("steps_done", &StoreOptimizer::steps_done, &StoreOptimizer::set_steps_done);
  nb::class_<ScheduleOptions>(m, "ScheduleCore", "What fovea.Schedule is made of.")
      .def("__init__",
           [](ScheduleOptions* self, double lr, const std::string& settings) {
             new (self) ScheduleOptions(schedule_of(lr, settings));
           })
      .def("rate", [](const ScheduleOptions& options, std::int64_t step, std::int64_t steps) {
        return learning_rate(options, step, steps);
      });
}

}  // namespace fovea::python
