// Sheets of latents: channels as colours.
#include <doctest/doctest.h>

#include "data/figures/contact_sheet.h"

using namespace fovea;

TEST_CASE("a sheet of latents shows three channels, the last again where there are fewer") {
  Tensor latents = zeros({2, 4, 1, 1});
  const std::vector<float> values = {-2, 0, 2, 9, 5, -5, 1, 9};
  std::copy(values.begin(), values.end(), latents.data<float>());
  const Image sheet = latent_sheet(latents);
  CHECK(sheet.size() == ImageSize{1, 3});
  CHECK(std::vector<int>(sheet.at(0, 0), sheet.at(0, 0) + 3) == std::vector<int>{0, 128, 255});
  CHECK(std::vector<int>(sheet.at(0, 2), sheet.at(0, 2) + 3) == std::vector<int>{255, 0, 191});
  const Image two = latent_sheet(latents.alias({1, 2, 1, 1}, {2, 1, 1, 1}));
  CHECK(std::vector<int>(two.at(0, 0), two.at(0, 0) + 3) == std::vector<int>{0, 128, 128});
}
