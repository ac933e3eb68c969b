// Training runs that Python asks for.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "apps/common/training.h"
#include "data/fields.h"
#include "python/bindings/array_images.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "python/bindings/python_function.h"
#include "python/bindings/stream_images.h"
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

/// Settings that choose or read files have no effect on images that are given.
void require_no_files(const std::vector<Setting>& settings) {
  DatasetOptions files;
  Fields fields;
  add_fields(fields, files);
  for (const Setting& setting : settings) {
    check(lookup_field(fields, setting.name) == nullptr, "train: got both data and the setting ",
          setting.name, ", expected one of them: the setting is about files");
  }
}

using SharedImages = std::shared_ptr<GivenImages>;

/// Labels lie in [0, classes); 0: as many as there are.
SharedImages array_images(const Tensor& images, const Tensor& labels, std::int64_t classes,
                          const std::string& what) {
  return std::make_shared<ArrayImages>(images, labels, classes > 0 ? classes : classes_of(labels),
                                       what);
}

SharedImages stream_images(const nb::callable& begin, std::int64_t classes,
                           const std::string& what) {
  return std::make_shared<StreamImages>(begin, classes, what);
}

/// (C, H, W).
nb::tuple shape_of(const GivenImages& images) {
  const auto [height, width] = images.image_size();
  return nb::make_tuple(images.format().channels, height, width);
}

void bind_images(nb::module_& m) {
  nb::class_<GivenImages>(m, "ImagesCore", "Images that fovea.train() is given.")
      .def_prop_ro("classes", &GivenImages::classes)
      .def_prop_ro("shape", shape_of)
      .def_prop_ro("is_f32",
                   [](const GivenImages& images) { return images.format().type == PixelType::f32; })
      .def_prop_ro("first_batch", &GivenImages::first_batch);
  m.def("array_images", array_images, "images"_a, "labels"_a, "classes"_a, "what"_a, no_gil);
  m.def("stream_images", stream_images, "begin"_a, "classes"_a, "what"_a);
}

/// An iterable's own exception in place of the error that it has become.
void rethrow_of(const Datasets& sets) {
  for (const auto& set : {sets.train, sets.test}) {
    if (const auto stream = std::dynamic_pointer_cast<const StreamImages>(set)) stream->rethrow();
  }
}

/// Writes to Python's sys.stdout where that is not the process's own, as in a notebook. It must
/// not throw.
std::optional<ConsoleText> text_of(const nb::object& write, bool redraws) {
  if (write.is_none()) return {};
  const auto print = [held = PythonFunction(nb::cast<nb::callable>(write))](std::string_view text) {
    const nb::gil_scoped_acquire gil;
    try {
      held.get()(nb::str(text.data(), text.size()));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("fovea.train: progress");
    }
  };
  return ConsoleText{print, redraws};
}

int train(const std::string& settings, const nb::object& data, const nb::object& on_epoch,
          const nb::object& write, bool redraws, bool heeds_signals) {
  TrainingCall call;
  call.settings = settings_of(settings);
  if (!data.is_none()) {
    require_no_files(call.settings);
    call.images = Datasets{nb::cast<SharedImages>(data[0]), nb::cast<SharedImages>(data[1])};
  }
  call.text = text_of(write, redraws);
  call.heeds_signals = heeds_signals;
  if (!on_epoch.is_none()) {
    call.on_epoch = [held = PythonFunction(nb::cast<nb::callable>(on_epoch))](
                        std::int64_t epoch, const std::vector<LoggedValue>& values) {
      const nb::gil_scoped_acquire gil;
      held.get()(row_of(epoch, values));
    };
  }
  const nb::gil_scoped_release no_lock;
  try {
    return train_on_call({"train_cifar", "", {}}, call);
  } catch (const Error&) {
    if (call.images) rethrow_of(*call.images);
    throw;
  }
}

}  // namespace

void bind_runs(nb::module_& m) {
  bind_images(m);
  m.def("train", train, "settings"_a, "data"_a.none(), "on_epoch"_a.none(), nb::kw_only(),
        "write"_a.none(), "redraws"_a, "heeds_signals"_a);
}

}  // namespace fovea::python
