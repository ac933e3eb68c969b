// The layouts of torch.save's files: one pickled object, and the bytes of the storages that it
// refers to by key.
#pragma once

#include <map>
#include <string>

#include "engine/base/files.h"
#include "engine/formats/torch/pickle.h"
#include "engine/formats/zip.h"

namespace fovea {

struct TorchContents {
  Pickle object;
  std::map<std::string, ByteRange> storages{};  ///< byte ranges in the file, by key
  bool is_big_endian = false;                   ///< the storages' numbers
};

/// Whether the first bytes are those of a zip file.
[[nodiscard]] bool has_zip_form(const ByteSource& source);
/// The layout since PyTorch 1.6: a zip file with NAME/data.pkl, a member NAME/data/KEY for each
/// storage, and NAME/byteorder. torch.jit.save adds the program, which is not read. Throws Error,
/// starting with `context`.
[[nodiscard]] TorchContents open_zip_form(const ByteSource& source, const std::string& context);

/// Whether the first bytes are the older layout's magic number.
[[nodiscard]] bool has_old_form(const ByteSource& source);
/// The layout before PyTorch 1.6: five pickles (magic number, protocol 1001, the writer's system,
/// the object, a list of keys), then for each key an element count, u64, and the elements. Throws
/// Error, starting with `context`.
[[nodiscard]] TorchContents open_old_form(const ByteSource& source, const std::string& context);

/// Whether the first bytes are those of a pickle of protocols 2 to 5.
[[nodiscard]] bool has_plain_pickle(const ByteSource& source);
/// A pickle without storages, as pickle.dump writes it: its arrays are NumPy's. Throws Error,
/// starting with `context`.
[[nodiscard]] TorchContents open_plain_pickle(const ByteSource& source, const std::string& context);

}  // namespace fovea
