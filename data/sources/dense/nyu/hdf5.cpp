// HDF5 files are read in a child process, since libhdf5 crashes on some damaged ones. A request is
// a word, and what it is about; the name of an array comes last. The answer about rows is a line
// with their type and shape, then their bytes.
#include "data/sources/dense/nyu/hdf5.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <sstream>

#include "data/sources/dense/nyu/child_process.h"
#include "data/sources/dense/nyu/hdf5_library.h"
#include "engine/base/error.h"
#include "engine/base/files.h"
#include "engine/base/json.h"

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
  const Hdf5Library::Rows rows = file.rows(name_in(request), first, count);
  return text_of_entry(rows.entry) + '\n' + rows.values;
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
  const std::string rows =
      state_->child.ask("rows " + std::to_string(first) + ' ' + std::to_string(count) + ' ' + name);
  const std::size_t line = rows.find('\n');
  const auto values = std::as_bytes(std::span(rows)).subspan(line + 1);
  const std::string context = state_->path + ": array " + in_quotes(name);
  const auto read = [&](std::span<std::byte> into) {  // a damaged file may have damaged the child
    check(into.size() == values.size(), context, ": got ", values.size(), " bytes, expected ",
          into.size());
    std::copy(values.begin(), values.end(), into.begin());
  };
  return read_stored(parse_entry(name, rows.substr(0, line)), read, context);
}

}  // namespace fovea
