// ONNX files, written and read without the onnx library.
#pragma once

#include <filesystem>

#include "engine/base/new_file.h"
#include "export/onnx.h"

namespace fovea::onnx {

/// The largest size of a file that every reader accepts: protobuf counts bytes in 31 bits.
inline constexpr std::int64_t kMaxModelBytes = (std::int64_t{1} << 31) - 1;

/// The file's size with all weights inside.
[[nodiscard]] std::int64_t encoded_size(const ModelProto& model);

/// A second file with the weights, beside that of the model.
struct WeightsBeside {
  NewFile& file;
  std::string name;  ///< by which the model finds it: of a file in the same folder
};

/// Appends the model, the weights last and one after another, so that no second copy of them is in
/// memory.
void write_model(NewFile& file, const ModelProto& model);
/// The same with the weights in the other file; small constants stay in the model.
void write_model(NewFile& file, const ModelProto& model, const WeightsBeside& beside);

/// Reads what write_model() wrote, and other files as far as onnx.h describes them. `weights`: the
/// second file, if it does not have its name yet. Errors start with the path.
[[nodiscard]] ModelProto read_model(const std::filesystem::path& path,
                                    const std::filesystem::path& weights = {});

}  // namespace fovea::onnx
