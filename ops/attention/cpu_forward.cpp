// Attention, forward: for each block of queries, one pass over the keys with a running maximum and
// sum (Milakov and Gimelshein, "Online normalizer calculation for softmax"; Dao et al.,
// FlashAttention). At most one tile of scores exists at a time.
#include "engine/parallel.h"
#include "ops/attention/cpu_factor.h"
#include "ops/attention/cpu_rows.h"
#include "ops/attention/cpu_turn.h"
#include "ops/common/math.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace attention {
namespace {

/// Sums are rescaled between tiles of keys, so this size affects the bits of the result. All other
/// tile sizes, here and in the derivative, affect speed only.
constexpr std::int64_t kKeyTile = 512;
template <class E>
constexpr std::int64_t kQueryTile = kInTiles<E> ? 32 : 18;
constexpr std::int64_t kQueryBlock = 1024;  // queries per task when there are enough heads
constexpr std::int64_t kSmallBlock = 72;    // queries per task when there are few heads
constexpr std::int64_t kManyHeads = 16;

/// The work of one task: the queries [begin, begin + count) of one head.
struct QueryBlock {
  std::int64_t batch, head, begin, count;
};

template <class T>
class Forward {
  using A = acc_t<T>;
  using E = FactorOf<T>;

 public:
  explicit Forward(const AttentionCall& call, std::int64_t block)
      : call_(call),
        keys_(call.keys, kKeyTile, kKeyUnit<E>),
        width_(padded<A>(steps<E>(call.width))),
        value_width_(padded<A>(call.value_width)) {
    const std::int64_t key_pitch = padded<A>(keys_.size);
    q_.pitch = k_.pitch = width_;
    v_.pitch = o_.pitch = value_width_;
    kt_.pitch = s_.pitch = key_pitch;
    p_.pitch = padded<A>(steps<E>(keys_.size));
    const ScratchArray pieces[] = {{&q_.data, block * width_},
                                   {&k_.data, keys_.size * width_},
                                   {&kt_.data, width_ * key_pitch},
                                   {&v_.data, keys_.size * value_width_},
                                   {&s_.data, kQueryTile<E> * key_pitch},
                                   {&p_.data, kPairs ? kQueryTile<E> * p_.pitch : 0},
                                   {&o_.data, block * value_width_},
                                   {&wide_, turns() && kPairs ? 2 * width_ : 0},
                                   {&top_, kQueryTile<E>},
                                   {&maximum_, block},
                                   {&sum_, block}};
    carve(pieces);
  }

  /// `next` is the block that this thread processes next, or null.
  void run(const QueryBlock& block, const QueryBlock* next) {
    next_ = keys_.count == 1 ? next : nullptr;  // more than one tile would not stay in the cache
    const Rows<const T> q = rows_of<const T>(call_.q, block.batch, block.head).from(block.begin);
    pack_rows<T, E>(q, {block.count, call_.width}, static_cast<A>(call_.scale), q_);
    turn_of(block).rows(q_, block.begin, block.count, wide_);
    for (std::int64_t i = 0; i < block.count; ++i) {
      maximum_[i] = kMinusInfinity<A>;
      sum_[i] = 0;
    }
    const Cut tiles(block.count, kQueryTile<E>, kQueryUnit<E>);
    for (std::int64_t key_tile = 0; key_tile < keys_.count; ++key_tile) {
      load_keys(block, key_tile);
      for (std::int64_t tile = 0; tile < tiles.count; ++tile)
        attend(block, key_tile, tiles.begin(tile), tiles.length(tile));
    }
    finish(block);
  }

 private:
  static constexpr bool kPairs = std::is_same_v<E, Bf16Pair>;

  bool turns() const { return call_.rotation.cosines != nullptr; }
  HeadTurn<A> turn_of(const QueryBlock& block) const {
    return {call_.rotation, block.batch, block.head};
  }

  void load_keys(const QueryBlock& block, std::int64_t tile) {
    const std::int64_t begin = keys_.begin(tile), count = keys_.length(tile);
    const Rows<const T> k = rows_of<const T>(call_.k, block.batch, block.head).from(begin);
    const Rows<const T> v = rows_of<const T>(call_.v, block.batch, block.head).from(begin);
    pack_rows<T, E>(k, {count, call_.width}, A(1), k_);
    turn_of(block).rows(k_, begin, count, wide_);
    transpose(k_, {count, steps<E>(call_.width)}, kt_);
    pack_depth<T, E>(v, {count, call_.value_width}, v_);
  }

  /// Computes the scores of `count` queries with the loaded keys, updates their softmax, and adds
  /// its product with v.
  void attend(const QueryBlock& block, std::int64_t key_tile, std::int64_t begin,
              std::int64_t count) {
    const std::int64_t keys = keys_.length(key_tile);
    multiply<E>({.rows = count,
                 .columns = keys,
                 .depth = steps<E>(call_.width),
                 .a = q_.row(begin),
                 .a_row = width_,
                 .b = kt_,
                 .c = s_,
                 .scale = kPairs ? static_cast<A>(call_.scale) : A(1)});
    // Two passes over the rows, so that no exponential waits for the maximum of its own row.
    const Rows<const A> bias =
        rows_of<const A>(call_.bias, block.batch, block.head).from(block.begin + begin);
    const A* tile_bias = bias.data;
    if (tile_bias != nullptr) tile_bias += keys_.begin(key_tile) * bias.column;
    for (std::int64_t i = 0; i < count; ++i) {
      if (key_tile == 0) prefetch(block, begin + i);
      top_[i] = bias_and_max_row(s_.row(i), tile_bias, bias.column, keys, maximum_[begin + i]);
      if (tile_bias != nullptr) tile_bias += bias.row;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const A shrink = fold(s_.row(i), keys, begin + i, top_[i]);
      if (key_tile == 0 || shrink == A(1)) continue;
      A* out = o_.row(begin + i);
      for (std::int64_t j = 0; j < value_width_; ++j) out[j] *= shrink;
    }
    const PitchedTile<E> p = as_rows(s_, {count, keys}, p_);
    multiply<E>({.rows = count,
                 .columns = call_.value_width,
                 .depth = steps<E>(keys),
                 .add = key_tile > 0,
                 .a = p.data,
                 .a_row = p.pitch,
                 .b = v_,
                 .c = {o_.row(begin), o_.pitch}});
  }

