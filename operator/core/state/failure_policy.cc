#include "operator/core/state/failure_policy.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/exit_codes.h"
#include "google/protobuf/repeated_field.h"
#include "re2/re2.h"

namespace muster::control {
namespace {

using v1alpha1::ConditionMatch;
using v1alpha1::ExitCodeMatch;
using v1alpha1::ExitCodeRange;
using v1alpha1::FailureRule;
using Program = FailureFacts::Program;

constexpr size_t kMaxLog = 8 << 10;
constexpr int64_t kMaxPatternMemory = 1 << 20;

struct ClassInfo {
  FailureClass kind;
  const char* name;
  FailureAction action;
  const char* meaning;
};

constexpr std::array<ClassInfo, 13> kClasses = {{
    {FailureClass::kDisruption, "Disruption", FailureAction::kIgnore,
     "The pod was evicted or preempted, or its condition DisruptionTarget is True."},
    {FailureClass::kNodeLost, "NodeLost", FailureAction::kIgnore,
     "The pod's node is not Ready, shut down, or lost the pod."},
    {FailureClass::kPlacement, "Placement", FailureAction::kIgnore,
     "The node refused the pod: another pod took its place first."},
    {FailureClass::kOutOfMemory, "OutOfMemory", FailureAction::kRestartWorker,
     "A container used more memory than its limit; the kernel killed it or a rank in it."},
    {FailureClass::kWorkerRefused, "WorkerRefused", FailureAction::kIgnore,
     "One of muster's programs gave way to a newer instance (exit code 3), or saved and ended "
     "because it had no operator (75)."},
    {FailureClass::kSidecar, "Sidecar", FailureAction::kIgnore,
     "Only containers other than `worker` failed."},
    {FailureClass::kWorkerKilled, "WorkerKilled", FailureAction::kIgnore,
     "The pod's `worker` container was killed by a signal, or ended without an exit code."},
    {FailureClass::kProbeFailed, "ProbeFailed", FailureAction::kRestartWorker,
     "The pod's `worker` container was killed by a signal, and it has a livenessProbe or "
     "startupProbe, for which kubelet does so."},
    {FailureClass::kBadInput, "BadInput", FailureAction::kFailJob,
     "The built-in trainer said that its input is wrong (exit code 2): trying again cannot help."},
    {FailureClass::kDiverged, "Diverged", FailureAction::kFailJob,
     "The built-in trainer had to skip more steps than train.skippedSteps allows, because loss or "
     "gradient was not finite (exit code 4)."},
    {FailureClass::kRankSilent, "RankSilent", FailureAction::kRestartWorker,
     "A rank was killed by its agent because it was silent or had closed its link."},
    {FailureClass::kRankKilled, "RankKilled", FailureAction::kRestartWorker,
     "A rank was killed by a signal."},
    {FailureClass::kProgramFailed, "ProgramFailed", FailureAction::kRestartWorker,
     "A program ended with an exit code other than 0."},
}};

// The test compares the names with those that the schema allows.
constexpr std::array<FailureAction, 4> kActions = {FailureAction::kRestartWorker,
                                                   FailureAction::kRestartJob,
                                                   FailureAction::kIgnore, FailureAction::kFailJob};

struct ActionInfo {
  const char* name = "";
  bool counted = true;
  bool ends_job = false;
};

// No default: the compiler names the action that is missing.
ActionInfo InfoOf(FailureAction action) {
  switch (action) {
    case FailureAction::kRestartWorker:
      return {.name = "RestartWorker"};
    case FailureAction::kRestartJob:
      return {.name = "RestartJob"};
    case FailureAction::kIgnore:
      return {.name = "Ignore", .counted = false};
    case FailureAction::kFailJob:
      return {.name = "FailJob", .ends_job = true};
  }
  return {};
}

constexpr std::array<std::pair<const char*, int>, 18> kSignals = {{
    {"SIGHUP", SIGHUP},
    {"SIGINT", SIGINT},
    {"SIGQUIT", SIGQUIT},
    {"SIGILL", SIGILL},
    {"SIGTRAP", SIGTRAP},
    {"SIGABRT", SIGABRT},
    {"SIGBUS", SIGBUS},
    {"SIGFPE", SIGFPE},
    {"SIGKILL", SIGKILL},
    {"SIGUSR1", SIGUSR1},
    {"SIGSEGV", SIGSEGV},
    {"SIGUSR2", SIGUSR2},
    {"SIGPIPE", SIGPIPE},
    {"SIGALRM", SIGALRM},
    {"SIGTERM", SIGTERM},
    {"SIGXCPU", SIGXCPU},
    {"SIGXFSZ", SIGXFSZ},
    {"SIGSYS", SIGSYS},
}};

const ClassInfo& InfoOf(FailureClass kind) {
  const auto found = std::find_if(kClasses.begin(), kClasses.end(),
                                  [&](const ClassInfo& info) { return info.kind == kind; });
  return found == kClasses.end() ? kClasses.back() : *found;
}

bool HasFailed(const ContainerEnd& end) { return end.exit_code != 0 || end.signal != 0; }

// Returns the signal, as reported or derived from the exit code; 0 if no signal ended it.
int SignalOf(const ContainerEnd& end) {
  if (end.signal != 0) return end.signal;
  return end.exit_code > kExitSignalBase ? end.exit_code - kExitSignalBase : 0;
}

bool IsIn(const ExitCodeMatch& match, int code) {
  return std::count(match.values().begin(), match.values().end(), code) > 0 ||
         std::any_of(match.ranges().begin(), match.ranges().end(), [&](const ExitCodeRange& range) {
           return range.first() <= code && code <= range.last();
         });
}

bool MatchesCode(const FailureRule& rule, const ContainerEnd& end) {
  if (!rule.has_exit_codes()) return true;
  return IsIn(rule.exit_codes(), end.exit_code) == (rule.exit_codes().operator_() != "NotIn");
}

bool MatchesSignal(const FailureRule& rule, const ContainerEnd& end) {
  if (rule.signals_size() == 0) return true;
  return std::any_of(kSignals.begin(), kSignals.end(), [&](const auto& signal) {
    return signal.second == SignalOf(end) &&
           std::count(rule.signals().begin(), rule.signals().end(), signal.first) > 0;
  });
}

bool MatchesContainer(const FailureRule& rule, const ContainerEnd& end) {
  const auto& names = rule.containers();
  return names.empty() || std::count(names.begin(), names.end(), end.container) > 0;
}

bool MatchesReason(const FailureRule& rule, absl::string_view reason) {
  return std::any_of(rule.reasons().begin(), rule.reasons().end(), [&](absl::string_view wanted) {
    const bool prefix = absl::EndsWith(wanted, "*");
    if (prefix) wanted.remove_suffix(1);
    return !reason.empty() && (prefix ? absl::StartsWith(reason, wanted) : reason == wanted);
  });
}

bool MatchesEnds(const FailureRule& rule, const FailureFacts& facts) {
  const bool reason_fits = rule.reasons_size() == 0 || MatchesReason(rule, facts.reason);
  const bool asks = rule.has_exit_codes() || rule.signals_size() > 0 || rule.containers_size() > 0;
  if (!asks && reason_fits) return true;
  return std::any_of(facts.ends.begin(), facts.ends.end(), [&](const ContainerEnd& end) {
    return HasFailed(end) && MatchesCode(rule, end) && MatchesSignal(rule, end) &&
           MatchesContainer(rule, end) && (reason_fits || MatchesReason(rule, end.reason));
  });
}

bool MatchesLog(const FailureRule& rule, const FailureFacts& facts) {
  if (!rule.has_log_pattern()) return true;
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(kMaxPatternMemory);
  const RE2 pattern(rule.log_pattern(), options);
  const size_t skip = facts.log.size() > kMaxLog ? facts.log.size() - kMaxLog : 0;
  const re2::StringPiece log(facts.log.data() + skip, facts.log.size() - skip);
  return pattern.ok() && RE2::PartialMatch(log, pattern);
}

bool MatchesConditions(const google::protobuf::RepeatedPtrField<ConditionMatch>& matches,
                       const std::vector<ConditionView>& conditions) {
  if (matches.empty()) return true;
  return std::any_of(matches.begin(), matches.end(), [&](const ConditionMatch& match) {
    const std::string status = match.has_status() ? match.status() : "True";
    return std::any_of(conditions.begin(), conditions.end(), [&](const ConditionView& condition) {
      return condition.type == match.type() && condition.status == status &&
             (!match.has_reason() || condition.reason == match.reason());
    });
  });
}

bool Matches(const FailureRule& rule, const FailureFacts& facts) {
  return MatchesEnds(rule, facts) &&
         MatchesConditions(rule.node_conditions(), facts.node_conditions) &&
         MatchesConditions(rule.pod_conditions(), facts.pod_conditions) && MatchesLog(rule, facts);
}

// Returns true if the pod, or one of its containers, ended with the reason `wanted`.
bool HasReason(const FailureFacts& facts, absl::string_view wanted) {
  return facts.reason == wanted ||
         std::any_of(facts.ends.begin(), facts.ends.end(),
                     [&](const ContainerEnd& end) { return end.reason == wanted; });
}

template <size_t N>
bool HasAnyReason(const FailureFacts& facts, const std::array<const char*, N>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(),
                     [&](const char* reason) { return HasReason(facts, reason); });
}

bool IsDisruption(const FailureFacts& facts) {
  constexpr std::array<const char*, 3> kReasons = {"Evicted", "Preempting", "Preempted"};
  return HasAnyReason(facts, kReasons) ||
         std::any_of(facts.pod_conditions.begin(), facts.pod_conditions.end(),
                     [](const ConditionView& condition) {
                       return condition.type == "DisruptionTarget" && condition.status == "True";
                     });
}

// Kubelets have used "Terminated", "Shutdown" and "NodeShutdown" for a node's shutdown.
bool IsNodeLost(const FailureFacts& facts) {
  constexpr std::array<const char*, 5> kReasons = {"NodeLost", "NodeShutdown", "Shutdown",
                                                   "Terminated", "ContainerStatusUnknown"};
  return HasAnyReason(facts, kReasons) ||
         std::any_of(facts.node_conditions.begin(), facts.node_conditions.end(),
                     [](const ConditionView& condition) {
                       return condition.type == "Ready" && condition.status != "True";
                     });
}

bool IsPlacement(const FailureFacts& facts) {
  constexpr std::array<const char*, 5> kReasons = {"UnexpectedAdmissionError", "NodeAffinity",
                                                   "NodePorts", "TopologyAffinityError",
                                                   "PodOSSelectorNodeLabelDoesNotMatch"};
  return absl::StartsWith(facts.reason, "OutOf") || HasAnyReason(facts, kReasons);
}

FailureClass ClassifyRank(const FailureFacts& facts, const ContainerEnd& end) {
  if (end.reason == "DeadlineExceeded" || end.reason == "LinkLost") {
    return FailureClass::kRankSilent;
  }
  return SignalOf(end) != 0 ? FailureClass::kRankKilled : FailureClass::kProgramFailed;
}

FailureClass ClassifyPod(const FailureFacts& facts, const ContainerEnd* worker) {
  if (worker == nullptr) return FailureClass::kWorkerKilled;
  const bool killed = SignalOf(*worker) != 0;
  if (killed) return facts.probed ? FailureClass::kProbeFailed : FailureClass::kWorkerKilled;
  return HasFailed(*worker) ? FailureClass::kProgramFailed : FailureClass::kSidecar;
}

FailureClass Classify(const FailureFacts& facts) {
  if (IsDisruption(facts)) return FailureClass::kDisruption;
  if (IsNodeLost(facts)) return FailureClass::kNodeLost;
  if (IsPlacement(facts)) return FailureClass::kPlacement;
  if (HasReason(facts, "OOMKilled")) return FailureClass::kOutOfMemory;
  const auto worker =
      std::find_if(facts.ends.begin(), facts.ends.end(),
                   [](const ContainerEnd& end) { return end.container == kWorkerContainer; });
  const ContainerEnd* end = worker == facts.ends.end() ? nullptr : &*worker;
  const int code = end == nullptr ? 0 : end->exit_code;
  const bool ours = facts.program != Program::kCommand;
  if (ours && (code == kExitRefused || code == kExitOrphaned)) return FailureClass::kWorkerRefused;
  if (facts.program == Program::kTrainer && code == kExitBadInput) return FailureClass::kBadInput;
  if (facts.program == Program::kTrainer && code == kExitDiverged) return FailureClass::kDiverged;
  if (facts.of_pod || end == nullptr) return ClassifyPod(facts, end);
  return ClassifyRank(facts, *end);
}

}  // namespace

