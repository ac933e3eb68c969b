// Finds shards and presents them as one data set.
#include "data/sources/packed/tar_shards.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "data/classes/class_list.h"
#include "data/image.h"
#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/files/split_folders.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

bool is_shard(const fs::path& path) { return path.extension() == ".tar" && is_file(path); }

/// How to unpack a compressed file in place.
struct Compression {
  std::string_view ending, command;
};
constexpr auto kCompressions = std::to_array<Compression>({{".gz", "gunzip -k"},
                                                           {".tgz", "gunzip -k -S .tgz"},
                                                           {".bz2", "bunzip2 -k"},
                                                           {".xz", "unxz -k"},
                                                           {".zst", "unzstd"}});

const Compression* find_compression(const fs::path& path) {
  const bool is_tar = path.stem().extension() == ".tar" || path.extension() == ".tgz";
  const auto* const found = std::ranges::find_if(
      kCompressions, [&](const Compression& c) { return path.extension() == c.ending; });
  return is_tar && found != kCompressions.end() ? found : nullptr;
}

bool is_compressed_alone(const fs::path& path) {
  if (find_compression(path) == nullptr || !is_file(path)) return false;
  const fs::path unpacked = path.parent_path() / path.stem();
  return !is_file(unpacked) && !is_file(unpacked.string() + ".tar");
}

/// The files of a folder that satisfy the condition, with `part` in their names, sorted.
std::vector<fs::path> files_below(const fs::path& folder, const std::string& part,
                                  bool (*is_such)(const fs::path&)) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool fits = !name.starts_with('.') && name.find(part) != std::string::npos;
    if (fits && is_such(entry.path())) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  return found;
}

std::vector<fs::path> shards_below(const fs::path& folder, const std::string& part) {
  return files_below(folder, part, is_shard);
}

std::vector<fs::path> shards_of_pattern(const fs::path& data_dir, const std::string& pattern) {
  std::vector<fs::path> found;
  for (const std::string& name : shard_names(pattern)) {
    const fs::path path = data_dir / name;
    const std::vector<fs::path> below = shards_below(path, "");
    if (!below.empty()) {
      found.insert(found.end(), below.begin(), below.end());
    } else if (path.extension() == ".tar") {
      check(is_shard(path), path.string(), ": no such shard");
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

/// Class names, if the data set provides them.
std::vector<std::string> class_names_given(const DatasetOptions& options) {
  if (!options.class_map.empty()) return read_class_map(options.class_map, options.data_dir).ids();
  const fs::path file = options.data_dir / "classes.txt";
  if (is_file(file)) return read_class_map(file, {}).ids();
  return {};
}

/// The label count of the other split, so that both splits have the same classes.
std::int64_t label_count_of_other(const DatasetOptions& options, Split split) {
  std::int64_t count = 0;
  const Split other = split == Split::train ? Split::test : Split::train;
  for (const Shard& shard : index_shards(find_shards(options, other)))
    count = std::max(count, label_count(shard.content.samples));
  return count;
}

}  // namespace

std::vector<fs::path> find_shards(const DatasetOptions& options, Split split) {
  const std::string& wanted = wanted_split(options, split);
  if (!wanted.empty()) return shards_of_pattern(options.data_dir, wanted);
  for (const std::string& name : usual_split_names(split)) {
    std::vector<fs::path> found = shards_below(find_ignoring_case(options.data_dir, name), "");
    if (!found.empty()) return found;
  }
  return shards_below(options.data_dir, usual_split_names(split).front());
}

fs::path find_compressed_shard(const DatasetOptions& options, Split split) {
  const std::string& wanted = wanted_split(options, split);
  std::vector<fs::path> found;
  const auto look = [&](const fs::path& folder, const std::string& part) {
    if (found.empty()) found = files_below(folder, part, is_compressed_alone);
  };
  if (!wanted.empty()) {
    look(options.data_dir / wanted, "");
    for (const std::string& name : shard_names(wanted)) {
      if (found.empty() && is_compressed_alone(options.data_dir / name))
        found.push_back(options.data_dir / name);
    }
  } else {
    for (const std::string& name : usual_split_names(split)) {
      look(find_ignoring_case(options.data_dir, name), "");
    }
    look(options.data_dir, usual_split_names(split).front());
  }
  return found.empty() ? fs::path() : found.front();
}

std::string unpacking_advice(const fs::path& shard) {
  const Compression* const compression = find_compression(shard);
  return concat(shard.string(),
                ": is compressed, but only a plain tar file can be read in random order; ",
                "to unpack it: ", compression == nullptr ? "gunzip" : compression->command, " ",
                shell_word(shard.string()));
}

TarShards::TarShards(const DatasetOptions& options, Split split)
    : FileDataset(options.exif_orientation), paths_(find_shards(options, split)) {
  const char* what = split == Split::train ? "train" : "val";
  const fs::path compressed = find_compressed_shard(options, split);
  const std::string advice = compressed.empty() ? "" : unpacking_advice(compressed);
  check(!paths_.empty() || advice.empty(), advice);
  check(!paths_.empty(), options.data_dir.string(), ": contains no tar shards, expected ", what,
        "/*.tar or *", what, "*.tar; --", what, "-split sets others, e.g. shard-{000..146}.tar");
  std::int64_t incomplete = 0;
  std::string cause;
  for (Shard& shard : index_shards(paths_)) {
    begins_.push_back(size());
    files_.push_back(std::move(*shard.file));
    incomplete += shard.content.incomplete;
    if (cause.empty()) cause = shard.content.cause;
    std::move(shard.content.samples.begin(), shard.content.samples.end(),
              std::back_inserter(samples_));
  }
  begins_.push_back(size());
  check(!samples_.empty(), paths_.front().string(), ": contains no samples, expected pictures (",
        join(picture_endings(), ", "), ") with a .cls file each", cause.empty() ? "" : "; ", cause,
        is_folder(options.data_dir / what) ? "; --dataset folder reads the folder next to it" : "");
  if (incomplete > 0)
    add_notice(concat(paths_.front().parent_path().string(), ": ", incomplete,
                      incomplete == 1 ? " sample without picture or label was skipped; "
                                      : " samples without picture or label were skipped; ",
                      cause));
  if (!advice.empty()) add_notice("skipped " + advice);
  if (split == Split::test) note_training_shards(find_shards(options, Split::train));

  const std::int64_t own = label_count(samples_);
  for (const std::string& name : class_names_given(options)) names_.push_back(visible_text(name));
  if (names_.empty()) {
    const std::int64_t count = std::max(own, label_count_of_other(options, split));
    for (std::int64_t k = 0; k < count; ++k) names_.push_back(std::to_string(k));
  }
  check(own <= classes(), paths_.front().string(), ": has the label ", own - 1, ", but only ",
        classes(), " classes have names");
}

void TarShards::add_notice(const std::string& text) {
  notice_ += (notice_.empty() ? "" : "; ") + text;
}

void TarShards::note_training_shards(const std::vector<fs::path>& training) {
  for (const fs::path& shard : paths_) {
    std::error_code ignored;
    const bool trains = std::ranges::any_of(
        training, [&](const fs::path& other) { return fs::equivalent(shard, other, ignored); });
    if (trains) return add_notice(shard.string() + ": is also a shard of the training images");
  }
}

std::size_t TarShards::shard_of(std::int64_t index) const {
  check_index(index, paths_.front().string());
  return std::ranges::upper_bound(begins_, index) - begins_.begin() - 1;
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
