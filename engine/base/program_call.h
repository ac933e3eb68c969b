// How the reader of a message calls another of the programs.
#pragma once

#include <string>
#include <string_view>

namespace fovea {

/// "fovea sample", or "./run sample" in the programs of a build folder.
[[nodiscard]] std::string program_call(std::string_view program);

/// For main(): what stands in front of a program's name from now on.
void call_programs_by(std::string_view command);

}  // namespace fovea
