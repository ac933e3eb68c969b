// Attention, backward. With P = softmax(S), rebuilt tile by tile from the row statistics:
//   dV = P^T dO,  dP = dO V^T,  dS = P (dP - sum dO O),  dQ = scale dS K,  dK = scale dS^T Q.
#include "engine/parallel.h"
#include "ops/attention/cpu_factor.h"
#include "ops/attention/cpu_rows.h"
#include "ops/attention/cpu_turn.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {
namespace {

constexpr std::int64_t kBackwardKeys = 256;
constexpr std::int64_t kBackwardQueries = 72;

struct Head {
  std::int64_t batch, head;
};

/// The queries or keys of one tile.
struct Span {
  std::int64_t begin, count;
};

template <class T>
class Backward {
  using A = acc_t<T>;
  using E = FactorOf<T>;

 public:
  explicit Backward(const AttentionGradCall& call)
      : grad_(call),
        call_(call.forward),
        queries_(call_.queries, kBackwardQueries, kQueryUnit<E>),
        keys_(call_.keys, kBackwardKeys, kKeyUnit<E>) {
    const std::int64_t width = padded<A>(call_.width), value_width = padded<A>(call_.value_width);
    const std::int64_t key_pitch = padded<A>(keys_.size), query_pitch = padded<A>(queries_.size);
    q_.depth.pitch = k_.depth.pitch = dq_.pitch = dk_.pitch = width;
    dy_.depth.pitch = dv_.pitch = value_width;
    q_.rows.pitch = k_.rows.pitch = padded<A>(steps<E>(call_.width));
    v_.pitch = dy_.rows.pitch = out_.pitch = padded<A>(steps<E>(call_.value_width));
    dyt_.pitch = outt_.pitch = query_pitch;
    kt_.pitch = vt_.pitch = p_.pitch = ds_.pitch = key_pitch;
    pd_.pitch = dsd_.pitch = key_pitch;
    dsr_.pitch = padded<A>(steps<E>(keys_.size));
    turned_.pitch = padded<A>(steps<E>(queries_.size));
    const std::int64_t queries = queries_.size, keys = keys_.size;
    const std::int64_t query_steps = kPairs ? steps<E>(queries) : 0;  // of tiles for pairs alone
    const std::int64_t key_steps = kPairs ? steps<E>(keys) : 0;
    const ScratchArray pieces[] = {{&q_.rows.data, queries * q_.rows.pitch},
                                   {&q_.depth.data, query_steps * width},
                                   {&k_.rows.data, keys * k_.rows.pitch},
                                   {&k_.depth.data, key_steps * width},
                                   {&dy_.rows.data, queries * dy_.rows.pitch},
                                   {&dy_.depth.data, query_steps * value_width},
                                   {&out_.data, queries * out_.pitch},
                                   {&v_.data, keys * v_.pitch},
                                   {&dyt_.data, dy_.rows.pitch * query_pitch},
                                   {&outt_.data, out_.pitch * query_pitch},
                                   {&kt_.data, k_.rows.pitch * key_pitch},
                                   {&vt_.data, v_.pitch * key_pitch},
                                   {&p_.data, queries * key_pitch},
                                   {&ds_.data, queries * key_pitch},
                                   {&pd_.data, query_steps * key_pitch},
                                   {&dsd_.data, query_steps * key_pitch},
                                   {&dsr_.data, kPairs ? queries * dsr_.pitch : 0},
                                   {&turned_.data, kInTiles<E> ? keys * turned_.pitch : 0},
                                   {&dk_.data, keys * width},
                                   {&dv_.data, keys * value_width},
                                   {&dq_.data, queries_.count * queries * width},
                                   {&wide_, kPairs ? 2 * q_.rows.pitch : 0},
                                   {&delta_, call_.queries + query_pitch}};
    carve(pieces);
  }

