// Signals that ask a program to end, as requests: the first is remembered, the second ends it at
// once.
#pragma once

namespace fovea {

/// While it lives, the first SIGINT, SIGTERM or SIGHUP (a terminal that was closed) only sets
/// pending(); the next one exits with 128 + its number. Those that were ignored before, as by
/// nohup, still are. A reader of standard output that went away (SIGPIPE) does not end the program
/// either. One at a time, and only around loops that ask for pending(): elsewhere signals should
/// end a program.
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
