// What the generated bindings of ops are made of (python/generate_ops.py).
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/names.h"
#include "engine/interruption.h"
#include "ops/ops.h"
#include "python/bindings/int_list.h"
#include "python/bindings/parts.h"

namespace fovea::python {

/// Other threads of Python run while an op computes.
using NoGil = nb::call_guard<nb::gil_scoped_release>;
inline constexpr NoGil no_gil{};

/// Runs the handlers of signals that have arrived, which raise KeyboardInterrupt after Ctrl-C.
void raise_pending_signals();

class LoopsHeedSignals {
  InterruptibleLoops loops_{raise_pending_signals};
};
class OpsHeedSignals {
  InterruptibleOps ops_{raise_pending_signals};
};
/// Ctrl-C ends an op that makes new tensors.
inline constexpr nb::call_guard<nb::gil_scoped_release, LoopsHeedSignals> in_op{};
/// Ctrl-C ends a call of many ops after one of them.
inline constexpr nb::call_guard<nb::gil_scoped_release, OpsHeedSignals> between_ops{};

/// The member of an enumeration that a word of `words` stands for. Throws as parse_name() does.
template <class Enum>
Enum word(std::string_view what, std::string_view text, std::initializer_list<Named<Enum>> words) {
  std::vector<std::string> known;
  for (const Named<Enum>& entry : words) {
    if (entry.name == text) return entry.value;
    known.emplace_back(entry.name);
  }
  refuse_name(what, text, known);
}

/// f(axes): reductions take their axes in braces, so their number has to be known to the compiler.
template <class F>
Tensor with_axes(const std::vector<int>& axes, const F& f) {
  const int* const a = axes.data();
  switch (axes.size()) {
    case 0:
      return f({});
    case 1:
      return f({a[0]});
    case 2:
      return f({a[0], a[1]});
    case 3:
      return f({a[0], a[1], a[2]});
    case 4:
      return f({a[0], a[1], a[2], a[3]});
    case 5:
      return f({a[0], a[1], a[2], a[3], a[4]});
    default:
      check(axes.size() == Shape::kMaxRank, "axes: got ", axes.size(), ", expected at most ",
            Shape::kMaxRank);
      return f({a[0], a[1], a[2], a[3], a[4], a[5]});
  }
}

}  // namespace fovea::python
