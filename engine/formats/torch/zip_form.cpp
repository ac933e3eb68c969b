// The layout since PyTorch 1.6.
#include <algorithm>
#include <string_view>

#include "engine/base/error.h"
#include "engine/base/json.h"
#include "engine/formats/torch/contents.h"

namespace fovea {
namespace {

using Members = std::map<std::string, ZipMember>;

/// What is read must not be compressed; the code of TorchScript programs may be.
void require_stored(const std::string& name, const ZipMember& member, const std::string& context) {
  check(!member.is_deflated, context, ": its member ", in_quotes(name),
        " is compressed, which torch.save never does; repack it without compression (zip -0)");
}

/// The folder that contains the only NAME/data.pkl, with a trailing slash.
std::string find_root(const Members& members, const std::string& context) {
  constexpr std::string_view kObject = "/data.pkl";
  std::string root;
  for (const auto& [name, range] : members) {
    if (!name.ends_with(kObject) || name.find('/') != name.size() - kObject.size()) continue;
    check(root.empty(), context, ": contains two objects, expected one data.pkl");
    root = name.substr(0, name.find('/') + 1);
  }
  check(!root.empty(), context,
        ": is a zip file without NAME/data.pkl, so torch.save did not write it");
  return root;
}

bool is_big_endian(const ByteSource& source, const Members& members, const std::string& root,
                   const std::string& context) {
  const auto found = members.find(root + "byteorder");  // not written by PyTorch 1.6 to 2.0
  if (found == members.end()) return false;
  const ByteRange range = found->second;
  const std::string order = source.text_at(range.offset, std::min<std::uint64_t>(range.size, 10));
  check(order == "little" || order == "big", context, ": its byte order is ", in_quotes(order),
        ", expected little or big");
  return order == "big";
}

}  // namespace

bool has_zip_form(const ByteSource& source) {
  return source.size() >= 4 && source.text_at(0, 4) == "PK\3\4";
}

TorchContents open_zip_form(const ByteSource& source, const std::string& context) {
  const Members members = read_zip_directory(source, context);
  const std::string root = find_root(members, context), folder = root + "data/";
  const ZipMember object = members.at(root + "data.pkl");
  require_stored(root + "data.pkl", object, context);
  check(object.size <= kMaxPickleBytes, context, ": its object is a pickle of ", object.size,
        " bytes, expected at most ", kMaxPickleBytes);
  TorchContents contents;
  contents.is_big_endian = is_big_endian(source, members, root, context);
  contents.object = parse_pickle(source.text_at(object.offset, object.size), context);
  for (const auto& [name, range] : members) {
    if (!name.starts_with(folder)) continue;
    require_stored(name, range, context);
    contents.storages[name.substr(folder.size())] = range;
  }
  return contents;
}

}  // namespace fovea
