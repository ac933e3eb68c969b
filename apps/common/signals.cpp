// Signal handling. The handler is async-signal-safe: it stores a number or exits.
#include "apps/common/signals.h"

#include <unistd.h>

#include <array>
#include <csignal>

namespace fovea {
namespace {

volatile std::sig_atomic_t pending_signal = 0;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGPIPE};

/// The previous signal actions.
std::array<struct sigaction, kSignals.size()> before{};
int depth = 0;  // of objects inside of others

/// The next signal that asks to end.
void end(int number) {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    const auto handler = before[i].sa_handler;
    if (kSignals[i] == number && handler != SIG_DFL && handler != SIG_IGN) return handler(number);
  }
  _exit(128 + number);
}

void handle(int number) {
  if (pending_signal == 0) {
    pending_signal = number;
  } else if (number == SIGINT || number == SIGTERM || number == SIGHUP) {
    end(number);
  }
}

}  // namespace

SignalRequest::SignalRequest() {
  if (depth++ > 0) return;
  pending_signal = 0;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction action {};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : handle;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(kSignals[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

SignalRequest::~SignalRequest() {
  if (--depth > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &before[i], nullptr);
  }
}

int SignalRequest::pending() { return pending_signal; }

}  // namespace fovea
