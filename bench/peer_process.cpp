// Starting the peer under our conditions.
#include "bench/peer_process.h"

#include <unistd.h>

#include <cstdlib>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/cpu_isa.h"

namespace fovea::bench {
namespace {

/// The command that starts the peer. If FOVEA_ISA lowers our instruction set, its libraries are
/// limited to the same one.
std::vector<std::string> command_of(const std::filesystem::path& python,
                                    const std::filesystem::path& script) {
  check(
      access(python.c_str(), X_OK) == 0, "peer: ", python.string(),
      " is not executable; create it with bench/make_peer.sh, or set FOVEA_PEER_PYTHON to a Python "
      "with torch and timm");
  std::vector<std::string> command{"env"};
  if (cpu_isa() == Isa::v3) {
    command.insert(command.end(), {"ATEN_CPU_CAPABILITY=avx2", "ONEDNN_MAX_CPU_ISA=AVX2",
                                   "MKL_ENABLE_INSTRUCTIONS=AVX2"});
  }
  command.insert(command.end(), {python.string(), script.string()});
  return command;
}

}  // namespace

PeerProcess::PeerProcess(const std::filesystem::path& python, const std::filesystem::path& script)
    : child_(command_of(python, script)) {}

nlohmann::json PeerProcess::ask(const nlohmann::json& command) {
  return nlohmann::json::parse(child_.ask(json_text(command)));
}

std::filesystem::path peer_python() {
  const char* const python = std::getenv("FOVEA_PEER_PYTHON");
  return python != nullptr ? python : FOVEA_SOURCE_DIR "/.venv-peer/bin/python";
}

}  // namespace fovea::bench
