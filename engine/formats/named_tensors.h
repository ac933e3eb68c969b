// Tensors by name: what differs between those of a file and those that they are to fill.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/tensor.h"

namespace fovea {

/// One text per difference in names, shapes and dtypes among the tensors whose names start with
/// `prefix`: missing ones, others than expected, unexpected ones.
[[nodiscard]] std::vector<std::string> differences(const std::map<std::string, Tensor>& expected,
                                                   const std::map<std::string, Tensor>& got,
                                                   std::string_view prefix = "");

/// Copies the values of equal names. Throws one Error, starting with `where`, that lists all
/// differences, before it copies any.
void copy_all(const std::map<std::string, Tensor>& to, const std::map<std::string, Tensor>& from,
              const std::string& where);

}  // namespace fovea
