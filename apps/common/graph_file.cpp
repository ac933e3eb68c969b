// Writing drawings for Graphviz, which runs only to make an .svg.
#include "apps/common/graph_file.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/fields.h"
#include "engine/base/files.h"
#include "engine/base/temporary_folder.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// Path of Graphviz's `dot`, if it is on PATH.
std::optional<fs::path> graphviz() {
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split_text(path == nullptr ? "" : path, ':')) {
    const fs::path program = fs::path(folder) / "dot";
    if (fs::is_regular_file(program) && access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

/// Standard output of a command.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  check(pipe != nullptr, "graph: ", command, " could not be started");
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    output.append(buffer.data(), count);
  }
  const int status = pclose(pipe);
  check(status == 0, "graph: ", command, " failed with status ", status);
  return output;
}

}  // namespace

void require_graph_file(const fs::path& file) {
  const std::string kind = file.extension();
  if (kind != ".dot" && kind != ".svg") {
    throw UsageError("--graph: got " + file.string() + ", expected a file named *.dot or *.svg");
  }
  if (kind == ".svg" && !graphviz()) {
    throw UsageError(
        "--graph: an .svg file needs Graphviz, but its program dot is not on PATH; "
        "install it (Debian package graphviz), or write a .dot file");
  }
}

void write_graph(const fs::path& file, std::string_view dot) {
  if (file.extension() == ".dot") return write_file_atomically(file, dot);
  const TemporaryFolder folder;
  write_file_atomically(folder / "graph.dot", dot);
  const std::string program = graphviz().value_or("dot").string();
  write_file_atomically(file, output_of(shell_word(program) + " -Tsvg " +
                                        shell_word((folder / "graph.dot").string())));
}

}  // namespace fovea
