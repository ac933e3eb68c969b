// Parts of parameters and what is sent of them.
#include "train/loop/portions.h"

#include <algorithm>
#include <vector>

#include "engine/autograd.h"
#include "engine/comm/tree_sum.h"
#include "engine/copy.h"
#include "ops/update.h"

namespace fovea {

Portion Portions::of(const Tensor& parameter) const {
  const Cuts cuts = buckets_.cuts_of(parameter);
  const auto rank = static_cast<std::size_t>(processes_.rank());
  return cuts.empty() ? whole(parameter) : Portion{cuts[rank], cuts[rank + 1]};
}

/// Sums of blocks, put into the order that one process has, so that their sum has the same bits.
Tensor Portions::squares(const ParameterStore& store) const {
  const NoGrad no_grad;
  const auto rank = static_cast<std::size_t>(processes_.rank());
  std::vector<Tensor> own;
  std::vector<Cuts> cuts;
  for (const Parameter& p : store.parameters()) {
    const Tensor gradient = p.tensor.grad();
    if (!gradient.defined()) continue;
    const Cuts& ends = cuts.emplace_back(buckets_.cuts_of(p.tensor));
    own.push_back(part_of(gradient, {ends[rank], ends[rank + 1]}));
  }
  const auto all = all_gather(processes_, ops::squares_by_block(own).to(Device{}).to_vector());
  std::vector<double> sums;
  std::vector<std::size_t> read(all.size());
  for (const Cuts& ends : cuts) {
    for (std::size_t owner = 0; owner < all.size(); ++owner) {
      const std::int64_t size = ends[owner + 1] - ends[owner];
      const auto blocks =
          static_cast<std::size_t>((size + ops::update_block() - 1) / ops::update_block());
      const double* const from = all[owner].data() + read[owner];
      sums.insert(sums.end(), from, from + blocks);
      read[owner] += blocks;
    }
  }
  const Device device = store.options().device;
  const auto count = static_cast<std::int64_t>(sums.size());
  return sum_to(from_values({count}, sums, {DType::f64, {}}).to(device), {});
}

Tensor Portions::gather(const Tensor& parameter, const Tensor& part) const {
  const Tensor full = empty({parameter.numel()}, {part.dtype(), {}});
  const Portion own = of(parameter);
  part_of(full, own).copy_(part.to(Device{}).detach().alias({own.size()}, {1}));
  all_gather(processes_, full, buckets_.cuts_of(parameter));
  return full.alias(parameter.shape(), contiguous_strides(parameter.shape()));
}

Portions::Tensors Portions::gather(const ParameterStore& store, const Tensors& parts,
                                   std::size_t prefix, bool everywhere) const {
  const NoGrad no_grad;
  Tensors all;
  for (const auto& [name, part] : parts) {
    const Tensor parameter = store.find(name.substr(prefix));
    const bool divided = !buckets_.cuts_of(parameter).empty();
    const Tensor full = divided ? gather(parameter, part) : part;
    if (everywhere || processes_.is_first()) all[name] = full;
  }
  return all;
}

}  // namespace fovea
