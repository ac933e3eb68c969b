// Sums over the shards of a step along a fixed binary tree.
//
// Addition of floating-point numbers is not associative. The tree alone decides the order: shards 0
// and 1 are added, 2 and 3, then these two sums, and so on. A process with a range of shards holds
// the sums of the largest subtrees in that range; the owner of a part of the vector receives them
// from all processes and adds them in the same order. The bits are the same for any number of
// processes.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/comm/communicator.h"
#include "engine/comm/shards.h"
#include "engine/tensor.h"

namespace fovea {

/// A node of the tree: the sum over the shards [index << level, (index + 1) << level).
struct TreeNode {
  int level = 0;
  std::int64_t index = 0;
  Tensor sum;
};

/// Sums of consecutive shards, or of subtrees, as far as they can be added.
class TreeSum {
 public:
  /// Adds the node after those before. Its tensor, f32 or f64 [n], is taken over.
  void add(TreeNode node);
  /// The roots of the largest subtrees, in order.
  [[nodiscard]] const std::vector<TreeNode>& pieces() const { return pieces_; }

 private:
  std::vector<TreeNode> pieces_;
};

/// The places (without sums) of the pieces of the shards [first, end).
[[nodiscard]] std::vector<TreeNode> pieces_of(const Shards& shards);

/// The parts of a vector by process: that of process r is [cuts[r], cuts[r + 1]).
using Cuts = std::vector<std::int64_t>;
/// Parts of equal size, as far as possible.
[[nodiscard]] Cuts even_cuts(std::int64_t length, int size);

/// This process's part of the sum over all shards. `local` has the process's own shards added, one
/// by one; their number over all processes is a power of two. Each process sends the parts of the
/// others of each of its pieces; with a power of two of processes it has one. The vectors may be on
/// a GPU, whose current stream does the work.
[[nodiscard]] Tensor reduce_scatter(Communicator& processes, const Shards& shards,
                                    const TreeSum& local, const Cuts& cuts);
/// Copies the part of each process of the contiguous vector to all others.
void all_gather(Communicator& processes, const Tensor& vector, const Cuts& cuts);
/// Both: the sum over all shards, in every process. Each process sends 2 (P - 1) / P of the vector
/// if the number of processes is a power of two.
[[nodiscard]] Tensor sum_over_shards(Communicator& processes, const Shards& shards,
                                     const TreeSum& local);

}  // namespace fovea
