// What this build decodes pictures with.
#pragma once

namespace fovea::tests {

#if FOVEA_HAS_JPEG && FOVEA_HAS_PNG
inline constexpr bool kWithoutLibraries = false;
#else
/// stb_image stands in for a missing library: it decodes less and overlooks damage.
inline constexpr bool kWithoutLibraries = true;
#endif

}  // namespace fovea::tests
