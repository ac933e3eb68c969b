// The extension module fovea._core; the package in python/fovea/ is what users import.
#include <nanobind/nanobind.h>

#include <exception>

#include "engine/base/error.h"
#include "engine/storage.h"
#include "python/bindings/error_texts.h"
#include "python/bindings/parts.h"

namespace fovea::python {

namespace {

/// Raises `type` for an error of the class E.
template <class E>
void raise_as(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const E& error) {
    PyErr_SetString(static_cast<PyObject*>(type), in_python_words(error.what()).c_str());
  }
}

}  // namespace

/// The C++ library's errors, in Python's words.
void bind_errors(nb::module_& m) {
  const nb::exception<Error> error(m, "Error", PyExc_RuntimeError);
  const nb::exception<OutOfMemory> out_of_memory(m, "OutOfMemory", error.ptr());
  error.attr("__doc__") =
      "A mistake in what was asked for: what was got, what was expected, what to do.";
  out_of_memory.attr("__doc__") = "A device has no memory left for a tensor.";
  nb::register_exception_translator(raise_as<Error>, error.ptr());
  nb::register_exception_translator(raise_as<OutOfMemory>, out_of_memory.ptr());  // asked first
}

}  // namespace fovea::python

NB_MODULE(_core, m) {  // NOLINT: nanobind's
  using namespace fovea::python;
  nanobind::set_leak_warnings(false);  // tensors in cycles may outlive the interpreter
  bind_errors(m);
  bind_dtypes(m);
  nb::class_<fovea::Tensor> tensor = bind_tensor(m);
  bind_operators(tensor);
  bind_indexing(tensor);
  bind_dlpack_export(tensor);
  bind_dlpack_import(m);
  bind_op_methods(tensor);
  nb::module_ ops = m.def_submodule("ops");
  bind_ops(ops);
  bind_where_of_numbers(ops);
  bind_whole_tensor(tensor, ops);
  bind_creation(m);
  bind_autograd(m, tensor);
  bind_parameters(m);
  bind_context(m);
  bind_layers(m);
  bind_models(m);
  bind_training(m);
  bind_batches(m);
  bind_runs(m);
  bind_predictions(m);
  bind_attention_maps(m);
  bind_programs(m);
}
