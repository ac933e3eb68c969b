// The Tensor handle: geometry, element access, conversions. Writing in place is in in_place.cpp.
#include "engine/tensor.h"

#include <algorithm>

#include "engine/autograd.h"
#include "engine/copy.h"
#include "engine/kept_copy.h"
#include "engine/single_copy.h"
#include "engine/strided.h"
#include "engine/tensor_impl.h"

namespace fovea {
namespace {

/// An element as a double. Throws where a double does not have the integer.
double read_element(const Tensor& t, std::int64_t offset) {
  return dispatch_any(t.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const T element = t.data<T>()[offset];
    if constexpr (std::is_same_v<T, std::int64_t>) {
      constexpr std::int64_t kExact = std::int64_t{1} << 53;
      check(element >= -kExact && element <= kExact, "at: the element is ", element,
            ", which is beyond 2^53 and may not fit a double; read data<std::int64_t>()[i] of the "
            "contiguous() tensor on the CPU");
    }
    return static_cast<double>(static_cast<acc_t<T>>(element));
  });
}

/// The node of `t`, after the writes to the tensor that it is a view of.
const std::shared_ptr<Node>& current_node(const Tensor& t, const TensorImpl& impl) {
  if (impl.base && impl.base->writes != impl.writes) catch_up(t);
  return impl.node;
}

void convert_itself(const Tensor& t, TensorImpl& impl, DType dtype) {
  check(!impl.was_converted, "cached_to: only the values in ", to_string(impl.dtype),
        " were kept, got a request for ", to_string(dtype));
  constexpr std::int64_t kLarge = std::int64_t{1} << 22;
  const std::int64_t old_bytes = t.byte_count();
  {
    const Tensor converted = t.detach().to(dtype);
    impl.storage = converted.storage();
    impl.strides = converted.strides();
    impl.offset = 0;
    impl.dtype = dtype;
    impl.was_converted = true;
  }
  // Tensors to come reuse small blocks; large ones would stay in the cache.
  if (old_bytes >= kLarge && t.device().is_cpu()) release_cached_memory();
}

/// The view of the cached copy of the tensor that `impl` is a view of. Undefined for others, if the
/// copy is laid out differently, and if that tensor has converted itself since.
Tensor part_of_converted(const TensorImpl& impl, DType dtype) {
  const std::shared_ptr<TensorImpl> base = impl.base ? impl.base : impl.unseen_base.lock();
  if (base == nullptr || base->dtype != impl.dtype) return {};
  const Tensor whole(base);
  if (!whole.is_contiguous()) return {};
  const std::int64_t offset = impl.offset - base->offset;
  return whole.cached_to(dtype).alias(impl.shape, impl.strides, offset);
}

}  // namespace

void keep_single_copy(const Tensor& t) { t.impl()->has_single_copy = true; }

Tensor kept_copy(const Tensor& t, DType dtype) {
  const Tensor& copy = t.impl()->converted;
  const bool is_free = copy.defined() && copy.dtype() == dtype && copy.impl().use_count() == 1 &&
                       copy.storage().unique();
  return is_free ? copy : Tensor();
}

void set_copy_current(const Tensor& t) { t.impl()->converted_version = t.version(); }

void keep_copy(const Tensor& t, Tensor copy) {
  t.impl()->converted = std::move(copy);
  set_copy_current(t);
}

Tensor current_copy(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  return impl.converted_version == t.version() ? impl.converted : Tensor();
}

void refresh_copy(const Tensor& t) {
  const Tensor& copy = t.impl()->converted;
  if (copy.defined()) static_cast<void>(t.cached_to(copy.dtype()));
}

Tensor converted(const Tensor& t, DType dtype) {
  const Tensor copy = current_copy(t);
  return copy.defined() && copy.dtype() == dtype ? copy : t.to(dtype);
}

TensorImpl& Tensor::get() const {
  check(defined(), "tensor: used before a value was assigned");
  return *impl_;
}

const Shape& Tensor::shape() const { return get().shape; }
const Strides& Tensor::strides() const { return get().strides; }
std::int64_t Tensor::size(int axis) const { return shape()[normalize_axis("size", axis, rank())]; }
std::int64_t Tensor::numel() const { return shape().numel(); }
DType Tensor::dtype() const { return get().dtype; }
Device Tensor::device() const { return get().storage.device(); }
const Storage& Tensor::storage() const { return get().storage; }
std::int64_t Tensor::storage_offset() const { return get().offset; }

bool Tensor::is_contiguous() const {
  std::int64_t expected = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape()[axis] == 0) return true;
    if (shape()[axis] != 1 && strides()[axis] != expected) return false;
    expected *= shape()[axis];
  }
  return true;
}

std::byte* Tensor::raw() const {
  const TensorImpl& impl = get();
  std::byte* const data = impl.storage.data();
  if (data == nullptr) return nullptr;  // no elements: pointer arithmetic would be undefined
  return data + impl.offset * static_cast<std::int64_t>(size_of(impl.dtype));
}

void Tensor::require_data(DType wanted) const {
  check(dtype() == wanted, "data: got a tensor of ", to_string(dtype()), ", expected ",
        to_string(wanted));
  check(device().is_cpu(), "data: the tensor is on ", device(),
        "; copy it with to(Device{}) first");
}

