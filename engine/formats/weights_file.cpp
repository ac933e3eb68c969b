// Selects the reader for a weight file.
#include "engine/formats/weights_file.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/formats/foreign_file.h"
#include "engine/formats/numpy/npz.h"
#include "engine/formats/safetensors.h"
#include "engine/formats/sharded.h"
#include "engine/formats/torch/torch_file.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

enum class Format { safetensors, torch, npz, index };

/// The format by content. When the bytes match none, the name decides, so that the error comes from
/// the expected reader.
Format format_of(const fs::path& path, const ByteSource& file) {
  if (is_safetensors(file)) return Format::safetensors;
  if (is_npz(file)) return Format::npz;
  if (is_torch_file(file)) return Format::torch;
  if (path.string().ends_with(".index.json") || is_weights_index(file)) return Format::index;
  require_no_foreign_file(file, path.string());
  constexpr std::array kNames{".pth", ".pt", ".bin", ".ckpt", ".tar"};  // as in DETR and timm
  const bool is_named = std::find(kNames.begin(), kNames.end(), path.extension()) != kNames.end();
  return is_named ? Format::torch : Format::safetensors;
}

/// For files that are one set of weights: a key cannot select any other.
std::string note_of(const WeightsKey& key) {
  const std::string wanted = !key.name.empty() ? "--weights-key " + key.name + " is not in it"
                             : key.is_averaged ? "--use-ema finds no averages in it"
                                               : "";
  if (wanted.empty()) return {};
  return "contains a single set of weights, which is used; " + wanted;
}

std::string note_of(const WeightsKey& key, bool is_by_key) {
  return is_by_key ? std::string() : note_of(key);
}

/// Calls f with the path of each file of a set, after checking that it contains what its index
/// says.
template <class F>
void for_each_shard(const fs::path& index, const F& f) {
  const ShardIndex shards = read_weights_index(index);
  for (const auto& [shard, names] : shards) {
    const fs::path path = index.parent_path() / shard;
    const InputFile file(path);
    check(format_of(path, file) != Format::index, path.string(),
          ": is an index too, expected a file of weights");
    std::set<std::string> found;
    for (const StoredEntry& entry : list_weights(path).entries) found.insert(entry.name);
    check_shard(index, shard, found, shards);
    f(path);
  }
}

WeightsFile read_shards(const fs::path& index, const std::string& note) {
  WeightsFile all{{}, {}, note};
  for_each_shard(index,
                 [&](const fs::path& shard) { all.tensors.merge(read_weights(shard).tensors); });
  return all;
}

WeightsList list_shards(const fs::path& index, const std::string& note) {
  WeightsList all{{}, {}, {}, note};
  for_each_shard(index, [&](const fs::path& shard) {
    WeightsList list = list_weights(shard);
    std::move(list.entries.begin(), list.entries.end(), std::back_inserter(all.entries));
    std::move(list.others.begin(), list.others.end(), std::back_inserter(all.others));
  });
  return all;
}

}  // namespace

WeightsFile read_weights(const fs::path& path, const WeightsKey& key) {
  const InputFile file(path);
  switch (format_of(path, file)) {
    case Format::torch: {
      const TorchDictionary dictionary(file, key, path.string());
      return {dictionary.read(), {}, note_of(key, dictionary.is_by_key())};
    }
    case Format::npz:
      return {NpzFile(file, path.string()).read(), {}, note_of(key)};
    case Format::index:
      return read_shards(path, note_of(key));
    default: {
      SafetensorsFile read = read_safetensors(path);
      return {std::move(read.tensors), std::move(read.metadata), note_of(key)};
    }
  }
}

WeightsList list_weights(const fs::path& path, const WeightsKey& key) {
  const InputFile file(path);
  switch (format_of(path, file)) {
    case Format::torch: {
      const TorchDictionary dictionary(file, key, path.string());
      return {dictionary.entries(), dictionary.others(), {}, note_of(key, dictionary.is_by_key())};
    }
    case Format::npz: {
      const NpzFile arrays(file, path.string());
      return {arrays.entries(), arrays.others(), {}, note_of(key)};
    }
    case Format::index:
      return list_shards(path, note_of(key));
    default: {
      SafetensorsList list = list_safetensors(path);
      return {std::move(list.entries), {}, std::move(list.metadata), note_of(key)};
    }
  }
}

}  // namespace fovea
