// bench/peer.py as a process that answers each command with one JSON line.
#pragma once

#include <sys/types.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace fovea::bench {

class PeerProcess {
 public:
  /// Starts `python` on `script`. Throws Error with instructions for creating the environment if it
  /// does not exist.
  PeerProcess(const std::filesystem::path& python, const std::filesystem::path& script);
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Sends a command and waits for its answer. Throws Error if the process has ended.
  nlohmann::json ask(const nlohmann::json& command);

 private:
  pid_t pid_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace fovea::bench
