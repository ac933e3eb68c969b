// Sums over shards: within a process, then by parts of the vector over all processes.
#include "comm/tree_sum.h"

#include <span>
#include <utility>

#include "base/error.h"
#include "engine/copy.h"
#include "engine/cuda/runtime.h"

namespace fovea {
namespace {

/// sum += term
void add_in_place(const Tensor& sum, const Tensor& term) {
  check(sum.dtype() == term.dtype() && sum.shape() == term.shape(),
        "tree sum: got vectors of different lengths or dtypes");
  add_into(sum, term);
}

/// The part of a vector that one process adds up.
struct Part {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

Part part_of(std::int64_t length, int rank, int size) {
  return {part_begin(length, rank, size), part_begin(length, rank + 1, size)};
}

Tensor take(const Tensor& vector, Part part) {
  return vector.alias({part.size()}, {1}, part.begin);
}

std::span<std::byte> bytes_of(const Tensor& vector, Part part) {
  const std::size_t width = size_of(vector.dtype());
  return {vector.raw() + part.begin * width, part.size() * width};
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
    if (left.defined()) add_in_place(left, node.sum);
    node = {node.level + 1, node.index / 2, std::move(left)};
  }
  pieces_.push_back(std::move(node));
}

std::vector<TreeNode> pieces_of(const Shards& shards) {
  TreeSum places;
  for (std::int64_t shard = shards.first; shard < shards.end; ++shard) places.add({0, shard, {}});
  return places.pieces();
}

Tensor sum_over_shards(Communicator& processes, const Shards& shards, const TreeSum& local) {
  const int size = processes.size(), rank = processes.rank();
  const std::vector<TreeNode>& own = local.pieces();
  if (size == 1) return own.front().sum;
  for (const TreeNode& piece : own) use_on_current_stream(piece.sum);
  const std::int64_t length = own.front().sum.numel();
  const Device device = own.front().sum.device();
  const Part mine = part_of(length, rank, size);

  std::vector<std::vector<TreeNode>> pieces;  // of each process, my part
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  for (int other = 0; other < size; ++other) {
    pieces.push_back(pieces_of(shards_of(shards.count, other, size)));
    for (TreeNode& piece : pieces.back()) {
      piece.sum = empty({mine.size()}, own.front().sum.options());
      if (other != rank) in.push_back({other, bytes_of(piece.sum, {0, mine.size()})});
    }
    if (other == rank) continue;
    for (const TreeNode& piece : own) {
      out.push_back({other, bytes_of(piece.sum, part_of(length, other, size))});
    }
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    copy_into(pieces[rank][i].sum, take(own[i].sum, mine));
  }
  processes.exchange_on_device(out, in, device);

  TreeSum whole;
  for (std::vector<TreeNode>& of_process : pieces) {
    for (TreeNode& piece : of_process) whole.add(std::move(piece));
  }
  const Tensor& sum = whole.pieces().front().sum;
  Tensor result = empty({length}, sum.options());
  out.clear();
  in.clear();
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    out.push_back({other, bytes_of(sum, {0, mine.size()})});
    in.push_back({other, bytes_of(result, part_of(length, other, size))});
  }
  copy_into(take(result, mine), sum);
  processes.exchange_on_device(out, in, device);
  return result;
}

}  // namespace fovea
