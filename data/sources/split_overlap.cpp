// Compares a small sample: reading all files would take as long as an epoch.
#include "data/sources/split_overlap.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "data/sources/boxes/detection_set.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCompared = 32;  // test pictures
constexpr std::size_t kMostAlike = 8;      // training pictures for each of them and each key

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

using Indices = std::vector<std::int64_t>;

/// The training pictures under each key, the first few of them.
std::map<std::string, Indices> indices_by_key(const Dataset& train) {
  std::map<std::string, Indices> known;
  for (std::int64_t i = 0; i < train.size(); ++i) {
    for (const std::string& key : keys_of(train, i)) {
      Indices& alike = known[key];
      if (alike.size() < kMostAlike) alike.push_back(i);
    }
  }
  return known;
}

/// A test picture, and the training pictures that have one of its keys.
struct Suspect {
  std::int64_t test = 0;
  Indices train{};
};

std::vector<Suspect> suspects_in(const Dataset& test, const Dataset& train) {
  const std::map<std::string, Indices> known = indices_by_key(train);
  std::vector<Suspect> suspects;
  for (std::int64_t i = 0; i < test.size(); ++i) {
    Suspect suspect{i};
    for (const std::string& key : keys_of(test, i)) {
      const auto found = known.find(key);
      if (found == known.end()) continue;
      suspect.train.insert(suspect.train.end(), found->second.begin(), found->second.end());
    }
    if (!suspect.train.empty()) suspects.push_back(std::move(suspect));
  }
  return suspects;
}

/// The bytes of a picture's file. One that cannot be read is reported when its pixels are needed.
std::optional<std::string> readable_file(const Dataset& dataset, std::int64_t index) {
  try {
    return dataset.file(index);
  } catch (const Error&) {
    return {};
  }
}

bool is_trained_on(const Suspect& suspect, const Dataset& test, const Dataset& train) {
  const std::optional<std::string> bytes = readable_file(test, suspect.test);
  return bytes && std::ranges::any_of(suspect.train, [&](std::int64_t i) {
           return readable_file(train, i) == bytes;
         });
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
  const std::vector<Suspect> suspects = suspects_in(test, train);
  const std::vector<Suspect> compared = sampled(suspects, kMostCompared);
  const auto same = std::ranges::count_if(
      compared, [&](const Suspect& suspect) { return is_trained_on(suspect, test, train); });
  if (same == 0) return {};
  const bool are_all = compared.size() == suspects.size();
  return concat(are_all ? "" : "at least ", same, " of ", test.size(), " test pictures ",
                same == 1 ? "is also a training picture" : "are also training pictures",
                are_all ? "" : concat(" (", compared.size(), " were compared)"));
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
