// A function of Python that C++ calls and drops on any thread, with or without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <utility>

namespace fovea::python {

class PythonFunction {
 public:
  explicit PythonFunction(nanobind::callable f)
      : function_(new nanobind::callable(std::move(f)), [](nanobind::callable* held) {
          if (!nanobind::is_alive()) return;  // the interpreter has freed what it held
          const nanobind::gil_scoped_acquire gil;
          delete held;  // NOLINT: the deleter of a shared_ptr
        }) {}

  /// Call it with the GIL.
  [[nodiscard]] const nanobind::callable& get() const { return *function_; }

 private:
  std::shared_ptr<nanobind::callable> function_;
};

}  // namespace fovea::python
