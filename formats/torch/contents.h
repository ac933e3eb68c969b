// The two forms in which torch.save lays out a file: one pickled object, and the bytes of the
// storages that it names by keys.
#pragma once

#include <map>
#include <string>

#include "base/files.h"
#include "formats/torch/pickle.h"
#include "formats/torch/zip.h"

namespace fovea {

struct TorchContents {
  Pickle object;
  std::map<std::string, ByteRange> storages;  ///< of the file, by key
};

/// By the first bytes: a zip file.
[[nodiscard]] bool has_zip_form(const ByteSource& source);
/// Since PyTorch 1.6: a zip file with NAME/data.pkl, a member NAME/data/KEY for each storage, and
/// NAME/byteorder. Throws Error, beginning with `where`.
[[nodiscard]] TorchContents open_zip_form(const ByteSource& source, const std::string& where);

/// By the first bytes: the older form's magic number.
[[nodiscard]] bool has_old_form(const ByteSource& source);
/// Before that: five pickles (magic number, protocol 1001, the writer's system, the object, a list
/// of keys), then for each key a count of elements, u64, and as many elements. Throws Error,
/// beginning with `where`.
[[nodiscard]] TorchContents open_old_form(const ByteSource& source, const std::string& where);

}  // namespace fovea
