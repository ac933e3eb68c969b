// The layout since PyTorch 1.6.
#include <string_view>

#include "base/error.h"
#include "formats/torch/contents.h"

namespace fovea {
namespace {

using Members = std::map<std::string, ByteRange>;

/// The folder that contains the only NAME/data.pkl, with a trailing slash.
std::string find_root(const Members& members, const std::string& where) {
  constexpr std::string_view kObject = "/data.pkl";
  std::string root;
  for (const auto& [name, range] : members) {
    if (!name.ends_with(kObject) || name.find('/') != name.size() - kObject.size()) continue;
    check(root.empty(), where, ": contains two objects, expected one data.pkl");
    root = name.substr(0, name.find('/') + 1);
  }
  check(!root.empty(), where,
        ": is a zip file without NAME/data.pkl, so torch.save did not write it");
  check(
      !members.contains(root + "constants.pkl"), where,
      ": is a TorchScript program, which is not supported; save the model's state_dict() instead");
  return root;
}

void check_byte_order(const ByteSource& source, const Members& members, const std::string& root,
                      const std::string& where) {
  const auto found = members.find(root + "byteorder");  // not written by PyTorch 1.6 to 2.0
  if (found == members.end()) return;
  const ByteRange range = found->second;
  const bool is_little = range.size == 6 && source.text_at(range.offset, 6) == "little";
  check(is_little, where, ": its numbers are big-endian, expected little-endian");
}

}  // namespace

bool has_zip_form(const ByteSource& source) {
  return source.size() >= 4 && source.text_at(0, 4) == "PK\3\4";
}

TorchContents open_zip_form(const ByteSource& source, const std::string& where) {
  const Members members = read_zip_directory(source, where);
  const std::string root = find_root(members, where), folder = root + "data/";
  check_byte_order(source, members, root, where);
  const ByteRange object = members.at(root + "data.pkl");
  check(object.size <= kMaxPickleBytes, where, ": its object is a pickle of ", object.size,
        " bytes, expected at most ", kMaxPickleBytes);
  TorchContents contents;
  contents.object = parse_pickle(source.text_at(object.offset, object.size), where);
  for (const auto& [name, range] : members) {
    if (name.starts_with(folder)) contents.storages[name.substr(folder.size())] = range;
  }
  return contents;
}

}  // namespace fovea
