#include "tests/e2e/operator_replicas.h"

#include <csignal>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/status_macros.h"
#include "tests/e2e/logged_process.h"

namespace muster::tests {
namespace {

constexpr int kFirstCoordinatorPort = 7443;
constexpr int kFirstHttpPort = 8443;
constexpr int kFirstProbesPort = 8081;
constexpr absl::Duration kRestartPause = absl::Seconds(1);

std::string Coordinator(int replica) {
  return absl::StrCat("127.0.0.1:", kFirstCoordinatorPort + replica);
}

}  // namespace

OperatorReplicas::OperatorReplicas(OperatorReplicasOptions options)
    : options_(std::move(options)), replicas_(options_.count) {}

OperatorReplicas::~OperatorReplicas() {
  for (const Replica& replica : replicas_) {
    if (replica.process != nullptr) (void)replica.process->Signal(SIGKILL);
  }
}

std::string OperatorReplicas::NameOf(int replica) {
  return replica == 0 ? "operator" : absl::StrCat("operator-", replica);
}

absl::Status OperatorReplicas::Launch(int replica) {
  Replica& launched = replicas_.at(replica);
  launched.log_start = Log(replica).size();
  ++launched.lives;
  launched.launched_at = Clock::Real().Monotonic();
  std::vector<std::string> addresses;
  for (int i = 0; i < options_.count; ++i) addresses.push_back(Coordinator(i));
  std::vector<std::string> argv = {
      SourcePath("operator/muster-operator"),
      "--kubeconfig=" + options_.kubeconfig,
      "--coordinator=" + Coordinator(replica),
      "--pod-coordinator=" + absl::StrJoin(addresses, ","),
      absl::StrCat("--http=127.0.0.1:", kFirstHttpPort + replica),
      absl::StrCat("--probes=127.0.0.1:", kFirstProbesPort + replica),
      absl::StrCat("--identity=", NameOf(replica), "/", launched.lives),
  };
  argv.insert(argv.end(), options_.lease_flags.begin(), options_.lease_flags.end());
  MUSTER_ASSIGN_OR_RETURN(launched.process, LaunchLogged(options_.folder, NameOf(replica),
                                                         std::move(argv), options_.env));
  return absl::OkStatus();
}

absl::Status OperatorReplicas::Signal(int replica, int signal) {
  Process* process = replicas_.at(replica).process.get();
  if (process == nullptr) return absl::NotFoundError(NameOf(replica));
  return process->Signal(signal);
}

std::optional<ExitStatus> OperatorReplicas::End(int replica) {
  Process* process = replicas_.at(replica).process.get();
  if (process == nullptr) return ExitStatus{};
  return process->Poll().value_or(ExitStatus{.known = false});
}

void OperatorReplicas::RestartEnded() {
  const absl::Time now = Clock::Real().Monotonic();
  for (int i = 0; i < count(); ++i) {
    const Replica& replica = replicas_[i];
    if (replica.lives > 0 && now > replica.launched_at + kRestartPause && End(i)) (void)Launch(i);
  }
}

bool OperatorReplicas::HasStarted(int replica) const {
  return absl::StrContains(LifeLog(replica), " operator started ");
}

std::optional<absl::Time> OperatorReplicas::LeadingSince(int replica) const {
  const std::string log = LifeLog(replica);
  const size_t said = log.find(" leading ");
  if (said == std::string::npos) return std::nullopt;
  const size_t line = log.rfind('\n', said) + 1;  // npos + 1 is the start
  absl::Time time;
  std::string error;
  const std::string stamp = log.substr(line, log.find(' ', line) - line);
  if (!absl::ParseTime(absl::RFC3339_full, stamp, &time, &error)) return std::nullopt;
  return time;
}

std::optional<int> OperatorReplicas::Leader(int except) {
  std::optional<int> leader;
  std::optional<absl::Time> since;
  for (int i = 0; i < count(); ++i) {
    const auto leading = LeadingSince(i);
    if (i == except || !leading || End(i) || (since && *leading < *since)) continue;
    leader = i;
    since = leading;
  }
  return leader;
}

std::string OperatorReplicas::Log(int replica) const {
  return ReadFile(FileSystem(), absl::StrCat(options_.folder, "/", NameOf(replica), ".log"))
      .value_or("");
}

std::string OperatorReplicas::LifeLog(int replica) const {
  return Log(replica).substr(replicas_.at(replica).log_start);
}

}  // namespace muster::tests
