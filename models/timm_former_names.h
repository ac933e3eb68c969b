// Names that timm gave to models before weights had tags (NAME.TAG).
#pragma once

#include <string>
#include <string_view>

namespace fovea {

/// The name of today for one of timm's deprecated names, without the tag of its weights; "" for all
/// others. The rows are those of timm 1.0's register_model_deprecations() for models that exist
/// here.
[[nodiscard]] std::string current_timm_name(std::string_view former);

}  // namespace fovea
