// Compares a small sample: reading all files would take as long as an epoch.
#include "data/sources/split_overlap.h"

#include <algorithm>

#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::string split_overlap_notice(const fs::path& root, const FolderIndex& index,
                                 const fs::path& training) {
  constexpr std::size_t most = 32;
  const std::size_t pictures = index.files.size(), compared = std::min(pictures, most);
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
