// Python's operators on tensors. A number takes the tensor's dtype; two tensors need one dtype.
#include <utility>

#include "ops/arithmetic.h"
#include "ops/matmul.h"
#include "python/bindings/no_operand.h"
#include "python/bindings/ops.h"
#include "python/bindings/parts.h"

namespace fovea::python {
namespace {

using TensorPairFn = Tensor (*)(const Tensor&, const Tensor&);

/// `number` as a tensor without axes, for ops between two tensors.
Tensor like(const Tensor& t, double number) { return scalar(number, t.options()); }

void require_one_dtype(const char* op, const Tensor& a, const Tensor& b) {
  check(a.dtype() == b.dtype(), op, ": got tensors of ", a.dtype(), " and ", b.dtype(),
        ", expected one dtype; convert one with .to()");
}

template <class F>
void add_pair(nb::class_<Tensor>& tensor, const char* name, const char* op, const F& f) {
  tensor.def(
      name,
      [op, f](const Tensor& a, const Tensor& b) {
        require_one_dtype(op, a, b);
        return f(a, b);
      },
      nb::is_operator(), in_op);
}

template <class F>
void add_number(nb::class_<Tensor>& tensor, const char* name, const F& f) {
  tensor.def(
      name, [f](const Tensor& a, double b) { return f(a, b); }, nb::is_operator(), in_op);
}

void add_arithmetic(nb::class_<Tensor>& tensor) {
  const auto plus = [](const Tensor& a, double b) { return ops::add(a, b); };
  const auto times = [](const Tensor& a, double b) { return ops::mul(a, b); };
  add_pair(tensor, "__add__", "add", TensorPairFn(ops::add));
  add_number(tensor, "__add__", plus);
  add_number(tensor, "__radd__", plus);
  add_pair(tensor, "__sub__", "sub", TensorPairFn(ops::sub));
  add_number(tensor, "__sub__", [](const Tensor& a, double b) { return ops::add(a, -b); });
  add_number(tensor, "__rsub__", [](const Tensor& a, double b) { return ops::sub(like(a, b), a); });
  add_pair(tensor, "__mul__", "mul", TensorPairFn(ops::mul));
  add_number(tensor, "__mul__", times);
  add_number(tensor, "__rmul__", times);
  add_pair(tensor, "__truediv__", "div", TensorPairFn(ops::div));
  add_number(tensor, "__truediv__", [](const Tensor& a, double b) { return ops::div(a, b); });
  add_number(tensor, "__rtruediv__",
             [](const Tensor& a, double b) { return ops::div(like(a, b), a); });
  add_number(tensor, "__pow__", [](const Tensor& a, double b) { return ops::pow(a, b); });
  add_pair(tensor, "__matmul__", "matmul",
           [](const Tensor& a, const Tensor& b) { return ops::matmul(a, b); });
  tensor
      .def(
          "__neg__", [](const Tensor& a) { return ops::neg(a); }, in_op)
      .def(
          "__abs__", [](const Tensor& a) { return ops::abs(a); }, in_op);
}

/// A mask where `mask` is 0.
Tensor inverse(const Tensor& mask) { return ops::equal(mask, like(mask, 0)); }

/// Equal or on one side: at most one of the masks is 1 at a position.
Tensor either(const Tensor& mask, const Tensor& other) { return inverse(ops::equal(mask, other)); }

/// f(a, b) of two tensors, or of a tensor and a number, whose comparison is exact.
template <class F>
void add_comparison(nb::class_<Tensor>& tensor, const char* name, const F& f) {
  tensor.def(name, f, nb::is_operator(), in_op);
  tensor.def(
      name,
      [f](const Tensor& a, double b) {
        return f(a, scalar(b, {DType::f64, a.device()}));
      },
      nb::is_operator(), in_op);
}

/// Beside what an operator takes. The overloads before it take all numbers, also in an array.
void add_refusals(nb::class_<Tensor>& tensor) {
  static constexpr std::pair<const char*, const char*> kOperators[] = {
      {"__add__", "add"},        {"__radd__", "add"},     {"__sub__", "sub"},
      {"__rsub__", "sub"},       {"__mul__", "mul"},      {"__rmul__", "mul"},
      {"__truediv__", "div"},    {"__rtruediv__", "div"}, {"__matmul__", "matmul"},
      {"__rmatmul__", "matmul"}, {"__pow__", "pow"},      {"__eq__", "equal"},
      {"__ne__", "equal"},       {"__lt__", "less"},      {"__gt__", "greater"},
      {"__le__", "less"},        {"__ge__", "greater"}};
  for (const auto& [name, op] : kOperators) {
    tensor.def(
        name, [op = op](const Tensor& /*a*/, const NoOperand& b) -> Tensor { b.refuse(op); },
        nb::is_operator());
  }
}

}  // namespace

void bind_operators(nb::class_<Tensor>& tensor) {
  add_arithmetic(tensor);
  using T = const Tensor&;
  add_comparison(tensor, "__eq__", [](T a, T b) { return ops::equal(a, b); });
  add_comparison(tensor, "__ne__", [](T a, T b) { return inverse(ops::equal(a, b)); });
  add_comparison(tensor, "__lt__", [](T a, T b) { return ops::less(a, b); });
  add_comparison(tensor, "__gt__", [](T a, T b) { return ops::greater(a, b); });
  add_comparison(tensor, "__le__",
                 [](T a, T b) { return either(ops::less(a, b), ops::equal(a, b)); });
  add_comparison(tensor, "__ge__",
                 [](T a, T b) { return either(ops::greater(a, b), ops::equal(a, b)); });
  add_refusals(tensor);
}

void bind_where_of_numbers(nb::module_& ops) {
  using T = const Tensor&;
  const auto add = [&ops](const auto& f) { ops.def("where", f, "mask"_a, "a"_a, "b"_a, in_op); };
  add([](T mask, T a, double b) { return ops::where(mask, a, like(a, b)); });
  add([](T mask, double a, T b) { return ops::where(mask, like(b, a), b); });
  add([](T mask, double a, double b) {
    const TensorOptions options{DType::f32, mask.device()};
    return ops::where(mask, scalar(a, options), scalar(b, options));
  });
}

}  // namespace fovea::python
