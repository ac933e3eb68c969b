// A file of all parameters and buffers of a store, for models that are no Model: layers on a
// ParameterStore of one's own.
#pragma once

#include <filesystem>

#include "engine/formats/metadata.h"
#include "models/scope.h"

namespace fovea {

/// Writes a safetensors file under the parameters' names, whole or not at all.
void save_store(const std::filesystem::path& path, const ParameterStore& store,
                const Metadata& metadata = {});

/// Fills the store from such a file and returns its metadata. Throws one Error that lists every
/// missing, unexpected and different tensor; the store is then unchanged.
Metadata load_store(const std::filesystem::path& path, const ParameterStore& store);

}  // namespace fovea
