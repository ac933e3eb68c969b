// What of the last block's tokens the head reads.
#pragma once

namespace fovea {

/// The class token, or the mean of the patch tokens.
enum class Pooling { token, avg };

}  // namespace fovea
