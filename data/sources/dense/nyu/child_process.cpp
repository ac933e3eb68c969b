// Messages over a pair of sockets: their kind, their length, their bytes.
#include "data/sources/dense/nyu/child_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <exception>
#include <optional>
#include <utility>

#include "engine/base/error.h"
#include "engine/base/posix_calls.h"

namespace fovea {
namespace {

enum class MessageKind : std::uint64_t { text, error };

struct Header {
  MessageKind kind = MessageKind::text;
  std::uint64_t bytes = 0;
};

bool send_bytes(int channel, const void* data, std::size_t size) {
  const auto* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(channel, from, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_bytes(int channel, void* data, std::size_t size) {
  auto* to = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::recv(channel, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

bool send_message(int channel, MessageKind kind, const std::string& text) {
  const Header header{kind, text.size()};
  return send_bytes(channel, &header, sizeof header) &&
         send_bytes(channel, text.data(), text.size());
}

struct Message {
  MessageKind kind = MessageKind::text;
  std::string text;
};

/// Empty when the other side is gone.
std::optional<Message> receive_message(int channel) {
  Header header;
  if (!receive_bytes(channel, &header, sizeof header)) return {};
  Message message{header.kind, std::string(header.bytes, '\0')};
  if (!receive_bytes(channel, message.text.data(), message.text.size())) return {};
  return message;
}

/// A crash prints nothing, writes no core file, and Ctrl-C is for the parent alone.
void be_quiet() {
  const rlimit none{0, 0};
  static_cast<void>(::setrlimit(RLIMIT_CORE, &none));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int descriptor : {0, 1, 2}) ::dup2(nowhere, descriptor);
}

/// Calls make() and sends its text, or its error. False if nobody listens.
bool send_result(int channel, const std::function<std::string()>& make) {
  try {
    return send_message(channel, MessageKind::text, make());
  } catch (const std::exception& error) {
    return send_message(channel, MessageKind::error, error.what());
  }
}

[[noreturn]] void serve(int channel, const std::function<ChildProcess::Answer()>& start) {
  be_quiet();
  ChildProcess::Answer answer;
  const auto begin = [&] {
    answer = start();
    return std::string();
  };
  bool goes_on = send_result(channel, begin);
  while (goes_on) {
    const std::optional<Message> request = receive_message(channel);
    goes_on = request && send_result(channel, [&] { return answer(request->text); });
  }
  ::_exit(0);  // without destructors: they belong to the parent
}

}  // namespace

ChildProcess::ChildProcess(std::string crashed, const std::function<Answer()>& start)
    : crashed_(std::move(crashed)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    fail_errno("cannot create a channel to", "a child process");
  }
  channel_ = Descriptor(ends[0]);
  Descriptor other(ends[1]);
  child_ = ::fork();
  if (child_ < 0) fail_errno("cannot start", "a child process");
  if (child_ == 0) serve(other.get(), start);
  other.close();
  try {
    static_cast<void>(answer());
  } catch (...) {
    stop();
    throw;
  }
}

ChildProcess::~ChildProcess() { stop(); }

/// Later children have copies of the channel, so that closing it would not reach the child.
void ChildProcess::stop() {
  ::shutdown(channel_.get(), SHUT_RDWR);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

std::string ChildProcess::ask(const std::string& request) {
  const std::lock_guard lock(mutex_);
  check(send_message(channel_.get(), MessageKind::text, request), crashed_);
  return answer();
}

std::string ChildProcess::answer() {
  std::optional<Message> message = receive_message(channel_.get());
  check(message.has_value(), crashed_);
  check(message->kind == MessageKind::text, message->text);
  return std::move(message->text);
}

}  // namespace fovea
