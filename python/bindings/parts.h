// The parts of the module fovea._core, one function per file that binds one.
#pragma once

#include <nanobind/nanobind.h>

#include "engine/tensor.h"

namespace fovea::python {

namespace nb = nanobind;
using nb::literals::operator""_a;

void bind_errors(nb::module_& m);
void bind_dtypes(nb::module_& m);
nb::class_<Tensor> bind_tensor(nb::module_& m);
void bind_operators(nb::class_<Tensor>& tensor);
void bind_indexing(nb::class_<Tensor>& tensor);
void bind_dlpack_export(nb::class_<Tensor>& tensor);
void bind_dlpack_import(nb::module_& m);
void bind_op_methods(nb::class_<Tensor>& tensor);  ///< generated
void bind_ops(nb::module_& m);                     ///< generated
void bind_where_of_numbers(nb::module_& ops);      ///< a number takes the tensor's dtype
void bind_whole_tensor(nb::class_<Tensor>& tensor, nb::module_& ops);
void bind_creation(nb::module_& m);
void bind_autograd(nb::module_& m, nb::class_<Tensor>& tensor);
void bind_parameters(nb::module_& m);
void bind_context(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_models(nb::module_& m);
void bind_training(nb::module_& m);
void bind_batches(nb::module_& m);
void bind_runs(nb::module_& m);
void bind_predictions(nb::module_& m);
void bind_attention_maps(nb::module_& m);
void bind_programs(nb::module_& m);

}  // namespace fovea::python
