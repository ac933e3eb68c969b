// Which instruction set the CPU kernels use, for reports.
#pragma once

#include <string_view>

namespace fovea {

/// "v2" (SSE4.2), "v3" (AVX2 + FMA) or "v4" (AVX-512); FOVEA_ISA lowers it.
[[nodiscard]] std::string_view cpu_isa_name();

}  // namespace fovea