  /// Computes all gradients of one head; dbias is added to the sum at `dbias`. `next` is the head
  /// that this thread processes next, or null.
  void run(const Head& head, A* dbias, const Head* next) {
    head_ = head;
    next_ = keys_.count == 1 ? next : nullptr;  // more than one tile would not stay in the cache
    dbias_ = dbias;
    for (std::int64_t j = 0; j < keys_.count; ++j) {
      const Span keys{keys_.begin(j), keys_.length(j)};
      load_keys(keys);
      for (std::int64_t i = 0; i < queries_.count; ++i)
        differentiate({queries_.begin(i), queries_.length(i)}, keys);
      turn().back(dk_, keys.begin, keys.count);
      write(dk_, keys, call_.width, grad_.dk, scale_after_);
      write(dv_, keys, call_.value_width, grad_.dv, A(1));
    }
    if (keys_.count == 0) clear(dq_, call_.queries);
    turn().back(dq_, 0, call_.queries);
    write(dq_, {0, call_.queries}, call_.width, grad_.dq, static_cast<A>(call_.scale));
  }

 private:
  static constexpr bool kPairs = std::is_same_v<E, Bf16Pair>;

  /// The rotation of the head's queries and keys.
  HeadTurn<A> turn() const { return {call_.rotation, head_.batch, head_.head}; }

  template <class U>
  Rows<U> rows(const AttentionView& view, std::int64_t begin) const {
    return rows_of<U>(view, head_.batch, head_.head).from(begin);
  }

  static void clear(PitchedTile<A> tile, std::int64_t count) {
    for (std::int64_t i = 0; i < count * tile.pitch; ++i) tile.data[i] = 0;
  }

  void write(PitchedTile<A> tile, Span span, std::int64_t columns, const AttentionView& view,
             A scale) {
    if (view.data == nullptr) return;
    unpack<T, A>(tile, {span.count, columns}, scale, rows<T>(view, span.begin));
  }

  /// delta_n = sum_e dO O = sum_m dP P, added in the same order as the GEMM adds dP: where one p
  /// is 1 and O equals its row of V, dP - delta is exactly 0. dy_ contains dO.
  void compute_delta(Span queries, Extent size) {
    pack_rows<T, E>(rows<const T>(call_.out, queries.begin), size, A(1), out_);
    const Extent packed{size.rows, steps<E>(size.columns)};
    transpose(out_, packed, outt_);
    if constexpr (kInTiles<E>) {
      take_diagonal(queries, packed.columns);
    } else {
      transpose(dy_.rows, packed, dyt_);
      add_columns(queries, packed.columns);
    }
  }

  /// delta is the sum over the rows of dyt_ outt_.
  void add_columns(Span queries, std::int64_t depth) {
    using V = Vector<A>;
    [[maybe_unused]] const Arithmetic<E> arithmetic;
    for (std::int64_t i = 0; i < queries.count; i += kLanes<A>) {
      V sum{};
      for (std::int64_t s = 0; s < depth; ++s)
        sum = add_product(sum, load_words(dyt_.row(s) + i), load_words(outt_.row(s) + i));
      store(delta_ + queries.begin + i, sum);  // the next tile overwrites the tail
    }
  }

  /// delta is the diagonal of dO O^T.
  void take_diagonal(Span queries, std::int64_t depth) {
    alignas(64) A products[kTileSide * kTileSide];
    for (std::int64_t i = 0; i < queries.count; i += kTileSide) {
      multiply<E>({.rows = kTileSide,
                   .columns = kTileSide,
                   .depth = depth,
                   .a = dy_.rows.row(i),
                   .a_row = dy_.rows.pitch,
                   .b = {outt_.data + i, outt_.pitch},
                   .c = {products, kTileSide}});
      for (std::int64_t j = 0; j < kTileSide; ++j)
        delta_[queries.begin + i + j] = products[j * (kTileSide + 1)];
    }
  }

  void load_keys(Span keys) {
    const Extent k_size{keys.count, call_.width}, v_size{keys.count, call_.value_width};
    k_.pack(rows<const T>(call_.k, keys.begin), k_size, A(1),
            [&](PitchedTile<E> packed) { turn().rows(packed, keys.begin, keys.count, wide_); });
    pack_rows<T, E>(rows<const T>(call_.v, keys.begin), v_size, A(1), v_);
    transpose(k_.rows, {keys.count, steps<E>(call_.width)}, kt_);
    transpose(v_, {keys.count, steps<E>(call_.value_width)}, vt_);
    if (queries_.count == 0) {
      clear(dk_, keys.count);
      clear(dv_, keys.count);
    }
  }

