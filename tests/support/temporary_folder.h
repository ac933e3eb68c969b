// Helpers for tests with files: a temporary folder, and the message of an expected Error.
#pragma once

#include <string>

#include "engine/base/error.h"
#include "engine/base/temporary_folder.h"

namespace fovea {

/// The message of the Error that `f` throws; empty if it throws none.
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

[[nodiscard]] inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace fovea
