// Tensor: a handle to shape, strides and storage, and to its node on the tape.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/dtype.h"
#include "engine/shape.h"
#include "engine/storage.h"

namespace fovea {

class Node;
struct TensorImpl;

/// The dtype and device of a new tensor.
struct TensorOptions {
  DType dtype = DType::f32;
  Device device = {};
};

/// A reference-counted handle: copies of a Tensor refer to the same tensor. Math ops are in ops/;
/// the members here only view and copy data.
class Tensor {
 public:
  Tensor() = default;  ///< undefined: no shape, no storage

  [[nodiscard]] bool defined() const { return impl_ != nullptr; }
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] const Strides& strides() const;
  [[nodiscard]] int rank() const { return shape().rank(); }
  [[nodiscard]] std::int64_t size(int axis) const;  ///< negative axes count from the end
  [[nodiscard]] std::int64_t numel() const;
  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Device device() const;
  [[nodiscard]] TensorOptions options() const { return {dtype(), device()}; }
  [[nodiscard]] bool is_contiguous() const;

  /// Bytes occupied by the elements.
  [[nodiscard]] std::int64_t byte_count() const {
    return numel() * static_cast<std::int64_t>(size_of(dtype()));
  }
  /// Pointer to the first element. Writing through it is an in-place change: call bump_version()
  /// afterwards.
  [[nodiscard]] std::byte* raw() const;
  /// Typed pointer to the first element; throws when T is not the dtype or the tensor is not on
  /// the CPU.
  template <class T>
  [[nodiscard]] T* data() const {
    require_data(dtype_of<T>);
    return reinterpret_cast<T*>(raw());
  }
  [[nodiscard]] const Storage& storage() const;
  [[nodiscard]] std::int64_t storage_offset() const;  ///< offset of the first element, in elements
  [[nodiscard]] std::uint64_t version() const { return storage().version(); }
  void bump_version() const { storage().bump_version(); }
  [[nodiscard]] bool is_same(const Tensor& other) const { return impl_ == other.impl_; }

  /// The value of a tensor of one element. Throws on integers beyond 2^53, as at() does.
  [[nodiscard]] double item() const;
  /// One element by row-major position. Slow: for tests and printing. Throws on an integer beyond
  /// 2^53, which may not fit a double: data<std::int64_t>() of the contiguous() tensor is exact.
  [[nodiscard]] double at(std::int64_t flat_index) const;
  /// All elements, row-major; integers beyond 2^53 are rounded.
  [[nodiscard]] std::vector<double> to_vector() const;

  // Recorded on the tape: backward() passes the gradient back in the source's dtype and device.
  [[nodiscard]] Tensor contiguous() const;     ///< itself when already contiguous
  [[nodiscard]] Tensor clone() const;          ///< contiguous copy
  [[nodiscard]] Tensor to(DType dtype) const;  ///< itself when already of that dtype
  [[nodiscard]] Tensor to(Device device) const;

  // Not recorded.
  [[nodiscard]] Tensor detach() const;  ///< shares the storage, not the tape
  /// detach().to(dtype), cached until the version changes, for a parameter that is used in another
  /// dtype; of a view, a view of that of the whole. Itself when already of that dtype.
  [[nodiscard]] Tensor cached_to(DType dtype) const;
  /// A view with its own geometry, checked to stay inside the storage; `offset` is relative to
  /// this tensor's first element. Differentiable views are in ops/view.h.
  [[nodiscard]] Tensor alias(const Shape& shape, const Strides& strides,
                             std::int64_t offset = 0) const;

  // In place, also through a view. Outside NoGrad, these throw on a leaf that requires a gradient
  // and on the result of an op; a source on the tape puts this tensor, or the one that it is a view
  // of, on the tape. They throw where positions share an element, as after expand().
  void copy_(const Tensor& source) const;  ///< source broadcasts; any dtype
  void fill_(double value) const;

  /// True for a leaf that is marked by set_requires_grad(), and for results recorded from one.
  [[nodiscard]] bool requires_grad() const;
  [[nodiscard]] bool is_leaf() const;
  const Tensor& set_requires_grad(bool on = true) const;  ///< leaves of float dtype only
  [[nodiscard]] Tensor grad() const;                      ///< undefined before the first backward()
  void set_grad(Tensor grad) const;                       ///< an undefined tensor clears it
  [[nodiscard]] const std::shared_ptr<Node>& node() const;  ///< null for leaves

  /// The name of a leaf (a parameter's path), shown by errors, anomaly reports and graph dumps.
  [[nodiscard]] const std::string& name() const;
  const Tensor& set_name(std::string name) const;

  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}
  [[nodiscard]] const std::shared_ptr<TensorImpl>& impl() const { return impl_; }

 private:
  [[nodiscard]] TensorImpl& get() const;  ///< throws when undefined
  void require_data(DType dtype) const;

  std::shared_ptr<TensorImpl> impl_;
};

// Factories.
[[nodiscard]] Tensor empty(const Shape& shape, TensorOptions options = {});  ///< uninitialised
[[nodiscard]] Tensor zeros(const Shape& shape, TensorOptions options = {});
[[nodiscard]] Tensor ones(const Shape& shape, TensorOptions options = {});
[[nodiscard]] Tensor full(const Shape& shape, double value, TensorOptions options = {});
[[nodiscard]] Tensor scalar(double value, TensorOptions options = {});
[[nodiscard]] Tensor arange(std::int64_t count, TensorOptions options = {DType::i64, {}});
/// Row-major values, converted to the dtype; throws unless their number is shape.numel().
[[nodiscard]] Tensor from_values(const Shape& shape, std::span<const double> values,
                                 TensorOptions options = {});
[[nodiscard]] Tensor from_values(const Shape& shape, std::initializer_list<double> values,
                                 TensorOptions options = {});
/// Copies `bytes` (row-major elements of the dtype, host byte order).
[[nodiscard]] Tensor from_bytes(const Shape& shape, DType dtype, std::span<const std::byte> bytes);

/// Human-readable: shape, dtype, corner values, and a warning when some values are not finite.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);
[[nodiscard]] std::string to_string(const Tensor& tensor);

}  // namespace fovea
