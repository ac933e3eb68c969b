// The program's own, under a name that fovea has too.
#pragma once

namespace consumer {
struct Dataset {
  int images = 16;
};
}  // namespace consumer
