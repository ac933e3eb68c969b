// Reads and checks lists of image numbers.
#include "data/sources/files/matlab_split_lists.h"

#include "data/sources/files/find_ignoring_case.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"
#include "engine/formats/matlab.h"

namespace fovea {

namespace fs = std::filesystem;

SplitLists read_matlab_split_lists(const fs::path& path, const std::vector<std::string>& names,
                                   std::int64_t images) {
  const MatlabFile file(read_file(path), path.string());
  SplitLists lists;
  std::vector<const std::string*> owner(static_cast<std::size_t>(images), nullptr);
  for (const std::string& name : names) {
    lists.emplace_back(name, file.read_indices(name, images));
    for (const std::int64_t image : lists.back().second) {
      const std::string* const other = owner[static_cast<std::size_t>(image)];
      check(other == nullptr, path.string(), ": image ", image + 1, " is in ", in_quotes(name),
            other == &name ? " twice" : " and in " + in_quotes(other == nullptr ? "" : *other));
      owner[static_cast<std::size_t>(image)] = &name;
    }
  }
  return lists;
}

fs::path folder_with(const fs::path& data_dir, const std::vector<std::string>& usual,
                     const std::string& file) {
  if (is_file(data_dir / file)) return data_dir;
  for (const std::string& name : usual) {
    const fs::path folder = find_ignoring_case(data_dir, name);
    if (!folder.empty() && is_file(folder / file)) return folder;
  }
  return {};
}

}  // namespace fovea