double Tensor::item() const {
  check(numel() == 1, "item: got shape ", shape(), ", expected one element");
  return at(0);
}

double Tensor::at(std::int64_t flat_index) const {
  check(flat_index >= 0 && flat_index < numel(), "at: position ", flat_index,
        " is out of range for shape ", shape());
  if (device().is_cuda()) return detach().to(Device{}).at(flat_index);
  return read_element(*this, offset_at(shape(), strides(), flat_index));
}

std::vector<double> Tensor::to_vector() const {
  const NoGrad no_grad;
  const Tensor packed = detach().to(Device{}).to(DType::f64).contiguous();
  const double* const first = packed.data<double>();
  return {first, first + packed.numel()};
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  const OpLabel op("clone");
  Tensor copy = empty(shape(), options());
  copy_into(copy, *this);
  return record(op, copy, {*this}, {}, [](const GradArgs& g) -> Grads { return {g.dy}; });
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == this->dtype()) return *this;
  const OpLabel op("to", {{"dtype", to_string(dtype).data()}});
  Tensor converted = empty(shape(), {dtype, device()});
  copy_into(converted, *this);
  if (!is_float(dtype)) return converted;
  return record(op, converted, {*this}, {},
                [from = this->dtype()](const GradArgs& g) -> Grads { return {g.dy.to(from)}; });
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  const OpLabel op("to_device",
                   {{"device", device.is_cpu() ? "cpu" : "cuda"}, {"index", device.index}});
  Tensor moved = empty(shape(), {dtype(), device});
  copy_into(moved, *this);
  return record(op, moved, {*this}, {},
                [from = this->device()](const GradArgs& g) -> Grads { return {g.dy.to(from)}; });
}

Tensor Tensor::detach() const {
  Tensor apart = alias(shape(), strides());
  apart.impl_->base.reset();
  apart.impl_->unseen_base.reset();
  return apart;
}

Tensor Tensor::cached_to(DType dtype) const {
  TensorImpl& impl = get();
  if (impl.dtype == dtype) return *this;
  if (const Tensor part = part_of_converted(impl, dtype); part.defined()) return part;
  if (impl.has_single_copy) {
    convert_itself(*this, impl, dtype);
    return *this;
  }
  const bool usable = impl.converted.defined() && impl.converted.dtype() == dtype &&
                      impl.converted_version == version();
  if (!usable) {
    impl.converted = detach().to(dtype);
    impl.converted_version = version();
  }
  return impl.converted;
}

Tensor Tensor::alias(const Shape& shape, const Strides& strides, std::int64_t offset) const {
  const TensorImpl& impl = get();
  check(strides.rank() == shape.rank(), "alias: got strides ", strides, " for shape ", shape);
  std::int64_t begin = 0;
  const bool counts = !__builtin_add_overflow(impl.offset, offset, &begin);
  const auto range = element_range(shape, strides, begin);
  const auto capacity = static_cast<std::int64_t>(impl.storage.bytes() / size_of(impl.dtype));
  const bool fits = counts && range && range->first >= 0 && range->second < capacity;
  check(shape.numel() == 0 || fits, "alias: shape ", shape, " with strides ", strides,
        " from element ", offset, " reaches beyond a storage of ", capacity, " elements");
  auto view = std::make_shared<TensorImpl>();
  view->storage = impl.storage;
  view->offset = impl.offset + offset;
  view->shape = shape;
  view->strides = strides;
  view->dtype = impl.dtype;
  const std::shared_ptr<TensorImpl>& base = impl.base ? impl.base : impl_;
  view->unseen_base = impl.unseen_base;
  if (grad_enabled()) {
    view->base = base;
    view->writes = base->writes;
  } else if (view->unseen_base.expired()) {
    view->unseen_base = base;
  }
  return Tensor(std::move(view));
}

bool Tensor::requires_grad() const {
  return get().requires_grad || current_node(*this, get()) != nullptr;
}
bool Tensor::is_leaf() const { return current_node(*this, get()) == nullptr; }

const Tensor& Tensor::set_requires_grad(bool on) const {
  check(is_leaf(), "set_requires_grad: the tensor was computed by an op; only leaves can be set");
  check(!on || is_float(dtype()), "set_requires_grad: got dtype ", to_string(dtype()),
        ", expected f64, f32 or bf16");
  get().requires_grad = on;
  if (on) get().base.reset();  // a leaf is no result of writes to what it was a view of
  return *this;
}

Tensor Tensor::grad() const { return get().grad; }

void Tensor::set_grad(Tensor grad) const {
  check(!grad.defined() || grad.shape() == shape(), "set_grad: got shape ",
        grad.defined() ? grad.shape() : Shape{}, ", expected ", shape());
  get().grad = std::move(grad);
}

const std::shared_ptr<Node>& Tensor::node() const { return current_node(*this, get()); }
const std::string& Tensor::name() const { return get().name; }
const Tensor& Tensor::set_name(std::string name) const {
  get().name = std::move(name);
  return *this;
}

}  // namespace fovea
