// Models by name or from files. fovea/_models.py makes the class of them that users see.
#include <nanobind/stl/array.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/named_model.h"
#include "export/exported_pass.h"
#include "models/checkpoints/pretrained.h"
#include "models/classifier.h"
#include "models/model_as.h"
#include "models/registry.h"
#include "python/bindings/ops.h"
#include "python/bindings/parameters.h"
#include "python/bindings/parts.h"

namespace fovea::python {
namespace {

using SharedModel = std::shared_ptr<Model>;

/// Names of models have none of these endings.
void require_no_missing_file(const std::string& name) {
  constexpr std::array kEndings{".safetensors", ".pth", ".pt", ".bin"};
  check(std::ranges::none_of(kEndings, [&](const char* ending) { return name.ends_with(ending); }),
        "create_model: ", name, " does not exist");
}

/// By registry name, or from a run, a hub's folder or a weights file, whose weights are loaded too.
SharedModel make(const std::string& name, const std::string& settings, std::uint64_t seed,
                 const std::string& device) {
  const TensorOptions options{DType::f32, parse_device(device)};
  if (!std::filesystem::exists(name)) {
    require_no_missing_file(name);
    return make_model(name, nlohmann::json::parse(settings), seed, options);
  }
  SharedModel model = make_named_model(name, settings, options);
  load_weights(*model, name);
  return model;
}

bool is_classifier(const Model& model) { return model.info().task == TaskKind::classification; }

std::vector<std::string> output_names(Model& model) {
  std::vector<std::string> names;
  for (const PassValue& value : exported_pass(model).outputs) names.push_back(value.name);
  return names;
}

/// A model computes on whatever numbers it gets: pixels would give outputs that mean nothing.
void require_values(const Tensor& images) {
  check(is_float(images.dtype()), "model: got ", images.dtype(), " ", images.shape(),
        ", expected f32, for pixels (pixels / 255 - mean) / std as in training; fovea.predict() "
        "takes pixels");
}

/// The outputs that output_names() names; a distilled classifier in training has logits_dist too.
std::vector<Tensor> outputs(Model& model, const std::vector<Tensor>& inputs, Context& ctx) {
  if (!inputs.empty()) require_values(inputs.front());
  if (!is_classifier(model)) {
    check(!ctx.training, "model: ", model.info().name, " is ", noun_of(model.info().task),
          "; in training, Python runs classifiers alone");
    return exported_pass(model).forward(inputs);
  }
  check(inputs.size() == 1, "model: got ", inputs.size(), " inputs, expected images");
  const ClassifierOutput out = model_as<Classifier>(model).forward(inputs[0], ctx);
  if (out.logits_dist.defined()) return {out.logits, out.logits_dist};
  return {out.logits};
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Model>(m, "ModelCore", "A model of the library; fovea.Model is what users see.")
      .def_prop_ro("name", [](const Model& model) { return model.info().name; })
      .def_prop_ro("is_classifier", is_classifier)
      .def_prop_ro("img_size", [](const Model& model) { return model.info().img_size; })
      .def_prop_ro("in_chans", [](const Model& model) { return model.info().in_chans; })
      .def_prop_ro("num_classes", [](const Model& model) { return model.info().num_classes; })
      .def_prop_ro("config", [](const Model& model) { return model.info().config; })
      .def("output_names", output_names)
      .def("outputs", outputs, "inputs"_a, "ctx"_a, between_ops)
      .def("finish_backward", &Model::finish_backward, no_gil);
  m.def("make_model", make, "name"_a, "settings"_a, "seed"_a, "device"_a, no_gil);
  m.def("parameters_of", [](const SharedModel& model) {
    return ParameterPlace(std::shared_ptr<ParameterStore>(model, &model->store()));
  });
  m.def("state_of", [](const Model& model) { return state_of(model); });
  m.def(
      "load_state",
      [](Model& model, const TensorMap& tensors) { return load_state(model, tensors).notes; },
      no_gil);
  m.def(
      "load_weights",
      [](Model& model, const std::filesystem::path& path) {
        return load_weights(model, path).notes;
      },
      no_gil);
  m.def(
      "save_model",
      [](const std::filesystem::path& path, const Model& model) { save_model(path, model); },
      no_gil);
  m.def("model_names", model_names);
  m.def("all_model_names", all_model_names);
}

}  // namespace fovea::python
