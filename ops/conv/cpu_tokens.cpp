// Depthwise convolution on tokens. The channels of a token are adjacent, so every tap is a
// multiply-add of whole vectors and the edges cost nothing.
#include "engine/parallel.h"
#include "ops/common/cpu/lanes.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/run_sum.h"
#include "ops/conv/cpu.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

/// The taps [begin, end) of the kernel that fall on the grid at one output position of an axis.
struct TapRange {
  std::int64_t begin, end, first;  // `first` is the input position of `begin`

  TapRange(const DepthwiseTokensCall& c, int axis, std::int64_t position) {
    const std::int64_t start = position - c.padding[axis];
    begin = start < 0 ? -start : 0;
    end = c.in[axis] - start < c.kernel[axis] ? c.in[axis] - start : c.kernel[axis];
    first = start + begin;
  }
};

constexpr int kTogether = 4;  // tokens of a row that share one load of the weights

/// kCount adjacent outputs of a row for which the same taps fall on the grid.
template <int kCount, class T>
[[gnu::flatten]] void tokens(const DepthwiseTokensCall& c, const TapRange& rows,
                             const TapRange& columns, const T* image, T* y) {
  using A = acc_t<T>;
  const std::int64_t width = c.channels;
  const A* const weight = static_cast<const A*>(c.weight);
  const A* const bias = static_cast<const A*>(c.bias);
  for_lanes<A>(width, [&](auto at, std::int64_t i) {
    typename decltype(at)::Value sum[kCount] = {};
    for (int t = 0; bias != nullptr && t < kCount; ++t) sum[t] = at.load(bias + i);
    for (std::int64_t a = rows.begin; a < rows.end; ++a) {
      const std::int64_t row = (rows.first + a - rows.begin) * c.in[1] + columns.first;
      const T* x = image + row * width + i;
      const A* w = weight + (a * c.kernel[1] + columns.begin) * width + i;
      for (std::int64_t b = columns.begin; b < columns.end; ++b, x += width, w += width) {
        const auto factor = at.load(w);
        for (int t = 0; t < kCount; ++t) sum[t] += at.load(x + t * width) * factor;
      }
    }
    for (int t = 0; t < kCount; ++t) at.store(y + t * width + i, sum[t]);
  });
}

/// One row of outputs. In the derivative the padding can be negative, which crops.
template <class T>
void token_row(const DepthwiseTokensCall& c, std::int64_t row, const T* image, T* y) {
  const TapRange rows(c, 0, row);
  const std::int64_t first_whole = c.padding[1];
  const std::int64_t last_whole = c.in[1] + c.padding[1] - c.kernel[1];
  for (std::int64_t j = 0; j < c.out[1];) {
    const bool whole =
        j >= first_whole && j + kTogether - 1 <= last_whole && j + kTogether <= c.out[1];
    if (whole) {
      tokens<kTogether>(c, rows, TapRange(c, 1, j), image, y);
    } else {
      tokens<1>(c, rows, TapRange(c, 1, j), image, y);
    }
    const std::int64_t done = whole ? kTogether : 1;
    j += done;
    y += done * c.channels;
  }
}

template <class T>
void forward_of(const DepthwiseTokensCall& c) {
  const std::int64_t in_tokens = c.prefix + c.in[0] * c.in[1];
  const std::int64_t out_tokens = c.prefix + c.out[0] * c.out[1];
  parallel_for(c.batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t entry = begin; entry < end; ++entry) {
      const T* x = static_cast<const T*>(c.x) + entry * in_tokens * c.channels;
      T* y = static_cast<T*>(c.y) + entry * out_tokens * c.channels;
      for (std::int64_t i = 0; i < c.prefix * c.channels; ++i) *y++ = *x++;
      for (std::int64_t i = 0; i < c.out[0]; ++i, y += c.out[1] * c.channels) {
        token_row(c, i, x, y);
      }
    }
  });
}

/// Adds the contribution of a piece of an output row to one tap: the sum over it of dy x.
template <class T>
[[gnu::flatten]] void tap_sums(const DepthwiseTokensCall& c, std::int64_t count, const T* x,
                               const T* dy, acc_t<T>* sums) {
  using A = acc_t<T>;
  const std::int64_t width = c.channels;
  for_lanes<A>(width, [&](auto at, std::int64_t i) {
    auto sum = at.load(sums + i);
    for (std::int64_t j = 0; j < count; ++j) {
      sum += at.load(dy + j * width + i) * at.load(x + j * width + i);
    }
    at.store(sums + i, sum);
  });
}