  /// Adds the contribution of the pairs queries x keys to every gradient.
  void differentiate(Span queries, Span keys) {
    const Extent q_size{queries.count, call_.width}, dy_size{queries.count, call_.value_width};
    q_.pack(
        rows<const T>(call_.q, queries.begin), q_size, scale_before_,
        [&](PitchedTile<E> packed) { turn().rows(packed, queries.begin, queries.count, wide_); });
    dy_.pack(rows<const T>(grad_.dy, queries.begin), dy_size, A(1));
    if (keys.begin == 0) compute_delta(queries, dy_size);
    compute_scores(queries, keys);
    differentiate_softmax(queries, keys);
    const bool later_queries = queries.begin > 0, later_keys = keys.begin > 0;
    const Extent size{queries.count, keys.count};
    if (grad_.dv.data != nullptr) {
      const LeftFactor<E> p = as_transposed(p_, size, pd_, turned_);
      multiply<E>({.rows = keys.count,
                   .columns = call_.value_width,
                   .depth = steps<E>(queries.count),
                   .add = later_queries,
                   .a = p.data,
                   .a_row = p.row,
                   .a_column = p.column,
                   .b = dy_.depth,
                   .c = dv_});
    }
    if (grad_.dk.data != nullptr) {
      const LeftFactor<E> ds = as_transposed(ds_, size, dsd_, turned_);
      multiply<E>({.rows = keys.count,
                   .columns = call_.width,
                   .depth = steps<E>(queries.count),
                   .add = later_queries,
                   .a = ds.data,
                   .a_row = ds.row,
                   .a_column = ds.column,
                   .b = q_.depth,
                   .c = dk_});
    }
    if (grad_.dq.data != nullptr) {
      const PitchedTile<E> ds = as_rows(ds_, size, dsr_);
      multiply<E>({.rows = queries.count,
                   .columns = call_.width,
                   .depth = steps<E>(keys.count),
                   .add = later_keys,
                   .a = ds.data,
                   .a_row = ds.pitch,
                   .b = k_.depth,
                   .c = {dq_.row(queries.begin), dq_.pitch}});
    }
  }

  /// Scores q k^T with their bias, in p_, and gradients dO v^T of the probabilities, in ds_.
  void compute_scores(Span queries, Span keys) {
    multiply<E>({.rows = queries.count,
                 .columns = keys.count,
                 .depth = steps<E>(call_.width),
                 .a = q_.rows.data,
                 .a_row = q_.rows.pitch,
                 .b = kt_,
                 .c = p_,
                 .scale = scale_after_});
    multiply<E>({.rows = queries.count,
                 .columns = keys.count,
                 .depth = steps<E>(call_.value_width),
                 .a = dy_.rows.data,
                 .a_row = dy_.rows.pitch,
                 .b = vt_,
                 .c = ds_});
    const Rows<const A> bias = rows_of<const A>(call_.bias, head_.batch, head_.head);
    if (bias.data == nullptr) return;
    for (std::int64_t i = 0; i < queries.count; ++i) {
      const A* row = bias.from(queries.begin + i).data + keys.begin * bias.column;
      add_bias(p_.row(i), row, bias.column, keys.count);
    }
  }

  /// Prefetches row i of this head's outputs and of the next head's inputs.
  [[gnu::always_inline]] void prefetch(std::int64_t i) {
    if (i < call_.keys) {
      prefetch_row<PrefetchKind::write>(rows_of<const T>(grad_.dk, head_.batch, head_.head), i,
                                        call_.width);
      prefetch_row<PrefetchKind::write>(rows_of<const T>(grad_.dv, head_.batch, head_.head), i,
                                        call_.value_width);
    }
    prefetch_row<PrefetchKind::write>(rows_of<const T>(grad_.dq, head_.batch, head_.head), i,
                                      call_.width);
    if (next_ == nullptr) return;
    if (i < call_.keys) {
      prefetch_row<PrefetchKind::read>(rows_of<const T>(call_.k, next_->batch, next_->head), i,
                                       call_.width);
      prefetch_row<PrefetchKind::read>(rows_of<const T>(call_.v, next_->batch, next_->head), i,
                                       call_.value_width);
    }
    prefetch_row<PrefetchKind::read>(rows_of<const T>(call_.q, next_->batch, next_->head), i,
                                     call_.width);
    prefetch_row<PrefetchKind::read>(rows_of<const T>(call_.out, next_->batch, next_->head), i,
                                     call_.value_width);
    prefetch_row<PrefetchKind::read>(rows_of<const T>(grad_.dy, next_->batch, next_->head), i,
                                     call_.value_width);
  }

