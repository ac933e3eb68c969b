// Which of the processor's instruction sets is used.
#pragma once

#include <string_view>

namespace fovea {

enum class Isa { v2, v3, v4 };  ///< SSE4.2; AVX2 + FMA; AVX-512 F, BW, CD, DQ, VL

/// The best that the processor has, lowered by FOVEA_ISA=v2|v3|v4 in the environment. Throws Error
/// where that names another, or one that the processor lacks.
[[nodiscard]] Isa cpu_isa();
/// "v2", "v3" or "v4".
[[nodiscard]] std::string_view to_string(Isa isa);

}  // namespace fovea
