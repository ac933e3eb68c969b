// Finds, validates and reads CIFAR's files.
#include "data/sources/packed/cifar.h"

#include <optional>
#include <utility>

#include "data/sources/files/find_ignoring_case.h"
#include "data/sources/packed/cifar_pickle.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/text.h"

namespace fovea {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kArea = Cifar::kSide * Cifar::kSide;

/// A format of the set on disk: the binary version, or Python's.
struct CifarFormat {
  std::vector<std::string> folders;  ///< usual folder names below data_dir
  std::vector<std::string> train_files, test_files;
  std::string names_file, names_key;
  std::vector<std::string> label_keys;  ///< empty: binary format

  [[nodiscard]] const std::vector<std::string>& files(Split split) const {
    return split == Split::train ? train_files : test_files;
  }
};

/// The properties that distinguish the two sets.
struct CifarLayout {
  std::string title;
  std::int64_t label_bytes;  ///< the last label byte is used
  std::int64_t classes;
  std::int64_t coarse_classes;  ///< range of the preceding label byte; 0: there is none
  std::int64_t train_records, test_records;  ///< official counts
  std::vector<CifarFormat> formats;

  [[nodiscard]] std::int64_t record_bytes() const { return label_bytes + Image::kChannels * kArea; }
};

const CifarLayout& layout_of(CifarKind kind) {
  static const CifarLayout ten = {
      "cifar10",
      1,
      10,
      0,
      50'000,
      10'000,
      {{{"cifar10", "cifar-10-batches-bin"},
        {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
         "data_batch_5.bin"},
        {"test_batch.bin"},
        "batches.meta.txt",
        "",
        {}},
       {{"cifar10", "cifar-10-batches-py"},
        {"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"},
        {"test_batch"},
        "batches.meta",
        "label_names",
        {"labels"}}}};
  static const CifarLayout hundred = {"cifar100",
                                      2,
                                      100,
                                      20,
                                      50'000,
                                      10'000,
                                      {{{"cifar100", "cifar-100-binary"},
                                        {"train.bin"},
                                        {"test.bin"},
                                        "fine_label_names.txt",
                                        "",
                                        {}},
                                       {{"cifar100", "cifar-100-python"},
                                        {"train"},
                                        {"test"},
                                        "meta",
                                        "fine_label_names",
                                        {"coarse_labels", "fine_labels"}}}};
  return kind == CifarKind::cifar10 ? ten : hundred;
}

CifarKind other_of(CifarKind kind) {
  return kind == CifarKind::cifar10 ? CifarKind::cifar100 : CifarKind::cifar10;
}

struct Found {
  fs::path folder;
  const CifarFormat* format = nullptr;
};

bool holds_a_file_of(const fs::path& folder, const CifarFormat& format) {
  for (const Split split : {Split::train, Split::test}) {
    for (const std::string& file : format.files(split)) {
      if (is_file(find_ignoring_case(folder, file))) return true;
    }
  }
  return false;
}

/// The location of the set: data_dir, or a folder with a usual name below it. The first one with
/// any of the files is used, so that both splits come from one place.
std::optional<Found> find_set(CifarKind kind, const fs::path& data_dir) {
  for (const CifarFormat& format : layout_of(kind).formats) {
    if (holds_a_file_of(data_dir, format)) return Found{data_dir, &format};
  }
  for (const CifarFormat& format : layout_of(kind).formats) {
    for (const std::string& name : format.folders) {
      const fs::path folder = find_ignoring_case(data_dir, name);
      if (!folder.empty() && holds_a_file_of(folder, format)) return Found{folder, &format};
    }
  }
  return {};
}

/// An archive that was not unpacked; empty if there is none.
fs::path find_archive(CifarKind kind, const fs::path& data_dir) {
  const std::string begin = kind == CifarKind::cifar10 ? "cifar-10-" : "cifar-100-";
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(data_dir, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".tar.gz")) return entry.path();
  }
  return {};
}

[[noreturn]] void fail_without_set(CifarKind kind, const fs::path& data_dir) {
  const CifarLayout& layout = layout_of(kind);
  const CifarLayout& other = layout_of(other_of(kind));
  check(!find_set(other_of(kind), data_dir), layout.title, ": ", data_dir.string(),
        " contains the files of ", other.title, "; --dataset ", other.title, " reads them");
  const fs::path archive = find_archive(kind, data_dir);
  check(archive.empty(), layout.title, ": ", archive.string(), " is not unpacked: tar xzf ",
        archive.string(), " -C ", data_dir.string());
  std::vector<std::string> tried;
  for (const CifarFormat& format : layout.formats) {
    const std::string& first = format.train_files.front();
    tried.push_back((data_dir / first).string());
    for (const std::string& folder : format.folders) {
      tried.push_back((data_dir / folder / first).string());
    }
  }
  fail(layout.title, is_folder(data_dir) ? ": found none of " : ": no such folder; tried ",
       join(tried, ", "), ". Unpack the binary or the Python version of ",
       "https://www.cs.toronto.edu/~kriz/cifar.html and set its folder with --data-dir or "
       "$FOVEA_DATA");
}

