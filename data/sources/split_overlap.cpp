// Compares a small sample: reading all files would take as long as an epoch.
#include "data/sources/split_overlap.h"

#include <algorithm>
#include <map>
#include <utility>

#include "data/sources/boxes/detection_set.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCompared = 32;

bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const auto size = fs::file_size(a, error);
  if (error || size == 0 || size != fs::file_size(b, error) || error) return false;
  try {
    return read_file(a) == read_file(b);
  } catch (const Error&) {  // reported when its pixels are needed
    return false;
  }
}

/// What two listings of a picture have in common: its name, or the boxes of its objects.
std::vector<std::string> keys_of(const Dataset& dataset, std::int64_t index) {
  ListEntry entry;
  dataset.list_entry(index, entry);
  std::vector<std::string> keys{entry.name};
  const auto* const boxes = dynamic_cast<const DetectionSet*>(&dataset);
  if (boxes == nullptr) return keys;
  std::string drawn = to_string(boxes->stored_size(index));
  const std::vector<Annotation> objects = boxes->annotations(index);
  for (const Annotation& o : objects)
    drawn += concat(" ", o.x, ",", o.y, ",", o.width, ",", o.height);
  if (!objects.empty()) keys.push_back(drawn);
  return keys;
}

bool is_same(const Dataset& a, std::int64_t in_a, const Dataset& b, std::int64_t in_b) {
  try {
    const std::optional<std::string> bytes = a.file(in_a);
    return bytes && bytes == b.file(in_b);
  } catch (const Error&) {  // reported when its pixels are needed
    return false;
  }
}

/// Every so many of the entries, at most `most`.
template <class Entry>
std::vector<Entry> sampled(const std::vector<Entry>& all, std::size_t most) {
  const std::size_t count = std::min(all.size(), most);
  std::vector<Entry> some;
  for (std::size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

}  // namespace

std::string split_overlap_notice(const Dataset& test, const Dataset& train) {
  std::map<std::string, std::int64_t> known;
  for (std::int64_t i = 0; i < train.size(); ++i)
    for (const std::string& key : keys_of(train, i)) known.emplace(key, i);
  std::vector<std::pair<std::int64_t, std::int64_t>> alike;
  for (std::int64_t i = 0; i < test.size(); ++i) {
    for (const std::string& key : keys_of(test, i)) {
      const auto found = known.find(key);
      if (found == known.end()) continue;
      alike.emplace_back(i, found->second);
      break;
    }
  }
  const auto compared = sampled(alike, kMostCompared);
  const auto same = std::ranges::count_if(
      compared, [&](const auto& pair) { return is_same(test, pair.first, train, pair.second); });
  if (same == 0) return {};
  const std::string of_compared =
      compared.size() == alike.size() ? "" : concat(" of ", compared.size(), " compared");
  return concat(same, of_compared, " of the ", test.size(), " test pictures ",
                same == 1 ? "is" : "are", " also training images, so the evaluation includes ",
                "images that were trained on");
}

std::string split_overlap_notice(const fs::path& root, const FolderIndex& index,
                                 const fs::path& training) {
  const std::size_t pictures = index.files.size(), compared = std::min(pictures, kMostCompared);
  if (training.empty()) return {};
  std::size_t same = 0;
  for (std::size_t i = 0; i < compared; ++i) {
    const FolderIndex::File& file = index.files[i * pictures / compared];
    const std::string& folder = index.directories[static_cast<std::size_t>(file.directory)].path;
    const fs::path inside = fs::path(folder) / file.name;
    same += is_same(root / inside, training / inside) ? 1 : 0;
  }
  if (same == 0) return {};
  return concat(same, " of ", compared, " pictures compared are also training images in ",
                training.string(), ", so the evaluation includes images that were trained on");
}

}  // namespace fovea
