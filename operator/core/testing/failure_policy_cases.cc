#include "operator/core/testing/failure_policy_cases.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace muster::control {
namespace {

using Action = FailureAction;
using Class = FailureClass;
using Program = FailureFacts::Program;

// A builder of FailureFacts.
struct Facts : FailureFacts {
  Facts Probed() && { return probed = true, std::move(*this); }
  Facts Of(Program whose) && { return program = whose, std::move(*this); }
  Facts Log(const char* text) && { return log = text, std::move(*this); }
  Facts Because(const char* why) && { return reason = why, std::move(*this); }
  Facts Ended(const char* container, int code, const char* why) && {
    ends.push_back({container, code, 0, why});
    return std::move(*this);
  }
  Facts PodIs(const char* type, const char* status, const char* why = "") && {
    pod_conditions.push_back({type, status, why});
    return std::move(*this);
  }
  Facts NodeIs(const char* type, const char* status) && {
    node_conditions.push_back({type, status, ""});
    return std::move(*this);
  }
};

Facts Rank(int code, const char* reason = "Exited") {
  Facts facts;
  facts.ends = {{"worker", code, code > 128 ? code - 128 : 0, reason}};
  return facts;
}
Facts Killed(int signal, const char* reason = "Signaled") { return Rank(128 + signal, reason); }
Facts Pod() {
  Facts facts;
  facts.of_pod = true;
  return facts;
}

}  // namespace

std::vector<FailureCase> DefaultCases() {
  const std::string rule = "default";
  return {
      {"a rank ended with exit code 1", "", Rank(1), Class::kProgramFailed, Action::kRestartWorker,
       rule},
      {"the trainer ended with exit code 2", "", Rank(2), Class::kBadInput, Action::kFailJob, rule},
      {"the trainer ended with exit code 4", "", Rank(4), Class::kDiverged, Action::kFailJob, rule},
      {"a user's command ended with exit code 2", "", Rank(2).Of(Program::kCommand),
       Class::kProgramFailed, Action::kRestartWorker, rule},
      {"the trainer ended with exit code 3", "", Rank(3), Class::kWorkerRefused, Action::kIgnore,
       rule},
      {"a user's command ended with exit code 3", "", Rank(3).Of(Program::kCommand),
       Class::kProgramFailed, Action::kRestartWorker, rule},
      {"a rank was killed by SIGSEGV", "", Killed(11), Class::kRankKilled, Action::kRestartWorker,
       rule},
      {"a rank was killed by SIGKILL", "", Killed(9), Class::kRankKilled, Action::kRestartWorker,
       rule},
      {"a rank was killed by the kernel for its memory", "", Killed(9, "OOMKilled"),
       Class::kOutOfMemory, Action::kRestartWorker, rule},
      {"a rank was killed by its agent for its silence", "", Killed(9, "DeadlineExceeded"),
       Class::kRankSilent, Action::kRestartWorker, rule},
      {"a rank closed its link and was killed", "", Killed(9, "LinkLost"), Class::kRankSilent,
       Action::kRestartWorker, rule},
      {"a rank ended with 143 in a pod that is a disruption's target", "",
       Killed(15).PodIs("DisruptionTarget", "True", "EvictionByEvictionAPI"), Class::kDisruption,
       Action::kIgnore, rule},
      {"a rank ended with 1 on a node that is not Ready", "", Rank(1).NodeIs("Ready", "Unknown"),
       Class::kNodeLost, Action::kIgnore, rule},
      {"a pod was evicted", "", Pod().Because("Evicted"), Class::kDisruption, Action::kIgnore,
       rule},
      {"a pod was deleted by the taint manager", "",
       Pod().PodIs("DisruptionTarget", "True", "DeletionByTaintManager"), Class::kDisruption,
       Action::kIgnore, rule},
      {"a pod was preempted", "", Pod().Because("Preempting"), Class::kDisruption, Action::kIgnore,
       rule},
      {"a pod's node was lost", "", Pod().Because("NodeLost"), Class::kNodeLost, Action::kIgnore,
       rule},
      {"a pod's node was shut down", "", Pod().Because("Terminated"), Class::kNodeLost,
       Action::kIgnore, rule},
      {"a pod failed on a node that is not Ready", "",
       Pod().Ended("worker", 1, "Error").NodeIs("Ready", "False"), Class::kNodeLost,
       Action::kIgnore, rule},
      {"a pod was refused for its processors", "", Pod().Because("OutOfcpu"), Class::kPlacement,
       Action::kIgnore, rule},
      {"a pod was refused for its GPUs", "", Pod().Because("OutOfnvidia.com/gpu"),
       Class::kPlacement, Action::kIgnore, rule},
      {"a pod was refused by a device plugin", "", Pod().Because("UnexpectedAdmissionError"),
       Class::kPlacement, Action::kIgnore, rule},
      {"a pod was refused for its NUMA layout", "", Pod().Because("TopologyAffinityError"),
       Class::kPlacement, Action::kIgnore, rule},
      {"a pod was out of memory", "", Pod().Ended("worker", 137, "OOMKilled"), Class::kOutOfMemory,
       Action::kRestartWorker, rule},
      {"a pod's agent was killed by a signal", "", Pod().Ended("worker", 137, "Error"),
       Class::kWorkerKilled, Action::kIgnore, rule},
      {"the same, and the container has a livenessProbe", "",
       Pod().Ended("worker", 137, "Error").Probed(), Class::kProbeFailed, Action::kRestartWorker,
       rule},
      {"a pod failed without an exit code", "", Pod(), Class::kWorkerKilled, Action::kIgnore, rule},
      {"a pod's agent ended with exit code 1", "", Pod().Ended("worker", 1, "Error"),
       Class::kProgramFailed, Action::kRestartWorker, rule},
      {"a pod's agent ended with exit code 75", "",
       Pod().Of(Program::kAgent).Ended("worker", 75, "Error"), Class::kWorkerRefused,
       Action::kIgnore, rule},
      {"only a sidecar failed", "", Pod().Ended("worker", 0, "Completed").Ended("log", 1, "Error"),
       Class::kSidecar, Action::kIgnore, rule},
  };
}

