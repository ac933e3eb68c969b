// Parameters by name, and the context of a forward pass.
#include <nanobind/stl/string.h>

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "models/context.h"
#include "python/bindings/int_list.h"
#include "python/bindings/parameters.h"
#include "python/bindings/parts.h"

namespace fovea::python {
namespace {

nb::dict tensors_of(const std::vector<Parameter>& parameters) {
  nb::dict all;
  for (const Parameter& p : parameters) all[p.name.c_str()] = p.tensor;
  return all;
}

}  // namespace

void bind_parameters(nb::module_& m) {
  nb::class_<ParameterPlace>(m, "Parameters",
                             "The parameters of a model by name, or a place in the tree of their "
                             "names: `p / \"head\"`.\n\n"
                             "Layers make their parameters at a place. Initial values are a "
                             "function of the seed and the name.")
      .def(
          "__init__",
          [](ParameterPlace* self, std::uint64_t seed, DType dtype, const std::string& device) {
            new (self) ParameterPlace(
                std::make_shared<ParameterStore>(seed, TensorOptions{dtype, parse_device(device)}));
          },
          "seed"_a = 0, "dtype"_a = DType::f32, "device"_a = "cpu")
      .def(
          "__truediv__",
          [](const ParameterPlace& p, const std::string& name) {
            return ParameterPlace(p.store, p.scope / name);
          },
          "name"_a)
      .def(
          "__truediv__",
          [](const ParameterPlace& p, std::int64_t index) {
            return ParameterPlace(p.store, p.scope / index);
          },
          "index"_a)
      .def(
          "param",
          [](const ParameterPlace& p, const std::string& name, const IntList& shape, double std) {
            return p.scope.param(name, shape.shape(), std > 0 ? trunc_normal(std) : constant(0));
          },
          "name"_a, "shape"_a, nb::kw_only(), "std"_a = 0.02,
          "A new parameter, normal with deviation `std` and cut off at 2; std=0: zeros.")
      .def(
          "named", [](const ParameterPlace& p) { return tensors_of(p.store->parameters()); },
          "All parameters of the model, by name.")
      .def("__len__", [](const ParameterPlace& p) { return p.store->parameters().size(); })
      .def("__iter__",
           [](const ParameterPlace& p) {
             return nb::iter(tensors_of(p.store->parameters()).values());
           })
      .def(
          "count", [](const ParameterPlace& p) { return p.store->parameter_count(); },
          "The number of elements that are trained.")
      .def(
          "zero_grad", [](const ParameterPlace& p) { p.store->zero_grad(); },
          "Drops all gradients.");
}

void bind_context(nb::module_& m) {
  nb::class_<Context>(m, "Context",
                      "The settings of one forward pass: training or evaluation, its random "
                      "numbers, its precision.")
      .def(
          "__init__",
          [](Context* self, bool training, std::uint64_t seed, std::uint64_t step,
             DType activations) {
            auto* const made = new (self) Context;
            made->training = training;
            made->activations = activations;
            made->seed = seed;
            made->step = step;
          },
          nb::kw_only(), "training"_a = false, "seed"_a = 0, "step"_a = 0,
          "activations"_a = DType::f32)
      .def_ro("training", &Context::training, "Whether dropout and stochastic depth are on.")
      .def_ro("seed", &Context::seed, "Random numbers are a function of seed and step.")
      .def_ro("step", &Context::step, "The number of the pass in a run.")
      .def_ro("activations", &Context::activations, "f32 or bf16.");
}

}  // namespace fovea::python
