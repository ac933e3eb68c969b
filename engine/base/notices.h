// Messages for the user before a run, in the order in which they were added.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/text.h"

namespace fovea {

class Notices {
 public:
  template <class... Parts>
  void add(const Parts&... parts) {
    texts_.push_back(concat(parts...));
  }

  /// Adds a message unless it is empty or known. Returns whether it is new.
  bool add_new(const std::string& text) {
    if (text.empty() || std::find(texts_.begin(), texts_.end(), text) != texts_.end()) return false;
    texts_.push_back(text);
    return true;
  }

  void add_all(const Notices& others) {
    texts_.insert(texts_.end(), others.texts_.begin(), others.texts_.end());
  }

  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::vector<std::string> texts_;
};

}  // namespace fovea