/// The records of a file in either format.
std::string read_records(const CifarFormat& format, const std::string& path) {
  std::string bytes = read_file(path);
  return format.label_keys.empty() ? std::move(bytes)
                                   : cifar_records_of(bytes, format.label_keys, path);
}

std::string read_names(const CifarFormat& format, const fs::path& folder) {
  const fs::path path = find_ignoring_case(folder, format.names_file);
  if (!is_file(path)) return {};
  const std::string bytes = read_file(path);
  return format.label_keys.empty() ? bytes : cifar_names_of(bytes, format.names_key, path.string());
}

/// A hint such as "; they are 100 records of cifar10" for a file with an unexpected size.
std::string other_records(CifarKind kind, std::int64_t size) {
  const CifarLayout& other = layout_of(other_of(kind));
  if (size < 2 * other.record_bytes() || size % other.record_bytes() != 0) return {};
  return concat("; this matches ", size / other.record_bytes(), " records of ", other.title,
                ": --dataset ", other.title, "?");
}

}  // namespace

std::int64_t check_cifar_records(CifarKind kind, std::span<const char> bytes,
                                 const std::string& name) {
  const CifarLayout& layout = layout_of(kind);
  const auto size = static_cast<std::int64_t>(bytes.size()), record = layout.record_bytes();
  check(size > 0 && size % record == 0, name, ": got ", size, " bytes, expected a whole number of ",
        layout.title, " records of ", record, " bytes, at least one (is the download complete?)",
        other_records(kind, size));
  for (std::int64_t i = 0; i < size / record; ++i) {
    const auto coarse = static_cast<std::uint8_t>(bytes[i * record]);
    check(layout.coarse_classes == 0 || coarse < layout.coarse_classes, name, ": record ", i,
          " has coarse label ", int{coarse}, ", expected 0 to ", layout.coarse_classes - 1);
    const auto label = static_cast<std::uint8_t>(bytes[i * record + layout.label_bytes - 1]);
    check(label < layout.classes, name, ": record ", i, " has label ", int{label},
          ", expected 0 to ", layout.classes - 1);
  }
  return size / record;
}

Sample read_cifar_record(CifarKind kind, std::span<const char> bytes, std::int64_t index) {
  const CifarLayout& layout = layout_of(kind);
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
  const CifarLayout& layout = layout_of(kind);
  const std::optional<Found> found = find_set(kind, data_dir);
  if (!found) fail_without_set(kind, data_dir);
  const auto& [folder, format] = *found;
  for (const std::string& file : format->files(split)) {
    const fs::path entry = find_ignoring_case(folder, file);
    check(is_file(entry), layout.title, ": ", (folder / file).string(),
          " is missing, but other files are in ", folder.string(), " (unpack the archive again)");
    files_.push_back(read_records(*format, entry.string()));
    size_ += check_cifar_records(kind, files_.back(), entry.string());
  }
  names_ = parse_class_names(read_names(*format, folder), layout.classes);

  const std::int64_t official = split == Split::train ? layout.train_records : layout.test_records;
  if (size_ != official) {
    notice_ = concat(layout.title, ": ", folder.string(), " has ", size_,
                     split == Split::train ? " training" : " test",
                     " images, the official set has ", official);
  }
}

Cifar::RecordPlace Cifar::find(std::int64_t index) const {
  const CifarLayout& layout = layout_of(kind_);
  check_index(index, layout.title);
  std::size_t file = 0;
  for (;; ++file) {
    const auto records = static_cast<std::int64_t>(files_[file].size()) / layout.record_bytes();
    if (index < records) break;
    index -= records;
  }
  return {files_[file], index};
}

Sample Cifar::get(std::int64_t index) const {
  const RecordPlace place = find(index);
  return read_cifar_record(kind_, place.bytes, place.record);
}

std::int64_t Cifar::label(std::int64_t index) const {
  const CifarLayout& layout = layout_of(kind_);
  const RecordPlace place = find(index);
  const char byte = place.bytes[place.record * layout.record_bytes() + layout.label_bytes - 1];
  return static_cast<std::uint8_t>(byte);
}

void Cifar::list_entry(std::int64_t index, ListEntry& entry) const {
  const CifarLayout& layout = layout_of(kind_);
  const RecordPlace place = find(index);
  const std::int64_t begin = place.record * layout.record_bytes() + layout.label_bytes;
  entry.name.append(place.bytes.data() + begin, kSide);
  entry.label = label(index);
}

bool holds_cifar(CifarKind kind, const fs::path& data_dir) {
  return find_set(kind, data_dir).has_value();
}

}  // namespace fovea
