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

/// How the libraries of PyTorch are limited to an instruction set: oneDNN, its own loops, and MKL.
struct Limit {
  std::string name, onednn, aten, mkl;
};

Limit limit_to(Isa isa) {
  switch (instructions_of(isa)) {
    case Isa::v2:
      return {"SSE4.2", "SSE41", "default", "SSE4_2"};
    case Isa::v4:
      return {"AVX-512", "AVX512_CORE", "avx512", "AVX512"};
    case Isa::v4bf16:
      return {"AVX-512 BF16", "AVX512_CORE_BF16", "avx512", "AVX512_E3"};
    case Isa::amx:
      return {"AMX", "AVX512_CORE_AMX", "avx512", "AVX512_E4"};
    default:
      return {"AVX2", "AVX2", "avx2", "AVX2"};
  }
}

std::filesystem::path peer_python() {
  const char* const python = std::getenv("FOVEA_PEER_PYTHON");
  return python != nullptr ? python : FOVEA_SOURCE_DIR "/.venv-peer/bin/python";
}

/// Of the sources, or if the program has come to another machine, of the current folder.
std::filesystem::path peer_script() {
  const std::filesystem::path script = FOVEA_SOURCE_DIR "/bench/peer.py";
  return exists(script) ? script : "bench/peer.py";
}

/// The command that starts the peer.
std::vector<std::string> command_of(const std::string& peer) {
  const std::filesystem::path python = peer_python();
  check(
      access(python.c_str(), X_OK) == 0, "peer: ", python.string(),
      " is not executable; create it with bench/make_peer.sh, or set FOVEA_PEER_PYTHON to a Python "
      "with torch and timm");
  std::vector<std::string> command{"env"};
  if (!peer_limit().empty()) {
    const Limit limit = limit_to(cpu_isa());
    command.insert(command.end(),
                   {"ONEDNN_MAX_CPU_ISA=" + limit.onednn, "ATEN_CPU_CAPABILITY=" + limit.aten,
                    "MKL_ENABLE_INSTRUCTIONS=" + limit.mkl});
  }
  command.insert(command.end(), {python.string(), peer_script().string(), peer});
  return command;
}

}  // namespace

PeerProcess::PeerProcess(const std::string& peer) : child_(command_of(peer)) {}

nlohmann::json PeerProcess::ask(const nlohmann::json& command) {
  return nlohmann::json::parse(child_.ask(json_text(command)));
}

std::string peer_limit() {
  return instructions_of(cpu_isa()) == processor_isa() ? "" : limit_to(cpu_isa()).name;
}

}  // namespace fovea::bench
