// Splitting a key into a dictionary and a prefix, then reading and renaming.
#include "models/checkpoints/checkpoint.h"

#include <optional>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/safetensors.h"
#include "models/checkpoints/official_names.h"

namespace fovea {
namespace {

struct SplitKey {
  WeightsKey dictionary;
  std::string prefix{};
};

bool selects_some(const std::filesystem::path& path, const SplitKey& split) {
  try {
    const WeightsList list = list_weights(path, split.dictionary);
    std::vector<std::string> names;
    for (const StoredEntry& entry : list.entries) names.push_back(entry.name);
    return list.note.empty() && has_prefix(names, split.prefix);
  } catch (const Error&) {  // no such dictionary
    return false;
  }
}

/// The longest dictionary whose names begin with the rest of the key. A key that selects neither
/// is left to read_weights(), which says what there is.
SplitKey split_key(const std::filesystem::path& path, const WeightsKey& key) {
  const std::string& name = key.name;
  for (std::size_t dot = name.rfind('.');;) {
    const bool whole = dot == std::string::npos;
    const std::string dictionary = whole ? "" : name.substr(0, dot);
    const SplitKey split{{dictionary, key.is_shared}, whole ? name : name.substr(dot + 1)};
    if (!split.prefix.empty() && selects_some(path, split)) return split;
    if (whole) break;
    dot = dot == 0 ? std::string::npos : name.rfind('.', dot - 1);
  }
  return {key};
}

bool is_dictionary(const std::filesystem::path& path, const WeightsKey& key) {
  try {
    return list_weights(path, key).note.empty();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

Checkpoint read_checkpoint(const std::filesystem::path& path, const WeightsKey& key) {
  const bool is_whole = key.name.empty() || is_dictionary(path, key);
  const SplitKey split = is_whole ? SplitKey{key} : split_key(path, key);
  WeightsFile file = read_weights(path, split.dictionary);
  Checkpoint checkpoint{{}, std::move(file.metadata)};
  // "." is the outermost dictionary, or in a file without dictionaries the outermost encoder.
  const bool outermost = key.name == "." && split.prefix.empty();
  OfficialWeights official = with_context(path.string(), [&] {
    return official_weights(file.tensors, outermost ? "." : split.prefix);
  });
  checkpoint.tensors = std::move(official.tensors);
  checkpoint.notes = std::move(official.notes);
  checkpoint.settings = std::move(official.settings);
  if (!file.note.empty() && !outermost) {
    checkpoint.notes.insert(checkpoint.notes.begin(), file.note);
  }
  return checkpoint;
}

Metadata read_metadata(const std::filesystem::path& path) {
  if (!is_safetensors(InputFile(path))) return {};
  return list_safetensors(path).metadata;
}

}  // namespace fovea