  /// Prefetches row i of this block's output and of the next block's inputs.
  [[gnu::always_inline]] void prefetch(const QueryBlock& block, std::int64_t i) {
    const Rows<const T> out = rows_of<const T>(call_.out, block.batch, block.head);
    prefetch_row<PrefetchKind::write>(out, block.begin + i, call_.value_width);
    if (next_ == nullptr || i >= next_->count) return;
    const Rows<const T> q = rows_of<const T>(call_.q, next_->batch, next_->head);
    prefetch_row<PrefetchKind::read>(q, next_->begin + i, call_.width);
    if (i >= call_.keys) return;
    prefetch_row<PrefetchKind::read>(rows_of<const T>(call_.k, next_->batch, next_->head), i,
                                     call_.width);
    prefetch_row<PrefetchKind::read>(rows_of<const T>(call_.v, next_->batch, next_->head), i,
                                     call_.value_width);
  }

  /// scores = exp(scores - maximum); updates the running maximum and sum. Returns the factor that
  /// rescales sums computed with the old maximum.
  A fold(A* scores, std::int64_t keys, std::int64_t query, A maximum) {
    const std::int64_t width = padded<A>(keys);
    for (std::int64_t j = keys; j < width; ++j) scores[j] = kMinusInfinity<A>;
    const A base = maximum == kMinusInfinity<A> ? A(0) : maximum;  // all masked so far
    const A shrink =
        maximum_[query] == kMinusInfinity<A> ? A(0) : detail::math::exp(maximum_[query] - base);
    sum_[query] = exp_and_sum_row<T>(scores, base, width) + sum_[query] * shrink;
    maximum_[query] = maximum;
    return shrink;
  }

  void finish(const QueryBlock& block) {
    const std::int64_t heads = call_.batch * call_.heads;
    const std::int64_t first =
        (block.batch * call_.heads + block.head) * call_.queries + block.begin;
    A* statistics = static_cast<A*>(call_.statistics);
    for (std::int64_t i = 0; i < block.count; ++i) {
      const bool masked = sum_[i] == A(0);  // fully masked, or there are no keys
      const A scale = masked ? A(0) : A(1) / sum_[i];
      A* out = o_.row(i);
      for (std::int64_t j = 0; j < value_width_; ++j) out[j] = masked ? A(0) : out[j] * scale;
      if (statistics == nullptr) continue;
      statistics[first + i] = maximum_[i] == kMinusInfinity<A> ? A(0) : maximum_[i];
      statistics[heads * call_.queries + first + i] = scale;
    }
    const Rows<T> out = rows_of<T>(call_.out, block.batch, block.head).from(block.begin);
    unpack<T, A>(o_, {block.count, call_.value_width}, A(1), out);
  }

  const AttentionCall& call_;
  Cut keys_;
  std::int64_t width_, value_width_;  // padded
  const QueryBlock* next_ = nullptr;
  PitchedTile<E> q_, k_, kt_, v_, p_;
  PitchedTile<A> s_, o_;
  A *maximum_ = nullptr, *sum_ = nullptr;  // running values of each query
  float* wide_ = nullptr;                  // a row of pairs as floats
  A* top_ = nullptr;                       // maximum of each row of a score tile
};

template <class T>
void forward_of(const AttentionCall& call) {
  const std::int64_t heads = call.batch * call.heads;
  using E = FactorOf<T>;
  const Cut blocks(call.queries, heads >= kManyHeads ? kQueryBlock : kSmallBlock, kQueryTile<E>);
  const std::int64_t tasks = heads * blocks.count;
  const auto block_of = [&](std::int64_t task) -> QueryBlock {
    const std::int64_t head = task / blocks.count, block = task % blocks.count;
    return {head / call.heads, head % call.heads, blocks.begin(block), blocks.length(block)};
  };
  parallel_for(tasks, ceil_div(tasks, kMaxChunks), [&](std::int64_t begin, std::int64_t end) {
    [[maybe_unused]] const Session<E> session;
    Forward<T> kernel(call, blocks.size);
    for (std::int64_t task = begin; task < end; ++task) {
      const QueryBlock next = block_of(task + 1);
      kernel.run(block_of(task), task + 1 < end ? &next : nullptr);
    }
  });
}

}  // namespace

void forward(const AttentionCall& call) {
  dispatch_float(call.dtype, [&](auto tag) { forward_of<decltype(tag)>(call); });
}

}  // namespace attention

extern const AttentionKernels attention_kernels{
    attention::forward,       attention::backward,     attention::rotate,
    attention::rotation_grad, attention::rotary_table, attention::rotary_table_grad};

}  // namespace fovea::ops::cpu::FOVEA_ISA
