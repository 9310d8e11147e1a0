#include "operator/kube/credentials/exec_credential.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "operator/kube/object_meta.h"

namespace muster::kube {
namespace {

constexpr size_t kMaxOutput = size_t{1} << 20;

absl::Status Failed(const std::string& program, const std::string& why) {
  return absl::UnauthenticatedError(absl::StrCat("credential plugin ", program, ": ", why));
}

// Returns the value of KUBERNETES_EXEC_INFO for the plugin.
std::string ExecInfo(const RestConfig& config) {
  Json spec = {{"interactive", false}};
  if (config.exec->provide_cluster_info) {
    Json cluster = {{"server", config.server}};
    if (!config.tls_server_name.empty()) cluster["tls-server-name"] = config.tls_server_name;
    if (!config.ca.pem.empty()) {
      cluster["certificate-authority-data"] = absl::Base64Escape(config.ca.pem);
    }
    spec["cluster"] = std::move(cluster);
  }
  return DumpJson(
      {{"apiVersion", config.exec->api_version}, {"kind", "ExecCredential"}, {"spec", spec}});
}

ProcessSpec SpecOf(const RestConfig& config, int out) {
  ProcessSpec spec;
  spec.argv = config.exec->argv;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    bool replaced = std::string_view(*entry).substr(0, 21) == "KUBERNETES_EXEC_INFO=";
    for (const auto& [name, value] : config.exec->env) {
      replaced |= std::string_view(*entry).substr(0, name.size() + 1) == name + "=";
    }
    if (!replaced) spec.env.push_back(*entry);
  }
  for (const auto& [name, value] : config.exec->env) spec.env.push_back(name + "=" + value);
  spec.env.push_back("KUBERNETES_EXEC_INFO=" + ExecInfo(config));
  spec.fds = {{out, STDOUT_FILENO}};
  spec.group = ProcessSpec::Group::kProcessGroup;
  return spec;
}

// The plugin is killed at `deadline`, or once `stop` is readable.
struct Limit {
  absl::Time deadline;  // Monotonic
  int stop = -1;
};

// Waits until `fd` is readable. Returns false if the limit was reached first.
bool Readable(int fd, Limit limit) {
  while (true) {
    const absl::Duration left = limit.deadline - Clock::Real().Monotonic();
    if (left <= absl::ZeroDuration()) return false;
    pollfd entries[] = {{fd, POLLIN, 0}, {limit.stop, POLLIN, 0}};
    const int ready = poll(entries, 2, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (entries[1].revents != 0) return false;
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

absl::StatusOr<std::string> ReadAll(int fd, Limit limit) {
  std::string text;
  char chunk[4096];
  while (Readable(fd, limit)) {
    const ssize_t got = read(fd, chunk, sizeof(chunk));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::InternalError("its output could not be read");
    if (got == 0) return text;
    text.append(chunk, static_cast<size_t>(got));
    if (text.size() > kMaxOutput) return absl::InternalError("its output is longer than 1 MiB");
  }
  return absl::DeadlineExceededError("it did not end in time");
}

absl::StatusOr<std::string> OutputOf(Process& process, int fd, Limit limit) {
  MUSTER_ASSIGN_OR_RETURN(std::string text, ReadAll(fd, limit));
  std::optional<ExitStatus> exit;
  while (!exit.has_value()) {
    MUSTER_ASSIGN_OR_RETURN(exit, process.Poll());
    if (!exit.has_value() && !Readable(process.poll_fd(), limit)) {
      return absl::DeadlineExceededError("it did not end in time");
    }
  }
  if (exit->code != 0) return absl::InternalError(DescribeExit(*exit));
  return text;
}

}  // namespace

absl::StatusOr<ExecCredential> ParseExecCredential(const std::string& text,
                                                   const std::string& api_version) {
  const absl::StatusOr<Json> json = ParseJson(text, kMaxOutput);
  if (!json.ok()) return absl::InvalidArgumentError("its output is not JSON");
  if (StringAt(*json, {"kind"}) != "ExecCredential") {
    return absl::InvalidArgumentError("its output is not an ExecCredential");
  }
  if (StringAt(*json, {"apiVersion"}) != api_version) {
    return absl::InvalidArgumentError(
        absl::StrCat("the apiVersion of its output is not ", api_version));
  }
  ExecCredential credential{
      .token = StringAt(*json, {"status", "token"}),
      .client_certificate = StringAt(*json, {"status", "clientCertificateData"}),
      .client_key = StringAt(*json, {"status", "clientKeyData"})};
  if (credential.client_certificate.empty() != credential.client_key.empty()) {
    return absl::InvalidArgumentError("its output has a certificate or a key, but not both");
  }
  if (credential.token.empty() && credential.client_certificate.empty()) {
    return absl::InvalidArgumentError("its output has neither a token nor a certificate");
  }
  const std::string expires = StringAt(*json, {"status", "expirationTimestamp"});
  if (expires.empty()) return credential;
  const std::optional<absl::Time> time = ParseTime(expires);
  if (!time.has_value()) {
    return absl::InvalidArgumentError("its expirationTimestamp is not an RFC 3339 time");
  }
  credential.expires = *time;
  return credential;
}

absl::StatusOr<ExecCredential> RunExecPlugin(const RestConfig& config, absl::Duration within,
                                             ProcessLauncher& launcher, int stop) {
  const std::string& program = config.exec->argv.front();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Failed(program, "cannot create a pipe");
  const Limit limit{Clock::Real().Monotonic() + within, stop};
  absl::StatusOr<std::unique_ptr<Process>> process = launcher.Launch(SpecOf(config, ends[1]));
  close(ends[1]);
  if (!process.ok()) {
    close(ends[0]);
    const std::string& hint = config.exec->install_hint;
    return Failed(program,
                  absl::StrCat(process.status().message(), hint.empty() ? "" : "; ", hint));
  }
  const absl::StatusOr<std::string> text = OutputOf(**process, ends[0], limit);
  close(ends[0]);
  if (!text.ok()) {
    (*process)->SignalGroup(SIGKILL).IgnoreError();
    if (Readable((*process)->poll_fd(), {Clock::Real().Monotonic() + absl::Seconds(5)})) {
      (*process)->Poll().status().IgnoreError();
    }
    return Failed(program, std::string(text.status().message()));
  }
  absl::StatusOr<ExecCredential> credential = ParseExecCredential(*text, config.exec->api_version);
  if (!credential.ok()) return Failed(program, std::string(credential.status().message()));
  return credential;
}

}  // namespace muster::kube
