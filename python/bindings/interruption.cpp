// Ctrl-C in long calls.
#include <sys/types.h>
#include <unistd.h>

#include "python/bindings/ops.h"

namespace fovea::python {

void raise_pending_signals() {
  if (::gettid() != ::getpid()) return;  // Python's handlers run on the main thread alone
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace fovea::python
