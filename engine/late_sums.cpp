// The list of a walk's late sums, and the launch that computes them.
#include "engine/late_sums.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/base/error.h"
#include "engine/copy.h"
#include "engine/kernels.h"
#include "engine/node.h"
#include "engine/tape_watch.h"

namespace fovea {

struct LateSumList {
  struct Entry {
    Tensor parts, sum;
    bool adds = false;
  };
  struct PartsOf {
    std::weak_ptr<TensorImpl> dx;  ///< a handle would keep backward() from adding to it in place
    std::uint64_t version = 0;
    Tensor parts;
  };
  std::vector<Entry> entries;
  std::vector<PartsOf> kept;

  [[nodiscard]] bool holds(const Tensor& t) const {
    return t.defined() && std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
             return entry.sum.storage().data() == t.storage().data();
           });
  }
};

namespace {

thread_local LateSumList* walk = nullptr;

/// The term of a leaf that was repeated along leading axes, as the rows of a matrix that are to be
/// summed. Undefined where another kernel sums faster, or the sum cannot wait.
Tensor rows_of_repeats(const Tensor& leaf, const Tensor& term) {
  constexpr std::int64_t kMostRows = 1 << 11;  // one thread block adds them
  const bool waits = leaf.is_leaf() && sums_late(term.device()) && term.numel() > 0 &&
                     term.is_contiguous() && term.dtype() == acc_dtype(term.dtype());
  if (!waits) return {};
  std::int64_t columns = 1;  // from the innermost axis on, up to the first repeated one
  const int axes = std::min(leaf.rank(), term.rank());
  for (int i = 1; i <= axes && leaf.size(-i) == term.size(-i); ++i) columns *= leaf.size(-i);
  const std::int64_t rows = term.numel() / columns;
  if (columns != leaf.numel() || rows > kMostRows) return {};
  return term.alias({rows, columns}, {columns, 1});
}

}  // namespace

bool sums_late(Device device) {
  return walk != nullptr && static_cast<bool>(data_kernels(device).late_sums);
}

Tensor late_sum(const Tensor& parts, const Shape& shape) {
  check(sums_late(parts.device()) && parts.rank() == 2 && parts.strides()[1] == 1,
        "late_sum: got parts ", parts.shape(), ", expected adjacent columns on a GPU in a walk");
  const Tensor sum = empty(shape, parts.options());
  walk->entries.push_back({parts, sum});
  return sum;
}

void keep_parts(const Tensor& dx, const Tensor& parts) {
  if (walk == nullptr) return;
  std::erase_if(walk->kept, [](const auto& kept) { return kept.dx.expired(); });
  walk->kept.push_back({dx.impl(), dx.version(), parts});
}

Tensor kept_parts(const Tensor& dx) {
  if (walk == nullptr) return {};
  for (const auto& kept : walk->kept) {
    if (kept.dx.lock() == dx.impl() && kept.version == dx.version()) return kept.parts;
  }
  return {};
}

/// The walk inside may add to gradients that are sums of the outer one.
LateSums::LateSums() : outer_(walk), list_(std::make_unique<LateSumList>()) {
  finish();
  walk = list_.get();
}
/// A derivative that throws ends the walk; the gradients that leaves have got until then are whole.
LateSums::~LateSums() {
  try {
    finish();
  } catch (const Error&) {  // the device's, which the next call to it reports again
  }
  walk = outer_;
}

void LateSums::settle(const Node& node, std::span<const Tensor> gradients) {
  if (walk == nullptr) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const Tensor& x = node.inputs[i];
    if (!walk->holds(gradients[i]) || !x.requires_grad()) continue;
    const bool waits = x.is_leaf() && !gradients_are_read() && x.dtype() == gradients[i].dtype() &&
                       x.shape() == gradients[i].shape();
    if (!waits) return finish();
  }
}

Tensor LateSums::without_broadcast(const Tensor& x, const Tensor& term) {
  if (term.shape() == x.shape()) return term;
  const Tensor rows = rows_of_repeats(x, term);
  return rows.defined() ? late_sum(rows, x.shape()) : sum_to(term, x.shape());
}

bool LateSums::give(const Tensor& term, Tensor& gradient) {
  if (walk == nullptr) return false;
  finish_if_late(gradient);
  const auto found =
      std::find_if(walk->entries.begin(), walk->entries.end(),
                   [&](const auto& entry) { return entry.sum.impl() == term.impl(); });
  if (found == walk->entries.end()) return false;
  if (!gradient.defined()) {
    gradient = term;
    return true;
  }
  const bool adds = gradient.is_contiguous() && gradient.dtype() == term.dtype();
  if (adds) {
    found->sum = gradient;
    found->adds = true;
  } else {
    finish();
  }
  return adds;
}

void LateSums::finish() {
  if (walk == nullptr || walk->entries.empty()) return;
  std::vector<LateSumCall> calls;
  for (const auto& [parts, sum, adds] : walk->entries) {
    calls.push_back({.dtype = sum.dtype(),
                     .parts = parts.size(0),
                     .columns = parts.size(1),
                     .stride = parts.strides()[0],
                     .from = parts.raw(),
                     .sum = sum.raw(),
                     .adds = adds});
  }
  data_kernels(walk->entries.front().sum.device()).late_sums(calls);
  for (const auto& entry : walk->entries) {
    if (entry.adds) entry.sum.bump_version();
  }
  walk->entries.clear();
}

void LateSums::finish_if_late(const Tensor& t) {
  if (walk != nullptr && walk->holds(t)) finish();
}

}  // namespace fovea
