// HDF5 files are read in a child process, since libhdf5 crashes on some damaged ones. A request is
// a word, and what it is about; the name of an array comes last.
#include "formats/hdf5.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "base/child_process.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "formats/hdf5_library.h"
#include "formats/numpy/layout.h"

namespace fovea {
namespace {

std::string text_of_entry(const StoredEntry& entry) {
  std::ostringstream text;
  text << static_cast<int>(entry.type);
  for (const std::int64_t size : entry.shape) text << ' ' << size;
  return text.str();
}

StoredEntry parse_entry(const std::string& name, const std::string& text) {
  std::istringstream numbers(text);
  int type = 0;
  numbers >> type;
  StoredEntry entry{name, static_cast<StoredType>(type), {}};
  for (std::int64_t size = 0; numbers >> size;) entry.shape.push_back(size);
  return entry;
}

/// What follows the separator after the words of a request.
std::string name_in(std::istringstream& request) {
  request.get();
  return {std::istreambuf_iterator<char>(request), {}};
}

/// Runs in the child.
std::string answer(const Hdf5Library& file, const std::string& text) {
  std::istringstream request(text);
  std::string word;
  request >> word;
  if (word == "has") return file.has(name_in(request)) ? "yes" : "no";
  if (word == "entry") return text_of_entry(file.entry(name_in(request)));
  std::int64_t first = 0, count = 0;
  request >> first >> count;
  return file.rows(name_in(request), first, count);
}

ChildProcess::Answer open_in_child(const std::filesystem::path& path) {
  auto file = std::make_shared<Hdf5Library>(path);
  return [file](const std::string& request) { return answer(*file, request); };
}

}  // namespace

struct Hdf5File::State {
  explicit State(const std::filesystem::path& file)
      : path(file.string()),
        child(path + ": is damaged: libhdf5 crashes on it", [&] { return open_in_child(file); }) {}

  std::string path;
  ChildProcess child;
};

Hdf5File::Hdf5File(const std::filesystem::path& path) {
  static_cast<void>(InputFile(path));  // a missing or special file: the system's reason
  state_ = std::make_unique<State>(path);
}

Hdf5File::~Hdf5File() = default;
Hdf5File::Hdf5File(Hdf5File&&) noexcept = default;
Hdf5File& Hdf5File::operator=(Hdf5File&&) noexcept = default;

bool Hdf5File::has(const std::string& name) const {
  return state_->child.ask("has " + name) == "yes";
}

StoredEntry Hdf5File::entry(const std::string& name) const {
  return parse_entry(name, state_->child.ask("entry " + name));
}

Tensor Hdf5File::read_rows(const std::string& name, std::int64_t first, std::int64_t count) const {
  const std::string where = state_->path + ": array " + in_quotes(name);
  StoredEntry rows = entry(name);
  check(first >= 0 && count >= 1 && first <= rows.shape[0] - count, where, ": got rows ", first,
        " to ", first + count, " of shape ", rows.shape);
  rows.shape[0] = count;
  const std::uint64_t bytes = NumpyLayout{rows.type, rows.shape}.bytes();
  check(bytes <= kMaxFileBytes, where, ": ", count, " rows have ", bytes, " bytes, the limit is ",
        kMaxFileBytes);
  const std::string values =
      state_->child.ask("rows " + std::to_string(first) + ' ' + std::to_string(count) + ' ' + name);
  const auto read = [&](std::span<std::byte> into) {
    check(into.size() == values.size(), where, ": got ", values.size(), " bytes, expected ",
          into.size());
    std::transform(values.begin(), values.end(), into.begin(),
                   [](char c) { return static_cast<std::byte>(c); });
  };
  return read_stored(rows, read, where);
}

}  // namespace fovea
