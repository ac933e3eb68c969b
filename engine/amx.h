// AMX, the matrix unit of Intel's processors: whether the processor has it, and the permission to
// use its registers, which Linux gives to processes that ask for it.
#pragma once

#include <string>

namespace fovea {

/// Whether the processor multiplies bf16 in tiles (AMX-TILE and AMX-BF16) and rounds to bf16
/// (AVX-512 BF16).
[[nodiscard]] bool processor_has_amx();

/// Asks the kernel for the registers of AMX, once in a process; its threads and children inherit
/// them. Returns "the kernel refuses ..." if it does not give them, otherwise an empty text.
[[nodiscard]] const std::string& amx_refusal();

}  // namespace fovea
