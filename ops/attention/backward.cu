// The derivative of attention on CUDA. With p the probabilities, rebuilt from the statistics,
//   dp = dy v^T,  ds = p (dp - sum(dy out)),  dq = scale ds k,  dk = scale ds^T q,  dv = p^T dy,
// and the bias gradient is ds. Each result has its own pass, so that every sum has one owner.
#include "engine/storage.h"
#include "ops/attention/cuda.h"
#include "ops/attention/tile.cuh"

namespace fovea::ops::cuda {

namespace math = fovea::ops::detail::math;

/// One image and head of the call; `delta` [B, H, N] is sum(dy out) of each query.
template <class T>
struct HeadGrad {
  using A = acc_t<T>;
  const AttentionCall& c;
  std::int64_t image, head;
  TurnedRows<T> q, k;
  HeadRows<T> v, dy;
  const A *maximum, *scale, *delta;

  __device__ HeadGrad(const AttentionGradCall& g, const A* deltas, std::int64_t i, std::int64_t h)
      : c(g.forward),
        image(i),
        head(h),
        q(c.rotation, c.q, i, h, c.queries, c.width),
        k(c.rotation, c.k, i, h, c.keys, c.width),
        v(c.v, i, h, c.keys, c.value_width),
        dy(g.dy, i, h, c.queries, c.value_width) {
    const std::int64_t first = (i * c.heads + h) * c.queries;
    maximum = static_cast<const A*>(c.statistics) + first;
    scale = maximum + c.batch * c.heads * c.queries;
    delta = deltas + first;
  }

  /// p and ds of a tile. The warp's own rows are keys and its lanes queries, or the reverse.
  template <bool OwnKeys>
  __device__ void differentiate(const Tiles<A>& tiles, std::int64_t first_query,
                                std::int64_t first_key, A (&p)[kOwn], A (&ds)[kOwn]) const {
    A scores[kOwn] = {}, dp[kOwn] = {};
    if (OwnKeys) {
      tiles.multiply(scores, k, first_key, q, first_query);
      tiles.multiply(dp, v, first_key, dy, first_query);
    } else {
      tiles.multiply(scores, q, first_query, k, first_key);
      tiles.multiply(dp, dy, first_query, v, first_key);
    }
    for (int r = 0; r < kOwn; ++r) {
      const int own = tiles.warp * kOwn + r;
      const std::int64_t query = first_query + (OwnKeys ? tiles.lane : own);
      const std::int64_t key = first_key + (OwnKeys ? own : tiles.lane);
      p[r] = ds[r] = 0;
      if (query >= c.queries || key >= c.keys) continue;
      const A score = scores[r] * static_cast<A>(c.scale) + bias_at<A>(c, image, head, query, key);
      p[r] = math::exp(score - maximum[query]) * scale[query];
      ds[r] = p[r] * (dp[r] - delta[query]);
    }
  }
};

/// Computes delta, one thread per query. Columns are added in the same order as in dp: with a
/// single key, out equals v, and ds is exactly zero.
template <class T>
__global__ void attention_delta_kernel(AttentionGradCall g, acc_t<T>* delta) {
  using A = acc_t<T>;
  const AttentionCall& c = g.forward;
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRowBlock + threadIdx.x;
  if (row >= c.batch * c.heads * c.queries) return;
  const std::int64_t pair = row / c.queries, query = row % c.queries;
  const std::int64_t image = pair / c.heads, head = pair % c.heads;
  const HeadRows<T> out(c.out, image, head, c.queries, c.value_width);
  const HeadRows<T> dy(g.dy, image, head, c.queries, c.value_width);
  A sum = 0;
  for (std::int64_t j = 0; j < c.value_width; ++j) sum += dy.at(query, j) * out.at(query, j);
  delta[row] = sum;
}

template <class A>
__device__ void fill(A (&values)[kOwn], A value) {
  for (int r = 0; r < kOwn; ++r) values[r] = value;
}

template <class T>
__global__ void attention_dq_kernel(AttentionGradCall g, const acc_t<T>* delta) {
  using A = acc_t<T>;
  const AttentionCall& c = g.forward;
  const BlockOfTile at(c, c.queries);
  const HeadGrad<T> grad(g, delta, at.image, at.head);
  const Tiles<A> tiles;
  A sums[kOwn][2] = {}, p[kOwn], ds[kOwn];
  for (std::int64_t first = 0; first < c.keys; first += kTile) {
    grad.template differentiate<false>(tiles, at.first, first, p, ds);
    tiles.weigh(sums, ds, grad.k, first, at.column);
  }
  A scale[kOwn];
  fill(scale, static_cast<A>(c.scale));
  const HeadRows<T> dq(g.dq, at.image, at.head, c.queries, c.width);
  tiles.write(sums, scale, dq, at.first, at.column);
}

/// Computes dk and dv, each only if requested.
template <class T>
__global__ void attention_dkv_kernel(AttentionGradCall g, const acc_t<T>* delta) {
  using A = acc_t<T>;
  const AttentionCall& c = g.forward;
  const BlockOfTile at(c, c.keys);
  const HeadGrad<T> grad(g, delta, at.image, at.head);
  const Tiles<A> tiles;
  A sums_k[kOwn][2] = {}, sums_v[kOwn][2] = {}, p[kOwn], ds[kOwn];
  for (std::int64_t first = 0; first < c.queries; first += kTile) {
    grad.template differentiate<true>(tiles, first, at.first, p, ds);
    if (g.dk.data != nullptr) tiles.weigh(sums_k, ds, grad.q, first, at.column);
    if (g.dv.data != nullptr) tiles.weigh(sums_v, p, grad.dy, first, at.column);
  }
  A scale[kOwn];
  if (g.dk.data != nullptr) {
    fill(scale, static_cast<A>(c.scale));
    const HeadRows<T> dk(g.dk, at.image, at.head, c.keys, c.width);
    tiles.write(sums_k, scale, dk, at.first, at.column);
  }
  if (g.dv.data != nullptr) {
    fill(scale, A(1));
    const HeadRows<T> dv(g.dv, at.image, at.head, c.keys, c.value_width);
    tiles.write(sums_v, scale, dv, at.first, at.column);
  }
}

/// The tiles along one axis of the bias that a block processes: one, or all where the bias is
/// repeated.
struct TileRun {
  std::int64_t first, end;

