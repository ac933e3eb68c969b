// Rotary positions: the rotation of whole tensors, tables of angles, and their derivatives. All
// sums have a fixed order: one thread owns each of them.
#include <cmath>

#include "engine/parallel.h"
#include "ops/attention/cpu_turn.h"

namespace fovea::ops::cpu::FOVEA_ISA::attention {
namespace {

template <class T>
void rotate_of(const RotateCall& call) {
  using A = acc_t<T>;
  const std::int64_t width = 2 * call.rotation.pairs;
  parallel_for(call.batch * call.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    A* const row = row_scratch<A>(width);
    for (std::int64_t pair = begin; pair < end; ++pair) {
      const std::int64_t image = pair / call.heads, head = pair % call.heads;
      const HeadTurn<A> turn(call.rotation, image, head);
      const Rows<const T> x = rows_of<const T>(call.x, image, head);
      const Rows<T> y = rows_of<T>(call.y, image, head);
      for (std::int64_t i = 0; i < call.tokens; ++i) {
        const T* const from = x.from(i).data;
        for (std::int64_t j = 0; j < width; ++j) row[j] = static_cast<A>(from[j * x.column]);
        turn.row(row, i, call.back);
        T* const to = y.from(i).data;
        for (std::int64_t j = 0; j < width; ++j) to[j * y.column] = narrowed<T>(row[j]);
      }
    }
  });
}

/// Adds a db - b da of each pair of a token.
template <class T>
void add_turns(const Rows<const T>& x, const Rows<const T>& dx, std::int64_t token,
               const RotationView& r, acc_t<T>* sums) {
  using A = acc_t<T>;
  const T *const from = x.from(token).data, *const grad = dx.from(token).data;
  for (std::int64_t p = 0; p < r.pairs; ++p) {
    const std::int64_t a = first_of_pair(r, p), b = second_of_pair(r, p);
    sums[p] += static_cast<A>(from[a * x.column]) * static_cast<A>(grad[b * dx.column]) -
               static_cast<A>(from[b * x.column]) * static_cast<A>(grad[a * dx.column]);
  }
}

/// Calls token(i) for the tokens of an image that have a row of the table.
template <class Token>
void for_each_token(const RotationView& r, std::int64_t image, std::int64_t tokens,
                    std::int64_t row, const Token& token) {
  if (r.places == nullptr) {
    if (r.prefix + row < tokens) token(r.prefix + row);
    return;
  }
  for (std::int64_t i = r.prefix; i < tokens; ++i)
    if (row_of_token(r, image, i) == row) token(i);
}

/// The gradient of one row of the table; `sums` [groups, pairs] is scratch.
template <class T>
void rotation_grad_row(const RotationGradCall& call, std::int64_t row, acc_t<T>* sums) {
  using A = acc_t<T>;
  const RotationView& r = call.rotation;
  for (std::int64_t i = 0; i < r.groups * r.pairs; ++i) sums[i] = 0;
  for (std::int64_t image = 0; image < call.batch; ++image) {
    for (int s = 0; s < call.count; ++s) {
      const RotationGradCall::Side& side = call.sides[s];
      for_each_token(r, image, side.tokens, row, [&](std::int64_t token) {
        for (std::int64_t head = 0; head < call.heads; ++head)
          add_turns<T>(rows_of<const T>(side.x, image, head),
                       rows_of<const T>(side.dx, image, head), token, r,
                       sums + (r.groups == 1 ? 0 : head) * r.pairs);
      });
    }
  }
  A* const dcosines = static_cast<A*>(call.dtable);
  A* const dsines = dcosines + r.groups * r.rows * r.pairs;
  for (std::int64_t group = 0; group < r.groups; ++group) {
    const std::int64_t first = (group * r.rows + row) * r.pairs;
    for (std::int64_t p = 0; p < r.pairs; ++p) {
      const A turn = sums[group * r.pairs + p];
      dcosines[first + p] = -static_cast<const A*>(r.sines)[first + p] * turn;
      dsines[first + p] = static_cast<const A*>(r.cosines)[first + p] * turn;
    }
  }
}

struct Angle {
  double cosine, sine;
};
/// Cosines and sines of frequency times coordinate.
void fill_angles(const double* frequencies, std::int64_t pairs, double coordinate, Angle* angles) {
  for (std::int64_t p = 0; p < pairs; ++p) {
    const double angle = frequencies[p] * coordinate;
    angles[p] = {std::cos(angle), std::sin(angle)};
  }
}

}  // namespace

void rotate(const RotateCall& call) {
  dispatch_float(call.dtype, [&](auto tag) { rotate_of<decltype(tag)>(call); });
}

void rotation_grad(const RotationGradCall& call) {
  dispatch_float(call.dtype, [&](auto tag) {
    using T = decltype(tag);
    parallel_for(call.rotation.rows, 4, [&](std::int64_t begin, std::int64_t end) {
      auto* const sums = row_scratch<acc_t<T>>(call.rotation.groups * call.rotation.pairs);
      for (std::int64_t row = begin; row < end; ++row) rotation_grad_row<T>(call, row, sums);
    });
  });
}

/// cos(s + t) = cos s cos t - sin s sin t, sin(s + t) = sin s cos t + cos s sin t, with s of the
/// row and t of the column of the grid: the sines of both axes are those of all cells.
void rotary_table(const RotaryTableCall& call) {
  const std::int64_t P = call.pairs, cells = call.height * call.width;
  parallel_for(call.groups, 1, [&](std::int64_t begin, std::int64_t end) {
    auto* const columns = row_scratch<Angle>((call.width + 1) * P);
    Angle* const row = columns + call.width * P;
    for (std::int64_t group = begin; group < end; ++group) {
      for (std::int64_t x = 0; x < call.width; ++x)
        fill_angles(call.fx + group * P, P, call.x[x], columns + x * P);
      double* cosines = call.table + group * cells * P;
      double* sines = cosines + call.groups * cells * P;
      for (std::int64_t y = 0; y < call.height; ++y) {
        fill_angles(call.fy + group * P, P, call.y[y], row);
        for (std::int64_t x = 0; x < call.width; ++x) {
          for (std::int64_t p = 0; p < P; ++p) {
            const Angle s = row[p], t = columns[x * P + p];
            *cosines++ = s.cosine * t.cosine - s.sine * t.sine;
            *sines++ = s.sine * t.cosine + s.cosine * t.sine;
          }
        }
      }
    }
  });
}

/// The angle's gradient cos t dsin - sin t dcos, times the coordinates, summed over the cells.
void rotary_table_grad(const RotaryTableGradCall& call) {
  const RotaryTableCall& f = call.forward;
  const std::int64_t P = f.pairs, cells = f.height * f.width, sines = f.groups * cells * P;
  parallel_for(f.groups, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      double *const dfy = call.dfy + group * P, *const dfx = call.dfx + group * P;
      for (std::int64_t p = 0; p < P; ++p) dfy[p] = dfx[p] = 0;
      for (std::int64_t cell = 0; cell < cells; ++cell) {
        const std::int64_t first = (group * cells + cell) * P;
        const double y = f.y[cell / f.width], x = f.x[cell % f.width];
        for (std::int64_t p = 0; p < P; ++p) {
          const std::int64_t at = first + p;
          const double turn =
              f.table[at] * call.dtable[sines + at] - f.table[sines + at] * call.dtable[at];
          dfy[p] += y * turn;
          dfx[p] += x * turn;
        }
      }
    }
  });
}

}  // namespace fovea::ops::cpu::FOVEA_ISA::attention
