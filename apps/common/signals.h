// Termination signals as requests: the first is recorded, another may end the program at once.
#pragma once

namespace fovea {

/// During an object's lifetime, the first SIGINT, SIGTERM, SIGHUP (closed terminal), SIGUSR1,
/// SIGUSR2 (batch systems, before a time limit) or SIGXCPU (a limit of processor time) only sets
/// pending(); then SIGINT, SIGTERM and SIGHUP exit with 128 + their number, or go to a handler that
/// was there before, as Python's is, while those of batch systems, which send several, and
/// launchers, which pass them on, change nothing. Signals that were ignored before, as with nohup,
/// stay ignored. A closed reader of standard output (SIGPIPE) does not end the program either. An
/// object inside of another's lifetime changes nothing. Objects belong around loops that check
/// pending(), all on one thread: elsewhere signals should end a program.
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
