// The command is that of an installation unless a program says otherwise: libraries are installed,
// too.
#include "engine/base/program_call.h"

namespace fovea {
namespace {

std::string& command() {
  static std::string text = "fovea";
  return text;
}

}  // namespace

std::string program_call(std::string_view program) {
  return command() + " " + std::string(program);
}

void call_programs_by(std::string_view name) { command() = name; }

}  // namespace fovea