  __device__ TileRun(bool repeated, std::int64_t own, std::int64_t size)
      : first(repeated ? 0 : own * kTile), end(repeated ? size : first + 1) {}
};

/// The sum of ds over the heads of a group and, where the bias is repeated, over queries or keys.
/// Grid: x covers tiles of queries per slice and group, y covers tiles of keys.
template <class T>
__global__ void attention_dbias_kernel(AttentionGradCall g, const acc_t<T>* delta,
                                       std::int64_t query_tiles) {
  using A = acc_t<T>;
  const AttentionCall& c = g.forward;
  const bool repeats_queries = g.dbias.row == 0, repeats_keys = g.dbias.column == 0;
  const std::int64_t sum_index = blockIdx.x / query_tiles, slice = sum_index / g.groups;
  const std::int64_t heads = c.heads / g.share_heads;  // heads of the bias
  const std::int64_t shared = g.share_batch * g.share_heads;
  const std::int64_t first_head = sum_index % g.groups * shared / g.groups;
  const std::int64_t end_head = (sum_index % g.groups + 1) * shared / g.groups;
  const TileRun queries(repeats_queries, blockIdx.x % query_tiles, c.queries);
  const TileRun keys(repeats_keys, blockIdx.y, c.keys);
  const Tiles<A> tiles;
  A sums[kOwn] = {}, p[kOwn], ds[kOwn];
  for (std::int64_t i = first_head; i < end_head; ++i) {
    const HeadGrad<T> grad(g, delta, slice / heads * g.share_batch + i / g.share_heads,
                           slice % heads * g.share_heads + i % g.share_heads);
    for (std::int64_t query = queries.first; query < queries.end; query += kTile) {
      for (std::int64_t key = keys.first; key < keys.end; key += kTile) {
        grad.template differentiate<false>(tiles, query, key, p, ds);
        for (int r = 0; r < kOwn; ++r) sums[r] += ds[r];
      }
    }
  }
  A* const to = static_cast<A*>(g.dbias.data) + sum_index * g.dbias_size;
  if (repeats_keys) {
    for (int r = 0; r < kOwn; ++r) sums[r] = warp_reduce(sums[r], SumOf{});
  }
  if (!repeats_queries) {
    for (int r = 0; r < kOwn; ++r) {
      const std::int64_t query = queries.first + tiles.warp * kOwn + r;
      const std::int64_t key = repeats_keys ? 0 : keys.first + tiles.lane;
      const bool writes = query < c.queries && (repeats_keys ? tiles.lane == 0 : key < c.keys);
      if (writes) to[query * g.dbias.row + key * g.dbias.column] = sums[r];
    }
    return;
  }
  A total = 0;  // over the warp's queries, then over all warps
  for (int r = 0; r < kOwn; ++r) total += sums[r];
  tiles.weights[tiles.warp * kWarp + tiles.lane] = total;
  __syncthreads();
  if (tiles.warp > 0) return;
  total = 0;
  for (unsigned w = 0; w < kRowWarps; ++w) total += tiles.weights[w * kWarp + tiles.lane];
  const std::int64_t key = repeats_keys ? 0 : keys.first + tiles.lane;
  if (repeats_keys ? tiles.lane == 0 : key < c.keys) to[key * g.dbias.column] = total;
}

/// Turns the gradient of q or k back, in place.
void turn_back(const AttentionCall& c, const AttentionView& gradient, std::int64_t tokens) {
  if (c.rotation.cosines == nullptr || gradient.data == nullptr) return;
  rotate({.dtype = c.dtype,
          .batch = c.batch,
          .heads = c.heads,
          .tokens = tokens,
          .rotation = c.rotation,
          .back = true,
          .x = gradient,
          .y = gradient});
}

/// Where its results are wanted, the part of the derivative with respect to q, k and v.
template <class T>
void run_plain(const AttentionGradCall& g, acc_t<T>* delta) {
  const AttentionCall& c = g.forward;
  const std::int64_t rows = c.batch * c.heads * c.queries;
  constexpr std::size_t kBytes = Tiles<acc_t<T>>::kBytes;
  if (rows > 0) {
    launch(current_stream(), attention_delta_kernel<T>,
           static_cast<unsigned>((rows + kRowBlock - 1) / kRowBlock), kRowBlock, 0, g, delta);
  }
  const dim3 of_queries = grid_of_tiles(c, c.queries, c.width);
  if (g.dq.data != nullptr && of_queries.x > 0) {
    launch(current_stream(), attention_dq_kernel<T>, of_queries, kRowBlock, kBytes, g, delta);
  }
  const std::int64_t columns = c.width > c.value_width ? c.width : c.value_width;
  const dim3 of_keys = grid_of_tiles(c, c.keys, columns);
  if ((g.dk.data != nullptr || g.dv.data != nullptr) && of_keys.x > 0) {
    launch(current_stream(), attention_dkv_kernel<T>, of_keys, kRowBlock, kBytes, g, delta);
  }
  turn_back(c, g.dq, c.queries);
  turn_back(c, g.dk, c.keys);
}

template <class T>
void run_plain_dbias(const AttentionGradCall& g, const acc_t<T>* delta) {
  const AttentionCall& c = g.forward;
  const std::int64_t slices = c.batch * c.heads / (g.share_batch * g.share_heads);
  const std::int64_t query_tiles = g.dbias.row == 0 ? 1 : (c.queries + kTile - 1) / kTile;
  const std::int64_t key_tiles = g.dbias.column == 0 ? 1 : (c.keys + kTile - 1) / kTile;
  const dim3 grid(static_cast<unsigned>(slices * g.groups * query_tiles),
                  static_cast<unsigned>(key_tiles));
  launch(current_stream(), attention_dbias_kernel<T>, grid, kRowBlock, Tiles<acc_t<T>>::kBytes, g,
         delta, query_tiles);
}

void attention_backward(const AttentionGradCall& g) {
  const AttentionCall& c = g.forward;
  const std::int64_t rows = c.batch * c.heads * c.queries;
  const Storage memory = fovea::cuda::temporary(rows, acc_dtype(c.dtype));
  const bool on_tensor_cores = rows > 0 && uses_tensor_cores(c);
  auto* const deltas = reinterpret_cast<float*>(memory.data());
  if (on_tensor_cores) {
    mma_attention_dq(g, deltas);
    if (g.dk.data != nullptr || g.dv.data != nullptr) mma_attention_dkv(g, deltas);
  } else {
    dispatch_float(c.dtype, [&](auto tag) {
      run_plain<decltype(tag)>(g, reinterpret_cast<acc_t<decltype(tag)>*>(memory.data()));
    });
  }
  if (g.dbias.data == nullptr || rows == 0 || c.keys == 0) return;
  const bool is_of_pairs = g.dbias.row != 0 && g.dbias.column != 0;
  if (on_tensor_cores && is_of_pairs) return mma_attention_dbias(g, deltas);
  dispatch_float(c.dtype, [&](auto tag) {
    run_plain_dbias<decltype(tag)>(g, reinterpret_cast<acc_t<decltype(tag)>*>(memory.data()));
  });
}

}  // namespace fovea::ops::cuda
