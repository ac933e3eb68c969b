// Lists of models.
#include "apps/model_list.h"

#include <doctest/doctest.h>

#include "models/registry.h"

namespace fovea {

TEST_CASE("a list with pixel transformers ends with a note on which PiT is meant") {
  const std::string note = "# pit_*: the Pixel Transformer, not the Pooling Transformer\n";
  CHECK(model_list(model_names(), "pit_tiny*") == "pit_tiny_28\npit_tiny_32\n" + note);
  CHECK(model_list(model_names(), "*").ends_with(note));
  CHECK(model_list(model_names(), "linear") == "linear\n");
}

}  // namespace fovea
