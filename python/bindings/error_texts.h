// Errors of the C++ library in the words of a Python call.
#pragma once

#include <string>

namespace fovea::python {

/// Flags become keyword arguments ("--lr" is "lr"), and C++ names those of the package.
[[nodiscard]] std::string in_python_words(std::string text);

}  // namespace fovea::python
