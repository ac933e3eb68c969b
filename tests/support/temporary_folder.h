// What tests with files need: a folder of their own and the message of an expected Error.
#pragma once

#include <string>

#include "base/error.h"
#include "base/temporary_folder.h"

namespace fovea {

/// What the Error says that `f` throws; empty when it throws none.
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
