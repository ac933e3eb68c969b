// The peer process and its pipes.
#include "bench/peer_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "engine/cpu_isa.h"

namespace fovea::bench {
namespace {

/// If FOVEA_ISA lowers our instruction set, limits the peer's libraries to the same one.
void hold_to_our_instruction_set() {
  if (cpu_isa() != Isa::v3) return;
  setenv("ATEN_CPU_CAPABILITY", "avx2", 1);
  setenv("ONEDNN_MAX_CPU_ISA", "AVX2", 1);
  setenv("MKL_ENABLE_INSTRUCTIONS", "AVX2", 1);
}

}  // namespace

PeerProcess::PeerProcess(const std::filesystem::path& python, const std::filesystem::path& script) {
  check(
      access(python.c_str(), X_OK) == 0, "peer: ", python.string(),
      " is not executable; create it with bench/make_peer.sh, or set FOVEA_PEER_PYTHON to a Python "
      "with torch and timm");
  int down[2], up[2];
  check(pipe(down) == 0 && pipe(up) == 0, "peer: pipe failed");
  pid_ = fork();
  check(pid_ >= 0, "peer: fork failed");
  if (pid_ == 0) {
    dup2(down[0], STDIN_FILENO);
    dup2(up[1], STDOUT_FILENO);
    for (const int fd : {down[0], down[1], up[0], up[1]}) close(fd);
    hold_to_our_instruction_set();
    execl(python.c_str(), python.c_str(), script.c_str(), nullptr);
    _exit(127);
  }
  close(down[0]);
  close(up[1]);
  to_ = fdopen(down[1], "w");
  from_ = fdopen(up[0], "r");
}

PeerProcess::~PeerProcess() {
  std::fclose(to_);
  std::fclose(from_);
  waitpid(pid_, nullptr, 0);
}

nlohmann::json PeerProcess::ask(const nlohmann::json& command) {
  std::fprintf(to_, "%s\n", json_text(command).c_str());
  std::fflush(to_);
  char* line = nullptr;
  std::size_t capacity = 0;
  const ssize_t length = getline(&line, &capacity, from_);
  const std::string answer(line != nullptr && length > 0 ? line : "");
  std::free(line);
  check(!answer.empty(), "peer: the Python process ended; see its message above");
  return nlohmann::json::parse(answer);
}

}  // namespace fovea::bench
