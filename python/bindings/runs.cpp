// Training runs that Python asks for.
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "apps/common/training.h"
#include "python/bindings/array_images.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "python/bindings/python_function.h"
#include "train/settings/config.h"
#include "train/start/tasks.h"

namespace fovea::python {
namespace {

/// {"epoch": 0, "train_loss": 1.2, ...}: a row of log.csv.
nb::dict row_of(std::int64_t epoch, const std::vector<LoggedValue>& values) {
  nb::dict row;
  row["epoch"] = epoch;
  for (const LoggedValue& value : values) {
    if (value.value) row[value.column.c_str()] = *value.value;
  }
  return row;
}

std::vector<Setting> settings_of(const std::string& json) {
  const TaskKind task = TaskKind::classification;
  TrainConfig names = config_for(task);
  Fields fields = fields_of(names);
  return settings_in_json(fields, json, "config", settings_of_others(task));
}

/// `data` is None, or images and labels for training and for evaluation.
std::optional<Datasets> datasets_of(const nb::object& data) {
  if (data.is_none()) return {};
  const auto tensor = [&](int i) { return nb::cast<Tensor>(data[i]); };
  const Tensor labels = tensor(1).detach().contiguous();
  std::int64_t classes = 0;
  for (std::int64_t i = 0; i < labels.numel() && labels.dtype() == DType::i64; ++i) {
    classes = std::max(classes, labels.data<std::int64_t>()[i] + 1);
  }
  return Datasets{std::make_shared<ArrayImages>(tensor(0), labels, classes, "train: data"),
                  std::make_shared<ArrayImages>(tensor(2), tensor(3), classes, "train: test")};
}

int train(const std::string& settings, const nb::object& data, const nb::object& on_epoch) {
  TrainingCall call;
  call.settings = settings_of(settings);
  call.images = datasets_of(data);
  if (!on_epoch.is_none()) {
    call.on_epoch = [held = PythonFunction(nb::cast<nb::callable>(on_epoch))](
                        std::int64_t epoch, const std::vector<LoggedValue>& values) {
      const nb::gil_scoped_acquire gil;
      held.get()(row_of(epoch, values));
    };
  }
  const nb::gil_scoped_release no_lock;
  return train_on_call({"train_cifar", "", {}}, call);
}

}  // namespace

void bind_runs(nb::module_& m) {
  m.def("train", train, "settings"_a, "data"_a.none(), "on_epoch"_a.none());
}

}  // namespace fovea::python