absl::string_view Name(FailureClass kind) { return InfoOf(kind).name; }
absl::string_view Meaning(FailureClass kind) { return InfoOf(kind).meaning; }
FailureAction DefaultAction(FailureClass kind) { return InfoOf(kind).action; }

absl::string_view Name(FailureAction action) { return InfoOf(action).name; }
bool IsCounted(FailureAction action) { return InfoOf(action).counted; }
bool EndsJob(FailureAction action) { return InfoOf(action).ends_job; }

std::optional<FailureAction> FindAction(absl::string_view name) {
  const auto found = std::find_if(kActions.begin(), kActions.end(),
                                  [&](FailureAction action) { return Name(action) == name; });
  if (found == kActions.end()) return std::nullopt;
  return *found;
}

std::vector<FailureClass> AllFailureClasses() {
  std::vector<FailureClass> all;
  for (const ClassInfo& info : kClasses) all.push_back(info.kind);
  return all;
}

FailureVerdict EvaluateFailure(const v1alpha1::FailurePolicySpec& policy,
                               const FailureFacts& facts) {
  FailureVerdict verdict;
  verdict.kind = Classify(facts);
  verdict.action = DefaultAction(verdict.kind);
  verdict.rule = "default";
  for (int i = 0; i < policy.rules_size(); ++i) {
    const FailureRule& rule = policy.rules(i);
    if (!Matches(rule, facts)) continue;
    verdict.action = FindAction(rule.action()).value_or(verdict.action);
    verdict.rule = rule.has_name() ? rule.name() : absl::StrCat("rules[", i, "]");
    break;
  }
  return verdict;
}

}  // namespace muster::control
