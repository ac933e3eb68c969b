// Measures as text.
#include "train/run/task_info.h"

#include "base/text.h"

namespace fovea {

std::string Measure::text(double value) const {
  return is_percent ? percent_text(value) : fixed_text(value, 4);
}

}  // namespace fovea
