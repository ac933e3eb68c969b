// Starting a peer under our conditions.
#include "bench/peer_process.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/cpu_isa.h"

namespace fovea::bench {
namespace {

std::filesystem::path peer_python() {
  const char* const python = std::getenv("FOVEA_PEER_PYTHON");
  return python != nullptr ? python : FOVEA_SOURCE_DIR "/.venv-peer/bin/python";
}

/// The command that starts the peer.
std::vector<std::string> command_of(const std::string& peer) {
  const std::filesystem::path python = peer_python();
  check(
      access(python.c_str(), X_OK) == 0, "peer: ", python.string(),
      " is not executable; create it with bench/make_peer.sh, or set FOVEA_PEER_PYTHON to a Python "
      "with torch and timm");
  std::vector<std::string> command{"env"};
  if (peers_are_limited()) {
    command.insert(command.end(), {"ATEN_CPU_CAPABILITY=avx2", "ONEDNN_MAX_CPU_ISA=AVX2",
                                   "MKL_ENABLE_INSTRUCTIONS=AVX2"});
  }
  command.insert(command.end(), {python.string(), FOVEA_SOURCE_DIR "/bench/peer.py", peer});
  return command;
}

}  // namespace

PeerProcess::PeerProcess(const std::string& peer) : child_(command_of(peer)) {}

nlohmann::json PeerProcess::ask(const nlohmann::json& command) {
  return nlohmann::json::parse(child_.ask(json_text(command)));
}

bool peers_are_limited() { return cpu_isa() == Isa::v3; }

}  // namespace fovea::bench
