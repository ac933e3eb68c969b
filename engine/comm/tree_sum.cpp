// Sums over shards: within a process, then by parts of the vector over all processes.
#include "engine/comm/tree_sum.h"

#include <span>
#include <utility>

#include "engine/copy.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

/// The elements [begin, end) of a vector.
std::span<std::byte> bytes_of(const Tensor& vector, std::int64_t begin, std::int64_t end) {
  const std::size_t width = size_of(vector.dtype());
  return {vector.raw() + begin * width, (end - begin) * width};
}
std::span<std::byte> bytes_of(const Tensor& vector) { return bytes_of(vector, 0, vector.numel()); }

Tensor slice(const Tensor& vector, std::int64_t begin, std::int64_t end) {
  return vector.alias({end - begin}, {1}, begin);
}

/// The current stream may not be the one that the vector was allocated on.
void use_on_current_stream(const Tensor& vector) {
  const Device device = vector.device();
  if (device.is_cpu()) return;
  cuda::also_used_by(vector.storage().data(), cuda::Stream::current(device.index));
}

}  // namespace

void TreeSum::add(TreeNode node) {
  while (!pieces_.empty() && pieces_.back().level == node.level && node.index % 2 == 1) {
    Tensor left = std::move(pieces_.back().sum);
    pieces_.pop_back();
    if (left.defined()) add_into(left, node.sum);
    node = {node.level + 1, node.index / 2, std::move(left)};
  }
  pieces_.push_back(std::move(node));
}

std::vector<TreeNode> pieces_of(const Shards& shards) {
  TreeSum places;
  for (std::int64_t shard = shards.first; shard < shards.end; ++shard) places.add({0, shard, {}});
  return places.pieces();
}

Cuts even_cuts(std::int64_t length, int size) {
  Cuts cuts;
  for (int rank = 0; rank <= size; ++rank) cuts.push_back(part_begin(length, rank, size));
  return cuts;
}

Tensor reduce_scatter(Communicator& processes, const Shards& shards, const TreeSum& local,
                      const Cuts& cuts) {
  const int size = processes.size(), rank = processes.rank();
  const std::vector<TreeNode>& own = local.pieces();
  if (size == 1) return own.front().sum;
  for (const TreeNode& piece : own) use_on_current_stream(piece.sum);
  const std::int64_t length = cuts[rank + 1] - cuts[rank];

  std::vector<std::vector<TreeNode>> pieces;  // of each process, my part
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int other = 0; other < size; ++other) {
    pieces.push_back(pieces_of(shards_of(shards.count, other, size)));
    for (TreeNode& piece : pieces.back()) {
      piece.sum = empty({length}, own.front().sum.options());
      if (other != rank) in.push_back({other, bytes_of(piece.sum)});
    }
    if (other == rank) continue;
    for (const TreeNode& piece : own) {
      out.push_back({other, bytes_of(piece.sum, cuts[other], cuts[other + 1])});
    }
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    copy_into(pieces[rank][i].sum, slice(own[i].sum, cuts[rank], cuts[rank + 1]));
  }
  processes.exchange_on_device(out, in, own.front().sum.device());

  TreeSum whole;
  for (std::vector<TreeNode>& of_process : pieces) {
    for (TreeNode& piece : of_process) whole.add(std::move(piece));
  }
  return whole.pieces().front().sum;
}

void all_gather(Communicator& processes, const Tensor& vector, const Cuts& cuts) {
  use_on_current_stream(vector);
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  const auto part = [&](int rank) { return bytes_of(vector, cuts[rank], cuts[rank + 1]); };
  for (int other = 0; other < processes.size(); ++other) {
    if (other == processes.rank()) continue;
    out.push_back({other, part(processes.rank())});
    in.push_back({other, part(other)});
  }
  processes.exchange_on_device(out, in, vector.device());
}

Tensor sum_over_shards(Communicator& processes, const Shards& shards, const TreeSum& local) {
  if (processes.size() == 1) return local.pieces().front().sum;
  const std::int64_t length = local.pieces().front().sum.numel();
  const Cuts cuts = even_cuts(length, processes.size());
  const Tensor part = reduce_scatter(processes, shards, local, cuts);
  const Tensor sum = empty({length}, part.options());
  const int rank = processes.rank();
  copy_into(slice(sum, cuts[rank], cuts[rank + 1]), part);
  all_gather(processes, sum, cuts);
  return sum;
}

}  // namespace fovea
