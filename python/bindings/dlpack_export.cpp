// __dlpack__: a tensor's memory for another library, without a copy.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "python/bindings/dlpack_types.h"
#include "python/bindings/parts.h"
#include "python/bindings/read_only.h"

namespace fovea::python {
namespace {

using IntPair = std::pair<int, int>;

/// What a capsule owns until its reader is done with it.
template <bool versioned>
struct Exported {
  ManagedTensor<versioned> managed{};
  Tensor tensor;
  Shape shape;
  Strides strides;
};

dlpack::dtype dlpack_type(DType dtype) {
  using Code = dlpack::dtype_code;
  const auto code = dtype == DType::bf16  ? Code::Bfloat
                    : is_float(dtype)     ? Code::Float
                    : dtype == DType::i64 ? Code::Int
                                          : Code::UInt;
  return {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(8 * size_of(dtype)), 1};
}

template <bool versioned>
void destroy_unused(PyObject* capsule) {
  using Managed = ManagedTensor<versioned>;
  if (PyCapsule_IsValid(capsule, Managed::kName) == 0) return;  // its reader owns it
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, Managed::kName));
  managed->deleter(managed);
}

template <bool versioned>
nb::object capsule_of(const Tensor& t) {
  using Managed = ManagedTensor<versioned>;
  auto exported = std::make_unique<Exported<versioned>>();
  exported->tensor = t;
  exported->shape = t.shape();
  exported->strides = t.strides();
  Managed& managed = exported->managed;
  managed.tensor = {t.raw(),
                    {kCpu, 0},
                    t.rank(),
                    dlpack_type(t.dtype()),
                    exported->shape.rank() > 0 ? &exported->shape[0] : nullptr,
                    exported->strides.rank() > 0 ? &exported->strides[0] : nullptr,
                    0};
  managed.context = exported.get();
  managed.deleter = [](Managed* self) {
    const std::unique_ptr<Exported<versioned>> owner(
        static_cast<Exported<versioned>*>(self->context));
  };
  if constexpr (versioned) {
    managed.major = 1;
    managed.flags = is_read_only(t) ? kReadOnlyFlag : 0;
  }
  nb::object capsule =
      nb::steal(PyCapsule_New(&managed, Managed::kName, destroy_unused<versioned>));
  if (!capsule.is_valid()) throw nb::python_error();
  static_cast<void>(exported.release());
  return capsule;
}

bool has_negative_stride(const Tensor& t) {
  for (const std::int64_t stride : t.strides()) {
    if (stride < 0) return true;
  }
  return false;
}

nb::object to_dlpack(const Tensor& t, const nb::object& /*stream*/,
                     const std::optional<IntPair>& max_version,
                     const std::optional<IntPair>& device, const std::optional<bool>& copy) {
  check(!t.requires_grad(),
        "__dlpack__: the tensor requires a gradient, which other libraries "
        "would not see; use .detach()");
  check(t.device().is_cpu(), "__dlpack__: the tensor is on ", t.device(), "; use .to(\"cpu\")");
  check(!device || device->first == kCpu, "__dlpack__: got a request for device type ",
        device ? device->first : 0, ", expected 1, the CPU");
  const bool versioned = max_version && max_version->first >= 1;
  const bool hides_read_only = !versioned && is_read_only(t);
  const bool must_copy = hides_read_only || has_negative_stride(t);  // PyTorch takes none
  if (must_copy && copy && !*copy) {
    throw nb::buffer_error(
        "fovea: negative strides, and read-only memory before DLPack 1.0, are copied");
  }
  const Tensor shared = must_copy || copy.value_or(false) ? t.clone() : t;
  return versioned ? capsule_of<true>(shared) : capsule_of<false>(shared);
}

}  // namespace

void bind_dlpack_export(nb::class_<Tensor>& tensor) {
  tensor
      .def("__dlpack__", to_dlpack, nb::kw_only(), "stream"_a = nb::none(),
           "max_version"_a = nb::none(), "dl_device"_a = nb::none(), "copy"_a = nb::none(),
           "The memory for another library (DLPack), without a copy unless strides are negative.")
      .def("__dlpack_device__", [](const Tensor&) { return IntPair(kCpu, 0); });
}

}  // namespace fovea::python
