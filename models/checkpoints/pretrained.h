// Loading and saving weights under the official names (timm's, DeiT's), so that files from public
// hubs load unchanged. Reads safetensors and torch.save files, writes safetensors. Position
// embeddings are resized to the model's grid.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/checkpoints/checkpoint.h"
#include "models/checkpoints/origin.h"
#include "models/model.h"

namespace fovea {

struct LoadOptions {
  PosResize pos_resize = PosResize::automatic;
  /// Fine-tuning. A class head or DiT's class embedding that is missing or has another shape keeps
  /// its initial values, and so does the norm of the pooled tokens (fc_norm). MAE's decoder in the
  /// file is ignored, and so is the norm of all tokens if the model normalises the pooled tokens. A
  /// computed (sin-cos) table of another grid is resized like a learned one, as MAE's code does,
  /// because the encoder was trained with it.
  bool finetune = false;
  std::optional<std::array<std::int64_t, 2>>
      pos_grid{};             ///< token grid of the weights; default: from the file
  std::string weights_key{};  ///< key of the weights in the file, see read_checkpoint()
  /// Registry name, given by the user for a file that does not name its model.
  std::string model{};
  bool all_names = false;  ///< an error lists every tensor that does not fit
};

/// Tensors that were not simply copied.
struct LoadReport {
  std::vector<std::string> resized;  ///< position tables resized to another grid
  std::vector<std::string> kept;     ///< names left at initial values: heads, computed tables
  std::vector<std::string> notes;    ///< messages for the user about the weights and their grids
};

/// All parameters and buffers, by name, sharing storage with the model.
[[nodiscard]] TensorMap state_of(const Model& model);
/// {"model": registry name, "config": JSON of every setting}.
[[nodiscard]] Metadata metadata_of(const Model& model);

/// Copies `tensors` into the model, after official_weights(). If anything is wrong, copies nothing
/// and throws one Error with mismatch_text(). `origin` gives the grids that tables are laid out on;
/// GridFit describes the cases that it leaves open.
LoadReport load_state(Model& model, const TensorMap& tensors, const WeightsOrigin& origin = {},
                      const LoadOptions& options = {});

/// load_state() with the weights of the file at `path`. Errors start with the path.
LoadReport load_checkpoint(Model& model, const Checkpoint& file, const std::filesystem::path& path,
                           const LoadOptions& options = {});
/// read_checkpoint() and load_checkpoint(), from a file, or from the weights file in a folder (see
/// weights_in()).
LoadReport load_weights(Model& model, const std::filesystem::path& path,
                        const LoadOptions& options = {});
/// Writes safetensors under the official names, with metadata_of() and `extra` as metadata.
void save_model(const std::filesystem::path& path, const Model& model, const Metadata& extra = {});

/// The user's description of a file's model.
struct ModelRequest {
  std::string name;              ///< registry name; empty: take it from the file
  std::int64_t num_classes = 0;  ///< 0: take it from the file or from the name
  bool norms_pooled = false;     ///< for a ViT: mean of all tokens, normalised after pooling
  std::string settings{};  ///< further settings: JSON object with configuration keys, or empty
  TensorOptions options{};
};
/// Makes the model that the weights at `path` belong to, with initial values. The model is
/// described by the metadata as written by save_model(), or by timm's config.json in the same
/// folder. Throws if neither describes it.
[[nodiscard]] std::unique_ptr<Model> make_model_of(const Metadata& metadata,
                                                   const std::filesystem::path& path,
                                                   const ModelRequest& request);
/// make_model_of(), then loads the weights. `path` may be a folder as in load_weights();
/// `weights_key` is passed to read_checkpoint().
[[nodiscard]] std::unique_ptr<Model> load_model(const std::filesystem::path& path,
                                                TensorOptions options = {},
                                                const std::string& weights_key = {});

}  // namespace fovea
