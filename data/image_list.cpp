// Blockwise checksums of image lists, and locating their first difference.
#include "data/image_list.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "engine/base/crc32c.h"
#include "engine/base/error.h"
#include "engine/base/text.h"
#include "engine/parallel.h"

namespace fovea {
namespace {

constexpr std::int64_t kMaxChecksums = 4096;

std::int64_t block_for(std::int64_t images) {
  std::int64_t block = 1;
  while (images > block * kMaxChecksums) block *= 2;
  return block;
}

/// The checksum of the images from `begin` to `end`; adds their labels to `counts`.
std::uint32_t checksum_of(const Dataset& dataset, std::int64_t begin, std::int64_t end,
                          std::vector<std::int64_t>& counts) {
  std::uint32_t crc = 0;
  ListEntry entry;
  for (std::int64_t i = begin; i < end; ++i) {
    entry.name.clear();
    dataset.list_entry(i, entry);
    if (entry.label >= 0 && entry.label < std::ssize(counts)) ++counts[entry.label];
    std::array<char, 9> rest{};  // ends the name; the label, little-endian
    std::memcpy(&rest[1], &entry.label, sizeof(entry.label));
    crc = crc32c(entry.name.append(rest.data(), rest.size()), crc);
  }
  return crc;
}

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::string difference_of_classes(const ImageList& earlier, const ImageList& now) {
  if (earlier.classes == now.classes) return "";
  const std::size_t before = earlier.classes.size(), here = now.classes.size();
  std::size_t k = 0;
  while (k < before && k < here && earlier.classes[k] == now.classes[k]) ++k;
  std::string text = before == here ? "" : concat(here, " classes, ", before, " before: ");
  if (k == here)
    return text + concat("class ", k, ", ", quoted(earlier.classes[k]), ", is missing");
  text += concat("class ", k, " is ", quoted(now.classes[k]));
  return k == before ? text + " and is new" : text + " and was " + quoted(earlier.classes[k]);
}

std::string difference_of_counts(const ImageList& earlier, const ImageList& now) {
  for (std::size_t k = 0; k < now.counts.size() && k < earlier.counts.size(); ++k) {
    if (now.counts[k] == earlier.counts[k]) continue;
    return concat("class ", quoted(now.classes[k]), " has ", now.counts[k], " images, ",
                  earlier.counts[k], " before; ");
  }
  if (now.images == earlier.images) return "";
  return concat(now.images, " images, ", earlier.images, " before; ");
}

/// The first difference between two lists with the same block size.
std::string parting(const ImageList& earlier, const ImageList& now, const Dataset& dataset) {
  const auto [mine, theirs] = std::mismatch(now.checksums.begin(), now.checksums.end(),
                                            earlier.checksums.begin(), earlier.checksums.end());
  const std::int64_t first = (mine - now.checksums.begin()) * now.block;
  if (first >= now.images) return concat("the list ends with image ", now.images - 1);
  const std::int64_t last = std::min(first + now.block, now.images) - 1;
  const auto name = [&](std::int64_t i) { return visible_text(dataset.describe(i)); };
  if (first == last) return concat("the first differing image is ", first, ", ", name(first));
  return concat("the first differing image is one of ", first, " to ", last, ", ", name(first),
                " to ", name(last));
}

}  // namespace

ImageList image_list(const Dataset& dataset, std::int64_t block) {
  ImageList list;
  list.classes = dataset.class_names();
  list.images = dataset.size();
  list.block = block > 0 ? block : block_for(list.images);
  list.checksums.resize(static_cast<std::size_t>((list.images + list.block - 1) / list.block));
  list.counts.resize(list.classes.size());
  std::mutex counting;
  parallel_for(static_cast<std::int64_t>(list.checksums.size()), 16,
               [&](std::int64_t begin, std::int64_t end) {
                 std::vector<std::int64_t> counts(list.counts.size());
                 for (std::int64_t b = begin; b < end; ++b) {
                   const std::int64_t stop = std::min((b + 1) * list.block, list.images);
                   list.checksums[b] = checksum_of(dataset, b * list.block, stop, counts);
                 }
                 const std::lock_guard lock(counting);
                 for (std::size_t k = 0; k < counts.size(); ++k) list.counts[k] += counts[k];
               });
  return list;
}

std::string difference(const ImageList& earlier, const Dataset& dataset) {
  check(earlier.block >= 1, "image list: got blocks of ", earlier.block, " images");
  const ImageList now = image_list(dataset, earlier.block);
  if (now == earlier) return "";
  const std::string classes = difference_of_classes(earlier, now);
  if (!classes.empty()) return classes;
  return difference_of_counts(earlier, now) + parting(earlier, now, dataset);
}

}  // namespace fovea
