// Expected values of a tensor, as its to_vector() gives them.
#pragma once

#include <vector>

namespace fovea {

using Values = std::vector<double>;

}  // namespace fovea
