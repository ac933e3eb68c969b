// Error handling. Every message reads "where: got, expected[, what to do]".
#pragma once

#include <stdexcept>
#include <string>

#include "engine/base/text.h"

namespace fovea {

/// Base of the libraries' exceptions. Apps print its message after "error: " and exit with 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with the streamed parts.
template <class... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  throw Error(concat(parts...));
}

/// Throws Error with the streamed parts unless `ok`. For user mistakes; invariants use assert. The
/// parts are evaluated even if `ok`: where that is slow, write `if (!ok) fail(...)`.
template <class... Parts>
void check(bool ok, const Parts&... parts) {
  if (!ok) [[unlikely]]
    fail(parts...);
}

/// The result of f(). An Error whose message does not start with `context` and ":" becomes a plain
/// Error that does, whatever its type: what f() finds wrong in a file is no mistake in the command.
template <class F>
auto with_context(const std::string& context, const F& f) {
  try {
    return f();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(context + ":")) throw;
    fail(context, ": ", message);
  }
}

}  // namespace fovea
