// An owned file descriptor, closed on every exit path.
#pragma once

#include <unistd.h>

#include <utility>

namespace fovea {

class Descriptor {
 public:
  Descriptor() = default;  ///< no file
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return value_; }
  [[nodiscard]] bool is_open() const { return value_ >= 0; }
  /// Closes the file and returns whether that succeeded: network file systems report failed writes
  /// here.
  bool close() {
    const int value = std::exchange(value_, -1);
    return value < 0 || ::close(value) == 0;
  }

 private:
  int value_ = -1;
};

}  // namespace fovea
