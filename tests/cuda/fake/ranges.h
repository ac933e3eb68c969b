// Ranges of device memory that copies and messages read and write.
#pragma once

#include <cstddef>
#include <string>

namespace fovea::fake {

/// The reason why a range of device memory cannot be read (or written) as a whole; empty if it can.
/// `what` names the operation.
[[nodiscard]] std::string objection(const char* what, const void* data, std::size_t bytes,
                                    bool is_read);
void mark_written(const void* data, std::size_t bytes);

}  // namespace fovea::fake
