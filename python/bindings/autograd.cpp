// backward(), no_grad, ops written in Python, and the check of their derivatives.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/autograd.h"
#include "engine/gradcheck.h"
#include "engine/node.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"
#include "python/bindings/python_function.h"

namespace fovea::python {
namespace {

/// Names on the tape are static text: these stay for ever, each once.
const char* lasting(const std::string& name) {
  static std::mutex mutex;
  static auto* const names = new std::set<std::string>;  // NOLINT: outlives every tape
  const std::lock_guard lock(mutex);
  return names->insert(name).first->c_str();
}

/// A gradient of an input of this shape; it may have been broadcast.
Tensor gradient_of(const std::string& op, nb::handle returned, const Shape& input) {
  if (returned.is_none()) return {};
  check(nb::isinstance<Tensor>(returned), op, ": the derivative gave ",
        nb::type_name(returned.type()).c_str(), ", expected a tensor or None for each input");
  const Tensor gradient = nb::cast<Tensor>(returned);
  check(broadcast(op, input, gradient.shape()) == gradient.shape(), op,
        ": the derivative gave a gradient ", gradient.shape(), " for an input ", input);
  return gradient;
}

/// What a derivative returned: a gradient or None, or a sequence of them.
Grads gradients_of(const std::string& op, const nb::object& returned,
                   const std::vector<Shape>& inputs) {
  const bool is_several = nb::isinstance<nb::tuple>(returned) || nb::isinstance<nb::list>(returned);
  const nb::object all = is_several ? returned : nb::make_tuple(returned);
  check(nb::len(all) == inputs.size(), op, ": the derivative gave ", nb::len(all),
        " gradients for ", inputs.size(), " inputs");
  Grads grads;
  for (const nb::handle item : all) grads.push_back(gradient_of(op, item, inputs[grads.size()]));
  return grads;
}

Tensor record_in_python(const std::string& name, const Tensor& output,
                        const std::vector<Tensor>& inputs, const std::vector<Tensor>& saved,
                        const nb::callable& derivative) {
  const PythonFunction held(derivative);
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const auto backward = [held, name, shapes](const GradArgs& g) {
    const nb::gil_scoped_acquire gil;
    nb::list arguments;
    arguments.append(g.dy);
    for (const Tensor& t : g.saved) arguments.append(t);
    return gradients_of(name, held.get()(*nb::tuple(arguments)), shapes);
  };
  return record(OpLabel(lasting(name)), output.detach(), std::span(inputs), std::span(saved),
                backward);
}

GradcheckResult check_gradients(const nb::callable& f, const std::vector<Tensor>& inputs,
                                double step, double tolerance, bool has_kinks) {
  const PythonFunction held(f);
  const TensorFn call = [held](const std::vector<Tensor>& in) {
    const nb::gil_scoped_acquire gil;
    nb::list arguments;
    for (const Tensor& t : in) arguments.append(t);
    const nb::object output = held.get()(*nb::tuple(arguments));
    check(nb::isinstance<Tensor>(output), "gradcheck: f gave ",
          nb::type_name(output.type()).c_str(), ", expected a tensor");
    return nb::cast<Tensor>(output);
  };
  GradcheckOptions options;
  options.step = step;
  options.tolerance = tolerance;
  options.has_kinks = has_kinks;
  const nb::gil_scoped_release no_lock;
  OpsHeedSignals heeds;
  return gradcheck(call, inputs, options);
}

void bind_gradcheck(nb::module_& m) {
  nb::class_<GradcheckResult>(m, "GradcheckResult", "What gradcheck() found; true if all is well.")
      .def_ro("ok", &GradcheckResult::ok, "Whether every derivative agrees.")
      .def_ro("worst", &GradcheckResult::worst, "The largest relative error.")
      .def_ro("entries", &GradcheckResult::entries, "The number of derivatives compared.")
      .def_ro("message", &GradcheckResult::message, "The worst entry, or the error.")
      .def("__bool__", [](const GradcheckResult& r) { return r.ok; })
      .def("__repr__", [](const GradcheckResult& r) {
        return concat("GradcheckResult(ok=", r.ok ? "True" : "False", ", worst=", r.worst,
                      ", entries=", r.entries, ")");
      });
  m.def("gradcheck", check_gradients, "f"_a, "inputs"_a, nb::kw_only(), "step"_a = 2e-4,
        "tolerance"_a = 1e-6, "has_kinks"_a = false,
        "Compares every derivative of f(*inputs) with central differences, in f64.\n\n"
        "Inputs that require a gradient are checked; they must be f64. has_kinks: f has kinks, as\n"
        "relu has, where smaller steps are tried.");
}

void bind_tape(nb::class_<Tensor>& tensor) {
  tensor
      .def(
          "backward",
          [](const Tensor& t, const std::optional<Tensor>& gradient, bool retain) {
            backward(t, gradient.value_or(Tensor()), retain ? Tape::kept : Tape::freed);
          },
          "gradient"_a.none() = nb::none(), "retain_graph"_a = false, between_ops,
          "Adds the derivatives to .grad of every leaf that requires a gradient. `gradient` may be "
          "left\nout for a tensor of one element; retain_graph keeps the tape for another root.")
      .def_prop_rw(
          "grad",
          [](const Tensor& t) {
            return t.grad().defined() ? std::optional(t.grad()) : std::nullopt;
          },
          [](const Tensor& t, const std::optional<Tensor>& grad) {
            t.set_grad(grad.value_or(Tensor()));
          },
          nb::for_setter(nb::arg().none()), "The gradient of a leaf, or None.")
      .def_prop_rw(
          "requires_grad", &Tensor::requires_grad,
          [](const Tensor& t, bool on) { t.set_requires_grad(on); },
          "Whether backward() computes a gradient for it. Set it on leaves.")
      .def(
          "requires_grad_", [](const Tensor& t, bool on) { return t.set_requires_grad(on); },
          "on"_a = true, "Sets requires_grad and returns the tensor.")
      .def_prop_ro("is_leaf", &Tensor::is_leaf, "Whether no recorded op made it.")
      .def_prop_ro(
          "op",
          [](const Tensor& t) {
            return t.node() ? std::optional(std::string(t.node()->name)) : std::nullopt;
          },
          "The name of the recorded op that made it, or None.");
}

}  // namespace

void bind_autograd(nb::module_& m, nb::class_<Tensor>& tensor) {
  bind_tape(tensor);
  bind_gradcheck(m);
  nb::class_<NoGrad>(m, "NoGrad", "While it lives, ops of this thread are not recorded.")
      .def(nb::init<>());
  m.def("is_grad_enabled", grad_enabled, "Whether ops of this thread are recorded.");
  m.def(
      "record", record_in_python, "name"_a, "output"_a, "inputs"_a, "saved"_a, "backward"_a,
      "Puts an op written in Python on the tape and returns its output.\n\n"
      "backward(dy, *saved) returns the gradient of each input, or None for zero. `saved` lists "
      "the\ntensors that it reads, so that later changes of them are errors; `output` may be among "
      "them.\nCompute `output` under fovea.no_grad().");
}

}  // namespace fovea::python
