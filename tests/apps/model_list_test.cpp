// Lists of models.
#include "apps/common/model_list.h"

#include <doctest/doctest.h>

#include "models/registry.h"

namespace fovea {

TEST_CASE("a list with pixel transformers ends with a note on which PiT is meant") {
  const std::string note = "# pit_*: the Pixel Transformer, not the Pooling Transformer\n";
  const ModelNames names{model_names(), all_model_names()};
  CHECK(model_list(names, "pit_tiny*") == "pit_tiny_28\npit_tiny_32\n" + note);
  CHECK(model_list(names, "*").ends_with(note));
  CHECK(model_list(names, "linear") == "linear\n");
}

TEST_CASE("the list is short, and all names are there on demand") {
  const ModelNames names{{"vit_tiny"}, {"vit_small", "vit_tiny", "vit_tiny_clip"}};
  CHECK(model_list(names, "") ==
        "vit_tiny\n# 2 more are timm's: --list-models all, or --list-models '*clip*'\n");
  CHECK(model_list(names, "all") == "vit_small\nvit_tiny\nvit_tiny_clip\n");
  CHECK(model_list(names, "*clip*") == "vit_tiny_clip\n");
  CHECK(model_list({{"mae"}, {"mae"}}, "") == "mae\n");
  CHECK_THROWS_WITH_AS(static_cast<void>(model_list(names, "resnet")),
                       "--list-models: no listed name matches resnet; --list-models all lists all",
                       Error);
}

}  // namespace fovea
