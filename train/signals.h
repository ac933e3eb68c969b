// SIGINT and SIGTERM as a request: the first is remembered, the second ends the program at once.
#pragma once

namespace fovea {

/// While it lives, the first SIGINT or SIGTERM only sets pending(); the next one exits with
/// 128 + its number. One at a time.
class SignalRequest {
 public:
  SignalRequest();
  ~SignalRequest();
  SignalRequest(const SignalRequest&) = delete;
  SignalRequest& operator=(const SignalRequest&) = delete;

  /// The signal's number, or 0.
  [[nodiscard]] static int pending();
};

}  // namespace fovea
