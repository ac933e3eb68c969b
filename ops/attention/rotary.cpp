// Rotation of queries and keys by rotary positions, and the tables of their angles. The kernels are
// in cpu_rotary.cpp and rotary.cu; attention turns its inputs itself (cpu_turn.h).
#include "ops/rotary.h"

#include <cmath>

#include "engine/autograd.h"
#include "ops/attention/rotation.h"
#include "ops/common/rows.h"
#include "ops/elementwise/map.h"
#include "ops/index/outside.h"
#include "ops/kernels.h"

namespace fovea::ops {
namespace {

void check_table(const char* op, const Rotation& r, const Shape& sequence) {
  const Shape& table = r.table.shape();
  detail::require_float(op, r.table);
  check(table.rank() == 4 && table[0] == 2 && (table[1] == 1 || table[1] == sequence[1]) &&
            2 * table[3] == sequence[3],
        op, ": got rotary table ", table, " for ", sequence[1], " heads of ", sequence[3],
        " channels, expected [2, 1 or ", sequence[1], ", tokens, channels / 2]");
  check(r.prefix >= 0, op, ": rotary prefix is ", r.prefix, ", expected 0 or more");
  if (r.places.defined()) return;
  check(r.prefix + table[2] == sequence[2], op, ": got a rotary table of ", table[2],
        " tokens and a prefix of ", r.prefix, " for ", sequence[2], " tokens");
}

void check_places(const char* op, const Rotation& r, const Shape& sequence) {
  if (!r.places.defined()) return;
  const Shape& shape = r.places.shape();
  check(r.places.dtype() == DType::i64 && shape.rank() == 2 && shape[0] == sequence[0] &&
            r.prefix + shape[1] == sequence[2],
        op, ": got rotary places ", shape, " of ", r.places.dtype(), " for ", sequence[0],
        " images of ", sequence[2], " tokens and a prefix of ", r.prefix,
        ", expected i64 [images, tokens - prefix]");
  const detail::Outside wrong = detail::first_outside(op, r.places, {0, r.table.size(2)});
  check(!wrong, op, ": rotary place ", wrong.value, " is out of range, expected 0 to ",
        r.table.size(2) - 1);
}

/// y = x turned or turned back; both [B, H, N, D], and y may be x.
void turn(const Tensor& x, const Rotation& rotation, bool back, const Tensor& y) {
  kernels(x.device())
      .attention.rotate({.dtype = x.dtype(),
                         .batch = x.size(0),
                         .heads = x.size(1),
                         .tokens = x.size(2),
                         .rotation = view_of(rotation),
                         .back = back,
                         .x = view_of(x),
                         .y = view_of(y)});
}

void require_f64(const char* op, const char* what, const Tensor& t, int rank) {
  check(t.defined() && t.dtype() == DType::f64 && t.rank() == rank, op, ": ", what,
        " must be f64 of ", rank, " axes",
        t.defined() ? concat(", got ", t.shape(), " of ", t.dtype()) : "");
}

double* doubles(const Tensor& t) { return reinterpret_cast<double*>(t.raw()); }

RotaryTableCall table_call(const Tensor& fy, const Tensor& fx, const Tensor& y, const Tensor& x,
                           const Tensor& table) {
  return {.groups = fy.size(0),
          .pairs = fy.size(1),
          .height = y.numel(),
          .width = x.numel(),
          .fy = doubles(fy),
          .fx = doubles(fx),
          .y = doubles(y),
          .x = doubles(x),
          .table = doubles(table)};
}

}  // namespace

AttentionView view_of(const Tensor& t) {
  if (!t.defined()) return {};
  return {t.raw(), t.strides()[0], t.strides()[1], t.strides()[2], t.strides()[3]};
}

Rotation checked_rotation(const char* op, const Rotation& rotation, const Shape& sequence,
                          DType dtype) {
  if (!rotation.defined()) return {};
  check_table(op, rotation, sequence);
  Rotation packed = rotation;
  packed.table = rotation.table.detach().to(acc_dtype(dtype)).contiguous();
  if (rotation.places.defined()) packed.places = detail::detached_contiguous(rotation.places);
  check_places(op, packed, sequence);
  return packed;
}

RotationView view_of(const Rotation& r) {
  if (!r.defined()) return {};
  const std::int64_t half = r.table.numel() / 2;
  const bool placed = r.places.defined();
  return {.cosines = r.table.raw(),
          .sines = half == 0 ? r.table.raw() : r.table.alias({half}, {1}, half).raw(),
          .groups = r.table.size(1),
          .rows = r.table.size(2),
          .pairs = r.table.size(3),
          .prefix = r.prefix,
          .places = placed ? reinterpret_cast<const std::int64_t*>(r.places.raw()) : nullptr,
          .placed = placed ? r.places.size(1) : 0,
          .halves = r.halves};
}

Tensor table_gradient(const Rotation& rotation, std::initializer_list<TurnedSide> sides) {
  const Tensor& x = sides.begin()->x;
  const Tensor dtable = empty(rotation.table.shape(), rotation.table.options());
  RotationGradCall call{.dtype = x.dtype(),
                        .batch = x.size(0),
                        .heads = x.size(1),
                        .rotation = view_of(rotation),
                        .count = 0,
                        .sides = {},
                        .dtable = dtable.raw()};
  for (const TurnedSide& side : sides)
    call.sides[call.count++] = {side.x.size(2), view_of(side.x), view_of(side.dx)};
  kernels(x.device()).attention.rotation_grad(call);
  return dtable;
}

Tensor rotate(const Tensor& x, const Rotation& rotation) {
  const OpLabel op("rotate", {{"prefix", rotation.prefix}, {"halves", rotation.halves}});
  check(x.defined() && rotation.defined(), op, ": x or the table is undefined");
  detail::require_float(op, x);
  detail::require_one_device(op, {x, rotation.table, rotation.places});
  check(x.rank() == 4, op, ": got x ", x.shape(), ", expected [B, H, N, D]");
  const Rotation packed = checked_rotation(op.name(), rotation, x.shape(), x.dtype());
  const Tensor y = empty(x.shape(), x.options());
  turn(x.detach(), packed, false, y);
  return record(op, y, {x, rotation.table, rotation.places},
                {needs_tape({rotation.table}) ? x : Tensor(), packed.table, packed.places},
                [prefix = rotation.prefix, halves = rotation.halves,
                 table_dtype = rotation.table.dtype()](const GradArgs& g) -> Grads {
                  const Rotation r{g.saved[1], prefix, g.saved[2], halves};
                  const Tensor dx = empty(g.dy.shape(), g.dy.options());
                  turn(g.dy, r, true, dx);
                  if (!g.needs(1)) return {dx, {}, {}};
                  const Tensor dtable = table_gradient(r, {{g.saved[0], dx}});
                  return {g.needs(0) ? dx : Tensor(), dtable.to(table_dtype), {}};
                });
}

Tensor rotary_table(const RotaryFrequencies& frequencies, const RotaryAxes& axes) {
  const OpLabel op("rotary_table");
  require_f64(op.name(), "frequencies", frequencies.y, 2);
  require_f64(op.name(), "frequencies", frequencies.x, 2);
  require_f64(op.name(), "coordinates", axes.y, 1);
  require_f64(op.name(), "coordinates", axes.x, 1);
  check(frequencies.y.shape() == frequencies.x.shape(), op, ": got frequencies ",
        frequencies.y.shape(), " and ", frequencies.x.shape(), ", expected equal shapes");
  detail::require_one_device(op, {frequencies.y, frequencies.x, axes.y, axes.x});
  const Tensor fy = detail::detached_contiguous(frequencies.y);
  const Tensor fx = detail::detached_contiguous(frequencies.x);
  const Tensor y = detail::detached_contiguous(axes.y), x = detail::detached_contiguous(axes.x);
  const Tensor table = empty({2, fy.size(0), y.numel() * x.numel(), fy.size(1)}, fy.options());
  kernels(table.device()).attention.rotary_table(table_call(fy, fx, y, x, table));
  return record(
      op, table, {frequencies.y, frequencies.x, axes.y, axes.x}, {fy, fx, y, x, table},
      [](const GradArgs& g) -> Grads {
        const auto s = g.saved;
        const Tensor dfy = empty(s[0].shape(), s[0].options());
        const Tensor dfx = empty(s[1].shape(), s[1].options());
        const Tensor dtable = g.dy.contiguous();
        kernels(g.dy.device())
            .attention.rotary_table_grad({.forward = table_call(s[0], s[1], s[2], s[3], s[4]),
                                          .dtable = doubles(dtable),
                                          .dfy = doubles(dfy),
                                          .dfx = doubles(dfx)});
        return {dfy, dfx, {}, {}};
      });
}

Tensor moved_coordinates(const Tensor& x, int axis, const StepKey& key,
                         const CoordinateMoves& moves) {
  const OpLabel op("moved_coordinates");
  require_f64(op.name(), "coordinates", x, 1);
  check(axis == 0 || axis == 1, op, ": got axis ", axis, ", expected 0 or 1");
  check(moves.shift >= 0 && moves.jitter >= 1 && moves.rescale >= 1, op, ": got shift ",
        moves.shift, ", jitter ", moves.jitter, " and rescale ", moves.rescale,
        ", expected at least 0, 1 and 1");
  const detail::MoveCoordinate move{key.on(x.device()), axis, moves.shift, std::log(moves.jitter),
                                    std::log(moves.rescale)};
  return detail::map(move, x.detach());
}

}  // namespace fovea::ops
