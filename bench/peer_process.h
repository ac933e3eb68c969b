// bench/peer.py as a process that answers each command with one JSON line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/child.h"

namespace fovea::bench {

class PeerProcess {
 public:
  /// Starts `peer`, one of the names in bench/peer.py, with the Python of FOVEA_PEER_PYTHON or of
  /// bench/make_peer.sh. Throws Error with instructions for creating that if it does not exist.
  explicit PeerProcess(const std::string& peer);

  /// Sends a command and waits for its answer. Throws Error if the process has ended.
  nlohmann::json ask(const nlohmann::json& command);

 private:
  Child child_;
};

/// The instructions that peers are limited to, e.g. "AVX2", because FOVEA_ISA keeps us from those
/// that the processor has beyond them; else "".
[[nodiscard]] std::string peer_limit();

}  // namespace fovea::bench
