// bench/peer.py as a process that answers each command with one JSON line.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "bench/child.h"

namespace fovea::bench {

class PeerProcess {
 public:
  /// Starts `python` on `script`. Throws Error with instructions for creating the environment if it
  /// does not exist.
  PeerProcess(const std::filesystem::path& python, const std::filesystem::path& script);

  /// Sends a command and waits for its answer. Throws Error if the process has ended.
  nlohmann::json ask(const nlohmann::json& command);

 private:
  Child child_;
};

/// The Python with torch and timm: FOVEA_PEER_PYTHON, or that of bench/make_peer.sh.
[[nodiscard]] std::filesystem::path peer_python();

}  // namespace fovea::bench
