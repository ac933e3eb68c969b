// Finding, checking and reading CIFAR's binary files.
#include "data/sources/cifar.h"

#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kArea = Cifar::kSide * Cifar::kSide;

/// What tells the two sets apart.
struct Layout {
  std::string title;
  std::int64_t label_bytes;  ///< the last one is the label used
  std::int64_t classes;
  std::vector<std::string> folders;  ///< usual names, below data_dir
  std::vector<std::string> train_files, test_files;
  std::int64_t train_records, test_records;  ///< of the official set
  std::string names_file;

  [[nodiscard]] std::int64_t record_bytes() const { return label_bytes + Image::kChannels * kArea; }
  [[nodiscard]] const std::vector<std::string>& files(Split split) const {
    return split == Split::train ? train_files : test_files;
  }
};

const Layout& layout_of(CifarKind kind) {
  static const Layout ten = {"cifar10",
                             1,
                             10,
                             {"cifar10", "cifar-10-batches-bin"},
                             {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                              "data_batch_4.bin", "data_batch_5.bin"},
                             {"test_batch.bin"},
                             50'000,
                             10'000,
                             "batches.meta.txt"};
  static const Layout hundred = {"cifar100",
                                 2,
                                 100,
                                 {"cifar100", "cifar-100-binary"},
                                 {"train.bin"},
                                 {"test.bin"},
                                 50'000,
                                 10'000,
                                 "fine_label_names.txt"};
  return kind == CifarKind::cifar10 ? ten : hundred;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

/// data_dir itself or the folder of the usual name below it, whichever holds the first file.
fs::path find_folder(const Layout& layout, const fs::path& data_dir, Split split) {
  const std::string& first = layout.files(split).front();
  std::ostringstream tried;
  tried << (data_dir / first).string();
  if (is_file(data_dir / first)) return data_dir;
  for (const std::string& folder : layout.folders) {
    if (is_file(data_dir / folder / first)) return data_dir / folder;
    tried << ", " << (data_dir / folder / first).string();
  }
  std::error_code ignored;
  const char* what =
      fs::is_directory(data_dir, ignored) ? "found none of " : "no such folder; tried ";
  fail(layout.title, ": ", what, tried.str(), ". Unpack the binary version of ",
       "https://www.cs.toronto.edu/~kriz/cifar.html and name its folder as data_dir or in "
       "$FOVEA_DATA");
}

}  // namespace

std::int64_t check_cifar_records(CifarKind kind, std::span<const char> bytes,
                                 const std::string& name) {
  const Layout& layout = layout_of(kind);
  const auto size = static_cast<std::int64_t>(bytes.size()), record = layout.record_bytes();
  check(size > 0 && size % record == 0, name, ": got ", size, " bytes, expected a whole number of ",
        layout.title, " records of ", record, " bytes, at least one (is the download complete?)");
  for (std::int64_t i = 0; i < size / record; ++i) {
    const auto label = static_cast<std::uint8_t>(bytes[i * record + layout.label_bytes - 1]);
    check(label < layout.classes, name, ": record ", i, " has label ", int{label},
          ", expected 0 to ", layout.classes - 1);
  }
  return size / record;
}

Sample read_cifar_record(CifarKind kind, std::span<const char> bytes, std::int64_t index) {
  const Layout& layout = layout_of(kind);
  const auto* record =
      reinterpret_cast<const std::uint8_t*>(bytes.data()) + index * layout.record_bytes();
  const std::uint8_t* planes = record + layout.label_bytes;
  Sample sample{Image(Cifar::kSide, Cifar::kSide), record[layout.label_bytes - 1], {}};
  for (std::int64_t i = 0; i < kArea; ++i)
    for (std::int64_t c = 0; c < Image::kChannels; ++c)
      sample.image.pixels[i * Image::kChannels + c] = planes[c * kArea + i];
  return sample;
}

std::vector<std::string> parse_class_names(const std::string& text, std::int64_t classes) {
  std::vector<std::string> names;
  for (std::string line : lines_of(text)) {
    while (line.ends_with(' ')) line.pop_back();
    if (!line.empty()) names.push_back(visible_text(line));
  }
  if (static_cast<std::int64_t>(names.size()) == classes) return names;
  names.clear();
  for (std::int64_t k = 0; k < classes; ++k) names.push_back(std::to_string(k));
  return names;
}

Cifar::Cifar(CifarKind kind, const fs::path& data_dir, Split split) : kind_(kind) {
  const Layout& layout = layout_of(kind);
  const fs::path folder = find_folder(layout, data_dir, split);
  for (const std::string& file : layout.files(split)) {
    const std::string path = (folder / file).string();
    check(is_file(path), layout.title, ": ", path, " is missing (the other files of ",
          folder.string(), " are there: unpack the archive again)");
    files_.push_back(read_file(path));
    size_ += check_cifar_records(kind, files_.back(), path);
  }
  const fs::path names = folder / layout.names_file;
  names_ = parse_class_names(is_file(names) ? read_file(names) : "", layout.classes);

  const std::int64_t official = split == Split::train ? layout.train_records : layout.test_records;
  if (size_ != official) {
    std::ostringstream text;
    text << layout.title << ": " << folder.string() << " holds " << size_ << ' '
         << (split == Split::train ? "training" : "test") << " images, the official set has "
         << official;
    notice_ = text.str();
  }
}

Cifar::Place Cifar::find(std::int64_t index) const {
  const Layout& layout = layout_of(kind_);
  check(index >= 0 && index < size_, layout.title, ": got index ", index, ", expected 0 to ",
        size_ - 1);
  std::size_t file = 0;
  for (;; ++file) {
    const auto records = static_cast<std::int64_t>(files_[file].size()) / layout.record_bytes();
    if (index < records) break;
    index -= records;
  }
  return {files_[file], index};
}

Sample Cifar::get(std::int64_t index) const {
  const Place place = find(index);
  return read_cifar_record(kind_, place.bytes, place.record);
}

std::int64_t Cifar::label(std::int64_t index) const {
  const Layout& layout = layout_of(kind_);
  const Place place = find(index);
  const char byte = place.bytes[place.record * layout.record_bytes() + layout.label_bytes - 1];
  return static_cast<std::uint8_t>(byte);
}

void Cifar::list_entry(std::int64_t index, ListEntry& entry) const {
  const Layout& layout = layout_of(kind_);
  const Place place = find(index);
  const std::int64_t begin = place.record * layout.record_bytes() + layout.label_bytes;
  entry.name.append(place.bytes.data() + begin, kSide);
  entry.label = label(index);
}

}  // namespace fovea
