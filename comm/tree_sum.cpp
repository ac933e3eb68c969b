// Sums over shards: within a process, then by parts of the vector over all processes.
#include "comm/tree_sum.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/error.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

constexpr std::int64_t kGrain = 1 << 14;

template <class T>
void add_in_place(const Tensor& sum, const Tensor& term) {
  T* const to = sum.data<T>();
  const T* const from = term.data<T>();
  parallel_for(sum.numel(), kGrain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) to[i] += from[i];
  });
}

/// sum += term
void add_in_place(const Tensor& sum, const Tensor& term) {
  check(sum.dtype() == term.dtype() && sum.numel() == term.numel(),
        "tree sum: got vectors of different lengths or dtypes");
  sum.dtype() == DType::f64 ? add_in_place<double>(sum, term) : add_in_place<float>(sum, term);
}

/// The part of a vector that one process adds up.
struct Part {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t size() const { return end - begin; }
};

Part part_of(std::int64_t length, int rank, int size) {
  return {part_begin(length, rank, size), part_begin(length, rank + 1, size)};
}

std::span<std::byte> bytes_of(const Tensor& vector, Part part) {
  const std::size_t width = size_of(vector.dtype());
  return {vector.raw() + part.begin * width, part.size() * width};
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
  const std::int64_t length = own.front().sum.numel();
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
    const std::span<std::byte> from = bytes_of(own[i].sum, mine);
    std::copy(from.begin(), from.end(), bytes_of(pieces[rank][i].sum, {0, mine.size()}).begin());
  }
  processes.exchange(out, in);

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
  const std::span<std::byte> from = bytes_of(sum, {0, mine.size()});
  std::copy(from.begin(), from.end(), bytes_of(result, mine).begin());
  processes.exchange(out, in);
  return result;
}

}  // namespace fovea
