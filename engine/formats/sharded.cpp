// An index may come from anywhere: it may name no file outside of its folder.
#include "engine/formats/sharded.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::uint64_t kMaxIndexBytes = 100'000'000;
constexpr const char* kMap = "weight_map";

/// Parses JSON in which no object has a name twice.
json parse_distinct(const std::string& text, const std::string& context) {
  DistinctNames names;
  const auto watch = [&](int depth, json::parse_event_t event, json& value) {
    check(depth <= kMaxNesting, context, ": is not JSON, or nested too deeply");
    if (event == json::parse_event_t::object_start) names.begin(depth);
    if (event == json::parse_event_t::key) {
      const auto& name = value.get_ref<const std::string&>();
      check(names.is_new(depth, name), context, ": gives ", in_quotes(name), " twice");
    }
    return true;
  };
  try {
    return json::parse(text, watch);
  } catch (const json::exception&) {
    fail(context, ": is not JSON, or nested too deeply");
  }
}

/// A plain name: a path could lead anywhere.
void require_plain(const std::string& shard, const std::string& context) {
  const bool plain = !shard.empty() && shard != "." && shard != ".." &&
                     shard.find_first_of("/\\") == std::string::npos &&
                     shard.find('\0') == std::string::npos;
  check(plain, context, ": names the file ", in_quotes(shard),
        ", expected the name of a file in the same folder");
}

void require_files(const ShardIndex& shards, const fs::path& index) {
  constexpr std::size_t kMax = 5;
  std::vector<std::string> missing;
  std::size_t count = 0;
  for (const auto& [shard, names] : shards) {
    std::error_code error;
    if (fs::is_regular_file(index.parent_path() / shard, error)) continue;
    if (++count <= kMax) missing.push_back(in_quotes(shard));
  }
  if (count > kMax) missing.push_back("...");
  check(count == 0, index.string(), ": ", count, " of its ", shards.size(),
        shards.size() == 1 ? " file is" : " files are",
        " missing in the folder: ", join(missing, ", "), "; download the whole set");
}

/// Which shard the index gives for a name.
std::string place_of(const std::string& name, const ShardIndex& shards) {
  for (const auto& [shard, names] : shards) {
    if (names.contains(name)) return "which the index places in " + in_quotes(shard);
  }
  return "which the index does not list";
}

}  // namespace

bool is_weights_index(const ByteSource& source) {
  if (source.size() > kMaxIndexBytes) return false;
  const std::string start = source.text_at(0, std::min<std::uint64_t>(source.size(), 64));
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || start[first] != '{') return false;
  const json root = parse_json(source.text_at(0, source.size()));
  return root.is_object() && root.contains(kMap);
}

ShardIndex read_weights_index(const fs::path& path) {
  const std::string context = path.string();
  const InputFile file(path);
  check(file.size() <= kMaxIndexBytes, context, ": has ", file.size(), " bytes, expected at most ",
        kMaxIndexBytes);
  const json root = parse_distinct(file.text_at(0, file.size()), context);
  const bool has_map = root.is_object() && root.contains(kMap) && root.at(kMap).is_object();
  check(has_map, context, ": has no object ", kMap, ", expected an index of weights");
  ShardIndex shards;
  for (const auto& [name, shard] : root.at(kMap).items()) {
    check(shard.is_string(), context, ": gives ", json_text(shard).substr(0, 60), " for ",
          in_quotes(name), ", expected the name of a file");
    const auto& text = shard.get_ref<const std::string&>();
    require_plain(text, context);
    check(text != path.filename().string(), context, ": names itself as a file of weights");
    shards[text].insert(name);
  }
  check(!shards.empty(), context, ": lists no tensors");
  require_files(shards, path);
  return shards;
}

void check_shard(const fs::path& index, const std::string& shard,
                 const std::set<std::string>& names, const ShardIndex& shards) {
  const std::string context = (index.parent_path() / shard).string();
  const std::set<std::string>& listed = shards.at(shard);
  for (const std::string& name : names) {
    check(listed.contains(name), context, ": contains ", in_quotes(name), ", ",
          place_of(name, shards), "; index and files are of different downloads");
  }
  for (const std::string& name : listed) {
    check(names.contains(name), context, ": lacks ", in_quotes(name), ", which ",
          index.filename().string(), " places in it; index and files are of different downloads");
  }
}

}  // namespace fovea
