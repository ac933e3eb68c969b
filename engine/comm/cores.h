// The processor cores of a machine, shared by the processes of a run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/communicator.h"

namespace fovea {

/// Numbers of logical processors.
using Cores = std::vector<int>;

/// Linux's form of such a list: "0-3,8".
[[nodiscard]] std::string to_text(const Cores& cores);
/// Parses it; empty if the text is no such list.
[[nodiscard]] std::optional<Cores> parse_cores(const std::string& text);

/// Sorts by memory node, then so that the threads of a physical core stand together. `root` is the
/// folder that has sys/.
[[nodiscard]] Cores by_place(Cores cores, const std::filesystem::path& root = "/");

/// The part `index` of `count` of the cores in their order: consecutive, equal up to one. With
/// fewer cores than parts, parts share cores; each has at least one.
[[nodiscard]] Cores share_of(const Cores& cores, int index, int count);

/// Binds this process, and the threads that it will start, to its share of the machine's cores,
/// in the order of memory nodes and physical cores. A binding that the user asked the launcher for
/// is kept; cores that several processes then have in common are divided among them. Returns the
/// cores of this process. All processes must call it.
Cores bind_cores(Communicator& processes);

}  // namespace fovea
