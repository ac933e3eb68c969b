// Files of --graph. Graphviz is a script here: what matters is how it is found and asked.
#include "apps/common/graph_file.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

#include "engine/base/files.h"
#include "tests/support/temporary_folder.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

/// PATH is that folder alone while it lives.
class Path {
 public:
  explicit Path(const fs::path& folder) : before_(std::getenv("PATH")) {
    setenv("PATH", folder.c_str(), 1);
  }
  ~Path() { setenv("PATH", before_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::string before_;
};

/// A program `dot` in `folder` with that body, in sh.
void make_dot(const fs::path& folder, const std::string& body) {
  write_file_atomically(folder / "dot", "#!/bin/sh\n" + body + "\n");
  fs::permissions(folder / "dot", fs::perms::owner_all);
}

}  // namespace

TEST_CASE("a .dot file is written as it is") {
  const TemporaryFolder folder;
  require_graph_file(folder / "a.dot");
  write_graph(folder / "a.dot", "digraph {}");
  CHECK(read_file(folder / "a.dot") == "digraph {}");
  CHECK(contains(message_of([&] { require_graph_file(folder / "a.png"); }), "*.dot or *.svg"));
}

TEST_CASE("an .svg is what Graphviz makes of it; without Graphviz the error says what helps") {
  const TemporaryFolder folder;
  const Path path(folder.path());
  CHECK(contains(message_of([&] { require_graph_file(folder / "a.svg"); }),
                 "Debian package graphviz), or write a .dot file"));
  make_dot(folder.path(), "echo \"svg $1\"; while read -r line; do echo \"$line\"; done < \"$2\"");
  require_graph_file(folder / "it's.svg");
  write_graph(folder / "it's.svg", "digraph {}\n");
  CHECK(read_file(folder / "it's.svg") == "svg -Tsvg\ndigraph {}\n");
  make_dot(folder.path(), "exit 3");
  CHECK(contains(message_of([&] { write_graph(folder / "b.svg", "digraph {}"); }), "failed"));
  CHECK(!fs::exists(folder / "b.svg"));
}

}  // namespace fovea
