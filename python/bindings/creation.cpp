// New tensors of given shapes: constants, ranges and random numbers.
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "engine/random.h"
#include "engine/tensor.h"
#include "python/bindings/int_list.h"
#include "python/bindings/parts.h"

namespace fovea::python {
namespace {

/// The keywords of every function here: dtype, device, requires_grad.
struct NewTensor {
  DType dtype;
  const std::string& device;
  bool requires_grad;

  [[nodiscard]] TensorOptions options() const { return {dtype, parse_device(device)}; }
  [[nodiscard]] Tensor finish(const Tensor& t) const {
    return requires_grad ? t.set_requires_grad() : t;
  }
};

#define FOVEA_NEW_TENSOR_KEYWORDS \
  "dtype"_a = DType::f32, "device"_a = "cpu", "requires_grad"_a = false

void bind_constants(nb::module_& m) {
  m.def(
      "zeros",
      [](const nb::args& shape, DType dtype, const std::string& device, bool grad) {
        const NewTensor wanted{dtype, device, grad};
        return wanted.finish(zeros(IntList::from_arguments(shape).shape(), wanted.options()));
      },
      "shape"_a, FOVEA_NEW_TENSOR_KEYWORDS, "Zeros: zeros(2, 3) or zeros((2, 3)).");
  m.def(
      "ones",
      [](const nb::args& shape, DType dtype, const std::string& device, bool grad) {
        const NewTensor wanted{dtype, device, grad};
        return wanted.finish(ones(IntList::from_arguments(shape).shape(), wanted.options()));
      },
      "shape"_a, FOVEA_NEW_TENSOR_KEYWORDS, "Ones: ones(2, 3) or ones((2, 3)).");
  m.def(
      "full",
      [](const IntList& shape, double value, DType dtype, const std::string& device, bool grad) {
        const NewTensor wanted{dtype, device, grad};
        return wanted.finish(full(shape.shape(), value, wanted.options()));
      },
      "shape"_a, "value"_a, nb::kw_only(), FOVEA_NEW_TENSOR_KEYWORDS,
      "A tensor with one value everywhere.");
  m.def(
      "arange",
      [](std::int64_t count, DType dtype) {
        return arange(count, {dtype, {}});
      },
      "count"_a, nb::kw_only(), "dtype"_a = DType::i64, "0, 1, ..., count - 1.");
}

void bind_random(nb::module_& m) {
  m.def(
      "randn",
      [](const nb::args& shape, std::uint64_t seed, std::uint64_t stream, DType dtype,
         const std::string& device, bool grad) {
        const NewTensor wanted{dtype, device, grad};
        return wanted.finish(rand_normal(IntList::from_arguments(shape).shape(), {0, 1},
                                         {seed, stream}, wanted.options()));
      },
      "shape"_a, "seed"_a, "stream"_a = 0, FOVEA_NEW_TENSOR_KEYWORDS,
      "Normal random numbers of mean 0 and deviation 1, a function of (seed, stream): the same\n"
      "call gives the same numbers.");
  m.def(
      "rand",
      [](const nb::args& shape, std::uint64_t seed, std::uint64_t stream, DType dtype,
         const std::string& device, bool grad) {
        const NewTensor wanted{dtype, device, grad};
        return wanted.finish(rand_uniform(IntList::from_arguments(shape).shape(), {0, 1},
                                          {seed, stream}, wanted.options()));
      },
      "shape"_a, "seed"_a, "stream"_a = 0, FOVEA_NEW_TENSOR_KEYWORDS,
      "Uniform random numbers in [0, 1), a function of (seed, stream).");
}

#undef FOVEA_NEW_TENSOR_KEYWORDS

}  // namespace

void bind_creation(nb::module_& m) {
  bind_constants(m);
  bind_random(m);
}

}  // namespace fovea::python