std::vector<FailureCase> RuleCases() {
  const Class failed = Class::kProgramFailed;
  const Class killed = Class::kRankKilled;
  const std::string codes = "[{action: FailJob, exitCodes: {values: [42, 43]}}]";
  const std::string range = "[{action: Ignore, exitCodes: {ranges: [{first: 10, last: 19}]}}]";
  const std::string not_in = "[{action: FailJob, exitCodes: {operator: NotIn, values: [1]}}]";
  const std::string signal = "[{action: RestartJob, signals: [SIGSEGV, SIGBUS], name: crash}]";
  const std::string oom = "[{action: FailJob, reasons: [OOMKilled]}]";
  const std::string prefix = "[{action: FailJob, reasons: [\"OutOf*\"]}]";
  const std::string sidecar = "[{action: RestartWorker, containers: [log]}]";
  const std::string pair = "[{action: FailJob, containers: [log], exitCodes: {values: [1]}}]";
  const std::string log = "[{action: RestartJob, logPattern: \"NCCL (error|WARN)\"}]";
  const std::string node = "[{action: RestartWorker, nodeConditions: [{type: MemoryPressure}]}]";
  const std::string pod =
      "[{action: FailJob, podConditions: [{type: DisruptionTarget, "
      "reason: PreemptionByScheduler}]}]";
  const std::string both = "[{action: Ignore, exitCodes: {values: [1]}, logPattern: timed out}]";
  const std::string order =
      "[{action: Ignore, exitCodes: {values: [7]}, name: known}, "
      "{action: FailJob, exitCodes: {operator: NotIn, values: [1]}, name: rest}]";
  return {
      {"exit code 42", codes, Rank(42), failed, Action::kFailJob, "rules[0]"},
      {"exit code 41", codes, Rank(41), failed, Action::kRestartWorker, "default"},
      {"exit code 19", range, Rank(19), failed, Action::kIgnore, "rules[0]"},
      {"exit code 20", range, Rank(20), failed, Action::kRestartWorker, "default"},
      {"exit code 5", not_in, Rank(5), failed, Action::kFailJob, "rules[0]"},
      {"exit code 1", not_in, Rank(1), failed, Action::kRestartWorker, "default"},
      {"a sidecar ended with 0, the agent with 1", not_in,
       Pod().Ended("log", 0, "Completed").Ended("worker", 1, "Error"), failed,
       Action::kRestartWorker, "default"},
      {"SIGSEGV", signal, Killed(11), killed, Action::kRestartJob, "crash"},
      {"exit code 139 of a pod", signal, Pod().Ended("worker", 139, "Error"), Class::kWorkerKilled,
       Action::kRestartJob, "crash"},
      {"SIGKILL", signal, Killed(9), killed, Action::kRestartWorker, "default"},
      {"out of memory", oom, Pod().Ended("worker", 137, "OOMKilled"), Class::kOutOfMemory,
       Action::kFailJob, "rules[0]"},
      {"refused by kubelet", prefix, Pod().Because("OutOfmemory"), Class::kPlacement,
       Action::kFailJob, "rules[0]"},
      {"a sidecar failed", sidecar, Pod().Ended("worker", 0, "Completed").Ended("log", 1, "Error"),
       Class::kSidecar, Action::kRestartWorker, "rules[0]"},
      {"the agent ended with 1, the sidecar with 2", pair,
       Pod().Ended("worker", 1, "Error").Ended("log", 2, "Error"), failed, Action::kRestartWorker,
       "default"},
      {"exit code 1, the log ends with `NCCL error 5`", log, Rank(1).Log("step 9\nNCCL error 5\n"),
       failed, Action::kRestartJob, "rules[0]"},
      {"exit code 1, the log says nothing", log, Rank(1), failed, Action::kRestartWorker,
       "default"},
      {"exit code 1 on a node under memory pressure", node,
       Rank(1).NodeIs("Ready", "True").NodeIs("MemoryPressure", "True"), failed,
       Action::kRestartWorker, "rules[0]"},
      {"preempted by the scheduler", pod,
       Pod().PodIs("DisruptionTarget", "True", "PreemptionByScheduler"), Class::kDisruption,
       Action::kFailJob, "rules[0]"},
      {"evicted through the API", pod,
       Pod().PodIs("DisruptionTarget", "True", "EvictionByEvictionAPI"), Class::kDisruption,
       Action::kIgnore, "default"},
      {"exit code 1, the log says `timed out`", both, Rank(1).Log("read timed out"), failed,
       Action::kIgnore, "rules[0]"},
      {"exit code 2, the log says `timed out`", both, Rank(2).Log("read timed out"),
       Class::kBadInput, Action::kFailJob, "default"},
      {"exit code 7: the first of two rules", order, Rank(7), failed, Action::kIgnore, "known"},
      {"exit code 8: the second", order, Rank(8), failed, Action::kFailJob, "rest"},
  };
}

std::string ClassTable() {
  std::string text = "| class | meaning | by default |\n|---|---|---|\n";
  for (Class kind : AllFailureClasses()) {
    absl::StrAppend(&text, "| `", Name(kind), "` | ", Meaning(kind), " | `",
                    Name(DefaultAction(kind)), "` |\n");
  }
  return text;
}

std::string CaseTable(const std::vector<FailureCase>& cases) {
  const bool with_rules = !cases.empty() && !cases.front().rules.empty();
  std::string text = with_rules ? "| what happened | `rules` | class | action | decided by |\n"
                                  "|---|---|---|---|---|\n"
                                : "| what happened | class | action |\n|---|---|---|\n";
  for (const FailureCase& c : cases) {
    absl::StrAppend(&text, "| ", c.what, " | ");
    if (with_rules) {
      absl::StrAppend(&text, "`", absl::StrReplaceAll(c.rules, {{"|", "\\|"}}), "` | ");
    }
    absl::StrAppend(&text, "`", Name(c.kind), "` | `", Name(c.action), "` |");
    if (with_rules) absl::StrAppend(&text, " `", c.rule, "` |");
    absl::StrAppend(&text, "\n");
  }
  return text;
}

}  // namespace muster::control