  /// Scores become probabilities, and the gradients of these those of the scores, which are also
  /// added to the bias gradient.
  void differentiate_softmax(Span queries, Span keys) {
    const std::int64_t heads = call_.batch * call_.heads;
    const A* maximum = static_cast<const A*>(call_.statistics) +
                       (head_.batch * call_.heads + head_.head) * call_.queries + queries.begin;
    const A* inverse_sum = maximum + heads * call_.queries;
    const std::int64_t width = padded<A>(keys.count);
    for (std::int64_t i = 0; i < queries.count; ++i) {
      if (keys.begin == 0) prefetch(queries.begin + i);
      A *p = p_.row(i), *ds = ds_.row(i);
      for (std::int64_t j = keys.count; j < width; ++j) p[j] = kMinusInfinity<A>;
      differentiate_row<T>(
          p, ds, RowStatistics<A>{maximum[i], inverse_sum[i], delta_[queries.begin + i]}, width);
      if (dbias_ == nullptr) continue;
      A* sum = dbias_ + (queries.begin + i) * grad_.dbias.row + keys.begin * grad_.dbias.column;
      if (grad_.dbias.column == 1) {
        for (std::int64_t j = 0; j < keys.count; ++j) sum[j] += ds[j];
      } else {
        for (std::int64_t j = 0; j < keys.count; ++j) *sum += ds[j];  // repeated along the keys
      }
    }
  }

  const AttentionGradCall& grad_;
  const AttentionCall& call_;
  Cut queries_, keys_;
  // Pairs of bf16 take no scale: it is applied to their products.
  A scale_before_ = kPairs ? A(1) : static_cast<A>(call_.scale);  ///< of q before products
  A scale_after_ = kPairs ? static_cast<A>(call_.scale) : A(1);   ///< of products with q
  Factor<E> q_, k_, dy_;
  PitchedTile<E> v_, out_, kt_, vt_, dyt_, outt_;
  PitchedTile<E> pd_, dsd_, dsr_;  // p and ds as factors: by depth, by depth, by rows
  PitchedTile<E> turned_;          // one of the first two in tiles: by rows
  PitchedTile<A> p_, ds_, dq_, dk_, dv_;
  float* wide_ = nullptr;  // a row of pairs as floats
  A* delta_ = nullptr;
  Head head_{};
  const Head* next_ = nullptr;
  A* dbias_ = nullptr;
};

template <class T>
void backward_of(const AttentionGradCall& call) {
  using A = acc_t<T>;
  const std::int64_t shared = call.share_batch * call.share_heads;
  const std::int64_t slices = call.forward.batch * call.forward.heads / shared;
  const std::int64_t slice_heads = call.forward.heads / call.share_heads;
  const std::int64_t run = ceil_div(shared, call.groups);
  // Heads are ordered by slice, within a slice by image: task t processes the heads from
  // first_of(t) to first_of(t + 1).
  const auto first_of = [&](std::int64_t task) {
    return task / call.groups * shared + smaller(shared, task % call.groups * run);
  };
  const auto head_at = [&](std::int64_t place) -> Head {
    const std::int64_t slice = place / shared, i = place % shared;
    return {slice / slice_heads * call.share_batch + i / call.share_heads,
            slice % slice_heads * call.share_heads + i % call.share_heads};
  };
  const std::int64_t tasks = slices * call.groups;
  parallel_for(tasks, ceil_div(tasks, kMaxChunks), [&](std::int64_t begin, std::int64_t end) {
    [[maybe_unused]] const Session<FactorOf<T>> session;
    Backward<T> kernel(call);
    for (std::int64_t task = begin; task < end; ++task) {
      A* dbias = static_cast<A*>(call.dbias.data);
      if (dbias != nullptr) dbias += task * call.dbias_size;
      for (std::int64_t place = first_of(task); place < first_of(task + 1); ++place) {
        const Head next = head_at(place + 1);
        kernel.run(head_at(place), dbias, place + 1 < first_of(end) ? &next : nullptr);
      }
    }
  });
}

}  // namespace

void backward(const AttentionGradCall& call) {
  dispatch_float(call.forward.dtype, [&](auto tag) { backward_of<decltype(tag)>(call); });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
