// from_dlpack(): another library's memory as a tensor, without a copy where fovea has the type.
#include "python/bindings/dlpack_import.h"

#include <nanobind/stl/pair.h>

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/foreign_memory.h"
#include "engine/formats/stored_type.h"
#include "engine/strided.h"
#include "python/bindings/dlpack_types.h"
#include "python/bindings/parts.h"
#include "python/bindings/read_only.h"

namespace fovea::python {
namespace {

/// Elements lent by another library until `release` is called.
struct Lent {
  dlpack::dltensor tensor;
  bool read_only = false;
  std::function<void()> release;
};

/// Ends when it goes out of scope, unless a tensor has taken it over.
struct Loan {
  const std::function<void()>& release;
  bool is_kept = false;

  ~Loan() {
    if (!is_kept) release();
  }
};

Shape shape_of(const dlpack::dltensor& t, const std::int64_t* sizes) {
  return Shape(std::span(sizes, static_cast<std::size_t>(t.ndim)));
}

/// The owner may be a Python object, and tensors die on any thread.
template <class Managed>
std::function<void()> releasing(Managed* managed) {
  return [managed] {
    if (managed->deleter == nullptr || !nb::is_alive()) return;  // else Python is gone
    const nb::gil_scoped_acquire gil;
    managed->deleter(managed);
  };
}

template <bool versioned>
Lent take(const nb::object& capsule) {
  using Managed = ManagedTensor<versioned>;
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), Managed::kName));
  if (managed == nullptr) throw nb::python_error();
  Lent lent{{}, false, releasing(managed)};
  if constexpr (versioned) {
    check(managed->major == 1, "from_dlpack: got DLPack ", managed->major, ", expected 1");
    lent.read_only = (managed->flags & kReadOnlyFlag) != 0;
  }
  lent.tensor = managed->tensor;
  PyCapsule_SetName(capsule.ptr(), Managed::kUsedName);  // from now on the tensor owns it
  return lent;
}

nb::object capsule_from(const nb::object& array) {
  const nb::object method = nb::getattr(array, "__dlpack__", nb::none());
  check(!method.is_none(), "from_dlpack: got ", nb::type_name(array.type()).c_str(),
        ", expected an array with __dlpack__, such as numpy's or PyTorch's");
  const auto device = nb::cast<std::pair<int, int>>(array.attr("__dlpack_device__")());
  check(device.first == kCpu, "from_dlpack: got an array on a device of type ", device.first,
        ", expected one on the CPU; copy it there");
  try {
    return method("max_version"_a = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    return method();  // a library that knows no versions
  }
}

/// Types by (code, bits); those that no dtype has are converted as the same types in files are.
std::optional<StoredType> stored_type_of(const dlpack::dtype& type) {
  using Code = dlpack::dtype_code;
  static const std::map<std::pair<Code, int>, StoredType> kTypes = {
      {{Code::Float, 64}, StoredType::f64},  {{Code::Float, 32}, StoredType::f32},
      {{Code::Float, 16}, StoredType::f16},  {{Code::Bfloat, 16}, StoredType::bf16},
      {{Code::Int, 64}, StoredType::i64},    {{Code::Int, 32}, StoredType::i32},
      {{Code::Int, 16}, StoredType::i16},    {{Code::Int, 8}, StoredType::i8},
      {{Code::UInt, 64}, StoredType::u64},   {{Code::UInt, 32}, StoredType::u32},
      {{Code::UInt, 16}, StoredType::u16},   {{Code::UInt, 8}, StoredType::u8},
      {{Code::Bool, 8}, StoredType::boolean}};
  const auto found = kTypes.find({static_cast<Code>(type.code), type.bits});
  return found == kTypes.end() || type.lanes != 1 ? std::nullopt : std::optional(found->second);
}

/// The elements one after the other, converted.
Tensor converted(const std::byte* first, StoredType type, const Shape& shape,
                 const Strides& strides) {
  const std::size_t size = size_of(type);
  const auto gather = [&](std::span<std::byte> into) {
    for (std::size_t i = 0; i * size < into.size(); ++i) {
      const std::int64_t offset = offset_at(shape, strides, static_cast<std::int64_t>(i));
      std::memcpy(into.data() + i * size, first + offset * static_cast<std::int64_t>(size), size);
    }
  };
  return read_stored({"", type, shape}, gather, "from_dlpack");
}

/// The memory itself; it is given back when the last tensor on it is gone.
Tensor shared(std::byte* first, DType dtype, const Shape& shape, const Strides& strides,
              const Lent& lent) {
  const auto storage = std::make_shared<const std::byte*>(nullptr);
  const Tensor t = from_memory({first, shape, strides, {dtype, {}}, [storage, back = lent.release] {
                                  if (*storage != nullptr) end_read_only(*storage);
                                  back();
                                }});
  if (lent.read_only && t.numel() > 0) lend_read_only(*storage = t.storage().data());
  return t;
}

}  // namespace

Tensor from_dlpack(const nb::object& array) {
  const nb::object capsule = capsule_from(array);
  const bool versioned = PyCapsule_IsValid(capsule.ptr(), ManagedTensor<true>::kName) != 0;
  const Lent lent = versioned ? take<true>(capsule) : take<false>(capsule);
  const dlpack::dltensor& t = lent.tensor;
  Loan loan{lent.release};
  const Shape shape = shape_of(t, t.shape);
  const Strides strides = t.strides == nullptr ? contiguous_strides(shape) : shape_of(t, t.strides);
  const std::optional<StoredType> type = stored_type_of(t.dtype);
  check(type.has_value(), "from_dlpack: got elements of DLPack's type ", int{t.dtype.code},
        " with ", int{t.dtype.bits},
        " bits, expected floats of 16 to 64 bits, integers or booleans");
  auto* const first = static_cast<std::byte*>(t.data) + t.byte_offset;
  const DType dtype = held_dtype(*type);
  if (stored_type(dtype) != *type) return converted(first, *type, shape, strides);
  const Tensor result = shared(first, dtype, shape, strides, lent);
  loan.is_kept = true;
  return result;
}

void bind_dlpack_import(nb::module_& m) {
  m.def(
      "from_dlpack", from_dlpack, "array"_a,
      "A tensor on the memory of a numpy array, a PyTorch tensor or another array with "
      "__dlpack__.\n\n"
      "Nothing is copied: what one side writes, the other reads. A read-only array gives a tensor "
      "that\ncannot be written. f16 becomes f32, booleans u8, other integers i64; these are "
      "copied.");
}

}  // namespace fovea::python
