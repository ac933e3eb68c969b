// Deformable attention, vectorised over the channels of a head. The forward pass runs queries in
// parallel; the derivative runs one head of one image per thread, because queries share cells.
#include "engine/parallel.h"
#include "ops/common/cpu/lanes.h"
#include "ops/common/cpu/scratch.h"
#include "ops/common/cpu/sizes.h"
#include "ops/deformable/call.h"
#include "ops/deformable/sample_point.h"

namespace fovea::ops::cpu::FOVEA_ISA {
namespace {

using fovea::ops::detail::Cell;
using fovea::ops::detail::SamplePoint;

/// One term of a head's output: `weight` times the channels at `from`.
template <class T>
struct Term {
  const T* from;
  acc_t<T> weight;
};

/// The terms of (image, query, head) `row`; returns their number, at most 4 per point.
template <class T>
std::int64_t collect_terms(const DeformableCall& c, std::int64_t row, const T* value,
                           Term<T>* terms) {
  using A = acc_t<T>;
  const A* const locations = static_cast<const A*>(c.locations) + row * c.points * 2;
  const A* const weights = static_cast<const A*>(c.weights) + row * c.points;
  const std::int64_t step = c.heads * c.channels;
  std::int64_t count = 0;
  for (std::int64_t p = 0; p < c.points; ++p) {
    const SamplePoint<A> sample(locations + 2 * p, c.height, c.width);
    sample.for_each_cell(c.height, c.width, [&](const Cell<A>& cell) {
      terms[count++] = {value + cell.index * step, weights[p] * cell.share};
    });
  }
  return count;
}

template <class T>
void sum_terms(const Term<T>* terms, std::int64_t count, std::int64_t channels, T* y) {
  using A = acc_t<T>;
  for_lanes<A>(channels, [&](auto at, std::int64_t i) {
    auto sum = typename decltype(at)::Value{};
    for (std::int64_t k = 0; k < count; ++k) sum += terms[k].weight * at.load(terms[k].from + i);
    at.store(y + i, sum);
  });
}

/// The first channel of an image's head.
template <class T>
const T* value_of(const DeformableCall& c, std::int64_t image, std::int64_t head) {
  return static_cast<const T*>(c.value) +
         (image * c.height * c.width * c.heads + head) * c.channels;
}

void forward(const DeformableCall& c) {
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const std::int64_t size = 4 * c.points * c.channels;
    parallel_for(c.batch * c.queries * c.heads, grain(kMinMultiplied, size),
                 [&](std::int64_t begin, std::int64_t end) {
                   auto* const terms = row_scratch<Term<T>>(4 * c.points);
                   for (std::int64_t row = begin; row < end; ++row) {
                     const std::int64_t image = row / (c.queries * c.heads), head = row % c.heads;
                     const T* const value = value_of<T>(c, image, head);
                     const std::int64_t count = collect_terms(c, row, value, terms);
                     sum_terms(terms, count, c.channels, static_cast<T*>(c.y) + row * c.channels);
                   }
                 });
  });
}

/// Adds share dy to dvalue, unless it is null; returns the product of dy and value.
template <class T, class A>
A differentiate_cell(const T* dy, const T* value, A share, A* dvalue, std::int64_t channels) {
  LaneSum<A> product;
  for_lanes<A>(channels, [&](auto at, std::int64_t i) {
    const auto upstream = at.load(dy + i);
    product.add(at, upstream * at.load(value + i));
    if (dvalue != nullptr) at.store(dvalue + i, at.load(dvalue + i) + share * upstream);
  });
  return product.total();
}

/// All gradients of (image, query, head) `row`; value and dvalue begin at the head's first channel.
template <class T>
void differentiate_row(const DeformableGradCall& g, std::int64_t row, const T* value,
                       acc_t<T>* dvalue) {
  using A = acc_t<T>;
  const DeformableCall& c = g.forward;
  const T* const dy = static_cast<const T*>(g.dy) + row * c.channels;
  for (std::int64_t p = row * c.points; p < (row + 1) * c.points; ++p) {
    const A weight = static_cast<const A*>(c.weights)[p];
    const SamplePoint<A> sample(static_cast<const A*>(c.locations) + 2 * p, c.height, c.width);
    A dweight = 0, dx = 0, dy_cells = 0;
    sample.for_each_cell(c.height, c.width, [&](const Cell<A>& cell) {
      const std::int64_t at = cell.index * c.heads * c.channels;
      const A product = differentiate_cell(dy, value + at, weight * cell.share,
                                           dvalue == nullptr ? nullptr : dvalue + at, c.channels);
      dweight += cell.share * product;
      dx += cell.slope_x * product;
      dy_cells += cell.slope_y * product;
    });
    static_cast<A*>(g.dweights)[p] = dweight;
    static_cast<A*>(g.dlocations)[2 * p] = weight * dx * static_cast<A>(c.width);
    static_cast<A*>(g.dlocations)[2 * p + 1] = weight * dy_cells * static_cast<A>(c.height);
  }
}

void backward(const DeformableGradCall& g) {
  const DeformableCall& c = g.forward;
  dispatch_float(c.dtype, [&](auto tag) {
    using T = decltype(tag);
    const std::int64_t size = 8 * c.queries * c.points * c.channels;
    parallel_for(
        c.batch * c.heads, grain(kMinMultiplied, size), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t slice = begin; slice < end; ++slice) {
            const std::int64_t image = slice / c.heads, head = slice % c.heads;
            const T* const value = value_of<T>(c, image, head);
            auto* dvalue = static_cast<acc_t<T>*>(g.dvalue);
            if (dvalue != nullptr) dvalue += value - static_cast<const T*>(c.value);
            for (std::int64_t q = 0; q < c.queries; ++q) {
              differentiate_row(g, (image * c.queries + q) * c.heads + head, value, dvalue);
            }
          }
        });
  });
}

}  // namespace

extern const DeformableKernels deformable_kernels{forward, backward};

}  // namespace fovea::ops::cpu::FOVEA_ISA
