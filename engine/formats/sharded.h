// Weights in several files, as hubs keep large models: an index (model.safetensors.index.json,
// pytorch_model.bin.index.json) gives the file of each tensor by name, in "weight_map".
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "engine/base/files.h"

namespace fovea {

/// The names of each file's tensors, by the file's name.
using ShardIndex = std::map<std::string, std::set<std::string>>;

/// Whether a file is an index, by its content: a JSON object with "weight_map".
[[nodiscard]] bool is_weights_index(const ByteSource& source);

/// The shards of an index, which is at `path`. Throws Error, starting with the path: on malformed
/// JSON, a name that is given twice, a file outside of the index's folder, and files that are
/// missing, which it lists.
[[nodiscard]] ShardIndex read_weights_index(const std::filesystem::path& path);

/// Checks that a shard contains just the tensors that the index lists for it. Throws Error,
/// starting with the shard's path.
void check_shard(const std::filesystem::path& index, const std::string& shard,
                 const std::set<std::string>& names, const ShardIndex& shards);

}  // namespace fovea
