// Finding shards and making one data set of them.
#include "data/sources/tar_shards.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "data/image.h"
#include "data/sources/class_list.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

bool is_shard(const fs::path& path) {
  std::error_code ignored;
  return path.extension() == ".tar" && fs::is_regular_file(path, ignored);
}

/// The tar files of a folder with `part` in their names, sorted.
std::vector<fs::path> shards_below(const fs::path& folder, const std::string& part) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const bool fits = entry.path().filename().string().find(part) != std::string::npos;
    if (fits && is_shard(entry.path())) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> shards_of_pattern(const fs::path& data_dir, const std::string& pattern) {
  std::vector<fs::path> found;
  for (const std::string& name : expand_braces(pattern)) {
    const fs::path path = data_dir / name;
    const std::vector<fs::path> below = shards_below(path, "");
    if (!below.empty()) {
      found.insert(found.end(), below.begin(), below.end());
    } else if (path.extension() == ".tar") {
      check(is_shard(path), path.string(), ": there is no such shard");
      found.push_back(path);
    }
  }
  return found;
}

std::int64_t label_count(const std::vector<TarSample>& samples) {
  std::int64_t count = 0;
  for (const TarSample& sample : samples) count = std::max(count, sample.label + 1);
  return count;
}

struct Shard {
  std::optional<InputFile> file;
  TarSamples content;
};

std::vector<Shard> index_shards(const std::vector<fs::path>& paths) {
  std::vector<Shard> shards(paths.size());
  parallel_for(static_cast<std::int64_t>(paths.size()), 1, [&](std::int64_t begin, std::int64_t) {
    const std::string name = paths[begin].string();
    Shard& shard = shards[begin];
    const InputFile& file = shard.file.emplace(paths[begin]);
    shard.content = group_tar(file, index_tar(file, name), name);
  });
  return shards;
}

/// Names where the data set says them.
std::vector<std::string> listed_names(const DatasetOptions& options) {
  if (!options.class_map.empty()) return read_class_map(options.class_map, options.data_dir).ids();
  std::error_code ignored;
  const fs::path file = options.data_dir / "classes.txt";
  if (fs::is_regular_file(file, ignored)) return read_class_map(file, {}).ids();
  return {};
}

/// The largest label of the other split counts too, so that both have the same classes.
std::int64_t label_count_of_other(const DatasetOptions& options, Split split) {
  std::int64_t count = 0;
  const Split other = split == Split::train ? Split::test : Split::train;
  for (const Shard& shard : index_shards(find_shards(options, other)))
    count = std::max(count, label_count(shard.content.samples));
  return count;
}

}  // namespace

std::vector<fs::path> find_shards(const DatasetOptions& options, Split split) {
  const bool train = split == Split::train;
  const std::string& wanted = train ? options.train_split : options.val_split;
  if (!wanted.empty()) return shards_of_pattern(options.data_dir, wanted);
  std::vector<std::string> folders = {"val", "validation"};
  if (train) folders = {"train"};
  for (const std::string& folder : folders) {
    std::vector<fs::path> found = shards_below(options.data_dir / folder, "");
    if (!found.empty()) return found;
  }
  return shards_below(options.data_dir, train ? "train" : "val");
}

TarShards::TarShards(const DatasetOptions& options, Split split)
    : paths_(find_shards(options, split)) {
  const char* what = split == Split::train ? "train" : "val";
  check(!paths_.empty(), options.data_dir.string(), ": holds no tar shards, expected ", what,
        "/*.tar or *", what, "*.tar; --", what, "-split names others, e.g. shard-{000..146}.tar");
  std::int64_t incomplete = 0;
  for (Shard& shard : index_shards(paths_)) {
    begins_.push_back(size());
    files_.push_back(std::move(*shard.file));
    incomplete += shard.content.incomplete;
    std::move(shard.content.samples.begin(), shard.content.samples.end(),
              std::back_inserter(samples_));
  }
  begins_.push_back(size());
  check(!samples_.empty(), paths_.front().string(), ": holds no samples, expected pictures (",
        joined(picture_endings(), ", "), ") with a .cls file each");
  if (incomplete > 0)
    notice_ = paths_.front().parent_path().string() + ": " + std::to_string(incomplete) +
              " samples without picture or label are left out";

  const std::int64_t own = label_count(samples_);
  for (const std::string& name : listed_names(options)) names_.push_back(visible_text(name));
  if (names_.empty()) {
    const std::int64_t count = std::max(own, label_count_of_other(options, split));
    for (std::int64_t k = 0; k < count; ++k) names_.push_back(std::to_string(k));
  }
  check(own <= classes(), paths_.front().string(), ": has the label ", own - 1, ", but only ",
        classes(), " classes are named");
}

std::size_t TarShards::shard_of(std::int64_t index) const {
  check(index >= 0 && index < size(), paths_.front().string(), ": got index ", index,
        ", expected 0 to ", size() - 1);
  return std::upper_bound(begins_.begin(), begins_.end(), index) - begins_.begin() - 1;
}

std::int64_t TarShards::label(std::int64_t index) const {
  static_cast<void>(shard_of(index));
  return samples_[index].label;
}

std::optional<std::string> TarShards::file(std::int64_t index) const {
  const InputFile& shard = files_[shard_of(index)];
  return shard.text_at(samples_[index].offset, samples_[index].size);
}

std::string TarShards::describe(std::int64_t index) const {
  return paths_[shard_of(index)].string() + ": " + samples_[index].path;
}

void TarShards::list_entry(std::int64_t index, ListEntry& entry) const {
  entry.name.append(std::to_string(shard_of(index))).append("/").append(samples_[index].path);
  entry.label = samples_[index].label;
}

std::vector<std::int64_t> TarShards::parts() const {
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 0; i + 1 < begins_.size(); ++i) sizes.push_back(begins_[i + 1] - begins_[i]);
  return sizes;
}

}  // namespace fovea
