// The handler does nothing that is not allowed in one: it stores a number or leaves.
#include "train/signals.h"

#include <unistd.h>
#include <csignal>

namespace fovea {
namespace {

volatile std::sig_atomic_t pending_signal = 0;

void handle(int number) {
  if (pending_signal != 0) _exit(128 + number);
  pending_signal = number;
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

SignalRequest::SignalRequest() {
  pending_signal = 0;
  install(handle);
}

SignalRequest::~SignalRequest() { install(SIG_DFL); }

int SignalRequest::pending() { return pending_signal; }

}  // namespace fovea
