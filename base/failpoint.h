#ifndef MUSTER_BASE_FAILPOINT_H_
#define MUSTER_BASE_FAILPOINT_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

// Failpoints: named places in the code where a test makes the process die, stop, sleep or fail, so
// that process tests hit the same moments as the model-checked ones. They are compiled out with
// -DMUSTER_RELEASE.
//
//   MUSTER_FAILPOINT("trainer.after_vote");
//   MUSTER_RETURN_IF_ERROR(MUSTER_FAILPOINT_STATUS("checkpoint.write_shard"));
//   MUSTER_FAILPOINT_OF("agent.before_send", KindOf(message));  // "agent.before_send.hello"
//
// They are armed through the environment, which is read at the first hit:
//   MUSTER_FAILPOINTS="trainer.after_vote=kill@3?RANK=1&TORCHELASTIC_RESTART_COUNT=0;x.y=sleep:250"
// Each is NAME=ACTION[@N][?VAR=VALUE[&VAR=VALUE...]]. ACTION is kill (SIGKILL), stop (SIGSTOP),
// sleep:MILLISECONDS, error or list:PATH. It acts once, at the Nth hit, counted from 1 (the
// default). The conditions refer to the environment, so that one string can address one rank, or
// one of its lives. The name "*" stands for every place, and list:PATH appends the name to a file,
// so
// "*=list:PATH" tells which places a process reaches. A malformed MUSTER_FAILPOINTS ends the
// process with code 2, because a mistyped fault must not pass for a survived one. Thread-safe.

namespace muster {

struct Failpoint {
  enum class Action { kKill, kStop, kSleep, kError, kList };
  std::string name;
  std::string path;  // of kList
  Action action = Action::kKill;
  absl::Duration sleep;
  int hit = 1;
  // Environment variables that must have these values, as NAME=VALUE.
  std::vector<std::string> conditions;
};

absl::StatusOr<std::vector<Failpoint>> ParseFailpoints(std::string_view text);

namespace failpoint_internal {
// Carries out the action armed for `name`; returns Aborted if it is `error`.
absl::Status Hit(std::string_view name);
// Returns true if something is armed in this process.
bool IsArmed();
}  // namespace failpoint_internal

}  // namespace muster

#ifdef MUSTER_RELEASE
#define MUSTER_FAILPOINT(name) static_cast<void>(0)
#define MUSTER_FAILPOINT_OF(name, kind) static_cast<void>(0)
#define MUSTER_FAILPOINT_STATUS(name) ::absl::OkStatus()
#else
#define MUSTER_FAILPOINT(name) static_cast<void>(::muster::failpoint_internal::Hit(name))
#define MUSTER_FAILPOINT_OF(name, kind)          \
  static_cast<void>(                             \
      ::muster::failpoint_internal::IsArmed() && \
      ::muster::failpoint_internal::Hit(std::string(name).append(".").append(kind)).ok())
#define MUSTER_FAILPOINT_STATUS(name) ::muster::failpoint_internal::Hit(name)
#endif

#endif  // MUSTER_BASE_FAILPOINT_H_
