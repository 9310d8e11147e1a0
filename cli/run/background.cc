#include "cli/run/background.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "absl/strings/str_cat.h"

namespace muster::cli {
namespace {

absl::Status Failed(const std::string& what) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot go on in the background: ", what));
}

bool HasBegun(int fd) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(fd, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

int WaitForEnd(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

absl::StatusOr<std::optional<Background::Parent>> Background::Fork() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return Failed("pipe");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return Failed("fork");
  if (child == 0) {
    close(fds[0]);
    begun_fd_ = fds[1];
    return std::nullopt;
  }
  close(fds[1]);
  Parent parent{.child = child};
  if (!HasBegun(fds[0])) parent.exit_code = WaitForEnd(child);
  close(fds[0]);
  return parent;
}

absl::Status Background::Begin(const std::string& log) {
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (out < 0) return Failed(log);
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0) return Failed("/dev/null");
  setsid();
  std::signal(SIGHUP, SIG_IGN);
  std::fflush(nullptr);
  dup2(null, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  close(null);
  close(out);
  const char begun = 1;
  if (write(begun_fd_, &begun, 1) != 1) return Failed("write");
  close(begun_fd_);
  return absl::OkStatus();
}

}  // namespace muster::cli
