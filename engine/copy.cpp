// Copies, conversions, accumulation and un-broadcasting: shapes, checks and transfers between
// devices. The loops are in the device's kernel table (engine/kernels.h).
#include "engine/copy.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/kernels.h"
#include "engine/strided.h"

namespace fovea {
namespace {

StridedAxes<2> pair_axes(const Tensor& to, const Tensor& from) {
  return merged_axes<2>(to.shape(), {to.strides(), from.strides()});
}

/// Copies between devices through contiguous bytes in the dtype of the source.
void copy_across(const Tensor& destination, const Tensor& source) {
  const Tensor packed = source.contiguous();
  const Tensor landing = destination.is_contiguous() && destination.dtype() == source.dtype()
                             ? destination
                             : empty(source.shape(), {source.dtype(), destination.device()});
  const std::size_t bytes = static_cast<std::size_t>(source.numel()) * size_of(source.dtype());
  if (source.device().is_cpu()) {
    cuda::copy_host_to_device(landing.raw(), packed.raw(), bytes, landing.device().index);
  } else if (landing.device().is_cuda()) {
    cuda::copy_device_to_device(landing.raw(), landing.device().index, packed.raw(),
                                packed.device().index, bytes);
  } else {
    cuda::copy_device_to_host(landing.raw(), packed.raw(), bytes, packed.device().index);
  }
  if (!landing.is_same(destination)) copy_into(destination, landing);
}

/// Whether both tensors share a storage, differ in place or layout, and might share elements.
bool may_overlap(const Tensor& destination, const Tensor& source) {
  if (destination.numel() == 0 || !(destination.storage() == source.storage())) return false;
  const bool same = destination.storage_offset() == source.storage_offset() &&
                    destination.strides() == source.strides();
  const auto range = [](const Tensor& x) {
    return element_range(x.shape(), x.strides(), x.storage_offset()).value();
  };
  const auto [first, last] = range(destination);
  const auto [source_first, source_last] = range(source);
  return !same && first <= source_last && source_first <= last;
}

/// Whether no two positions share an element. Axes from the smallest stride on: each must step over
/// all that the ones before it reach; where one does not, the elements are compared.
bool has_distinct_elements(const Tensor& x) {
  if (x.is_contiguous()) return true;
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride and size
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x.shape()[axis] > 1) axes.emplace_back(std::abs(x.strides()[axis]), x.shape()[axis]);
  }
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  bool apart = true;
  for (const auto& [stride, size] : axes) {
    if (stride == 0) return false;
    apart &= stride > reach;
    reach += stride * (size - 1);
  }
  if (apart) return true;
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(x.numel()));
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = offset_at(x.shape(), x.strides(), static_cast<std::int64_t>(i));
  }
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) == offsets.end();
}

/// Throws unless each element of a destination is written once.
void require_distinct(const char* what, const Tensor& destination) {
  check(has_distinct_elements(destination), what, ": the destination of shape ",
        destination.shape(), " and strides ", destination.strides(),
        " has positions that share an element, as after expand(); write to a clone() instead");
}

/// The axes of a tensor that is summed to `shape` (which broadcasts to it), split into kept and
/// summed axes.
struct SplitAxes {
  Shape kept, reduced;
  Strides kept_strides, reduced_strides;

  SplitAxes(const Tensor& x, const Shape& shape) {
    for (int axis = 0; axis < x.rank(); ++axis) {
      const int own = axis - x.rank() + shape.rank();  // the same axis, counted from the end
      const bool keep = own >= 0 && shape[own] == x.shape()[axis];
      (keep ? kept : reduced).push_back(x.shape()[axis]);
      (keep ? kept_strides : reduced_strides).push_back(x.strides()[axis]);
    }
  }
};

}  // namespace

void copy_into(const Tensor& destination, const Tensor& source) {
  const RunningOp naming("copy");
  require_distinct("copy", destination);
  if (!(source.shape() == destination.shape())) {
    const Strides strides =
        broadcast_strides(source.shape(), source.strides(), destination.shape());
    check(broadcast("copy", source.shape(), destination.shape()) == destination.shape(),
          "copy: source ", source.shape(), " does not broadcast to ", destination.shape());
    return copy_into(destination, source.alias(destination.shape(), strides));
  }
  if (may_overlap(destination, source)) {
    copy_into(destination,
              source.detach().clone());  // otherwise elements would be read after they were written
  } else if (destination.device() != source.device()) {
    copy_across(destination, source);
  } else if (destination.numel() > 0) {
    data_kernels(destination.device())
        .copy({pair_axes(destination, source), destination.dtype(), source.dtype(),
               destination.raw(), source.raw()});
  }
  destination.bump_version();
}

void add_into(const Tensor& destination, const Tensor& source) {
  const RunningOp naming("add_into");
  check(destination.shape() == source.shape(), "add_into: shapes ", destination.shape(), " and ",
        source.shape(), " differ");
  check(destination.device() == source.device(), "add_into: devices ", destination.device(),
        " and ", source.device(), " differ");
  check(is_float(destination.dtype()) && is_float(source.dtype()), "add_into: got ",
        destination.dtype(), " and ", source.dtype(), ", expected f64, f32 or bf16");
  require_distinct("add_into", destination);
  if (destination.numel() > 0) {
    data_kernels(destination.device())
        .add({pair_axes(destination, source), destination.dtype(), source.dtype(),
              destination.raw(), source.raw()});
  }
  destination.bump_version();
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  const RunningOp naming("sum_to");
  check(broadcast("sum_to", shape, x.shape()) == x.shape(), "sum_to: shape ", shape,
        " does not broadcast to ", x.shape());
  check(is_float(x.dtype()), "sum_to: got ", x.dtype(), ", expected f64, f32 or bf16");
  const Tensor y = empty(shape, x.options());
  if (y.numel() == 0) return y;
  const SplitAxes axes(x, shape);
  data_kernels(x.device())
      .sum({x.dtype(), merged_axes<1>(axes.kept, {axes.kept_strides}),
            merged_axes<1>(axes.reduced, {axes.reduced_strides}), x.raw(), y.raw()});
  return y;
}

void fill(const Tensor& destination, double value) {
  const RunningOp naming("fill_");
  require_distinct("fill_", destination);
  if (destination.numel() > 0) {
    data_kernels(destination.device())
        .fill({destination.dtype(), merged_axes<1>(destination.shape(), {destination.strides()}),
               destination.raw(), value});
  }
  destination.bump_version();
}

bool all_finite(const Tensor& x) {
  const RunningOp naming("all_finite");
  if (!is_float(x.dtype()) || x.numel() == 0) return true;
  const Tensor finite = empty({}, {DType::i64, x.device()});
  data_kernels(x.device())
      .finite({x.dtype(), merged_axes<1>(x.shape(), {x.strides()}), x.raw(),
               reinterpret_cast<std::int64_t*>(finite.raw())});
  return *finite.to(Device{}).data<std::int64_t>() != 0;
}

}  // namespace fovea