template <class T>
[[gnu::flatten]] void add_rows(const T* dy, std::int64_t count, std::int64_t width,
                               acc_t<T>* sums) {
  using A = acc_t<T>;
  for_lanes<A>(width, [&](auto at, std::int64_t i) {
    auto sum = at.load(sums + i);
    for (std::int64_t j = 0; j < count; ++j) sum += at.load(dy + j * width + i);
    at.store(sums + i, sum);
  });
}

/// The outputs [begin, end) of row `row` of an image.
struct RowPiece {
  std::int64_t row, begin, end;
};

/// Adds the contributions of a piece to all taps and to the bias; x and dy are the image's.
template <class T>
void piece_sums(const DepthwiseTokensCall& c, const RowPiece& p, const T* x, const T* dy,
                acc_t<T>* sums) {
  const std::int64_t width = c.channels;
  const T* const upstream = dy + p.row * c.out[1] * width;
  const TapRange rows(c, 0, p.row);
  for (std::int64_t a = rows.begin; a < rows.end; ++a) {
    const T* row = x + (rows.first + a - rows.begin) * c.in[1] * width;
    for (std::int64_t b = 0; b < c.kernel[1]; ++b) {
      const std::int64_t shift = b - c.padding[1];
      const std::int64_t begin = p.begin + shift < 0 ? -shift : p.begin;
      const std::int64_t end = c.in[1] - shift < p.end ? c.in[1] - shift : p.end;
      tap_sums(c, end - begin, row + (begin + shift) * width, upstream + begin * width,
               sums + (a * c.kernel[1] + b) * width);
    }
  }
  add_rows(upstream + p.begin * width, p.end - p.begin, width,
           sums + c.kernel[0] * c.kernel[1] * width);
}

/// The sums of one part, in runs of tokens (ops/common/run_sum.h).
template <class T>
void part_sums(const DepthwiseTokensSumsCall& s, std::int64_t part) {
  using A = acc_t<T>;
  constexpr std::int64_t kMost = detail::kRunTerms;
  const DepthwiseTokensCall& c = s.forward;
  const std::int64_t count = (c.kernel[0] * c.kernel[1] + 1) * c.channels;
  A *const sums = static_cast<A*>(s.sums) + part * count, *const run = row_scratch<A>(count);
  std::int64_t tokens = 0;
  for (std::int64_t k = 0; k < count; ++k) run[k] = 0;
  const auto close = [&] {
    for (std::int64_t k = 0; k < count; ++k) sums[k] += run[k];
    for (std::int64_t k = 0; k < count; ++k) run[k] = 0;
    tokens = 0;
  };
  const std::int64_t per_part = (c.batch + s.parts - 1) / s.parts, past = (part + 1) * per_part;
  for (std::int64_t entry = part * per_part; entry < past && entry < c.batch; ++entry) {
    const std::int64_t in_row = entry * (c.prefix + c.in[0] * c.in[1]) + c.prefix;
    const std::int64_t out_row = entry * (c.prefix + c.out[0] * c.out[1]) + c.prefix;
    const T* const x = static_cast<const T*>(c.x) + in_row * c.channels;
    const T* const dy = static_cast<const T*>(s.dy) + out_row * c.channels;
    for (std::int64_t i = 0; i < c.out[0]; ++i) {
      for (std::int64_t j = 0; j < c.out[1]; j += kMost) {
        const RowPiece piece{i, j, j + kMost < c.out[1] ? j + kMost : c.out[1]};
        if (tokens + piece.end - piece.begin > kMost) close();
        piece_sums(c, piece, x, dy, run);
        tokens += piece.end - piece.begin;
      }
    }
  }
  close();
}

template <class T>
void sums_of(const DepthwiseTokensSumsCall& s) {
  parallel_for(s.parts, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t part = first; part < last; ++part) part_sums<T>(s, part);
  });
}

}  // namespace

namespace conv {

void tokens_forward(const DepthwiseTokensCall& c) {
  dispatch_float(c.dtype, [&](auto tag) { forward_of<decltype(tag)>(c); });
}
void tokens_sums(const DepthwiseTokensSumsCall& s) {
  dispatch_float(s.forward.dtype, [&](auto tag) { sums_of<decltype(tag)>(s); });
}

}  // namespace conv
}  // namespace fovea::ops::cpu::FOVEA_ISA
