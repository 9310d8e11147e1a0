#include "operator/core/failure/repeat.h"

#include <algorithm>
#include <csignal>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/hash.h"
#include "operator/core/state/progress.h"
#include "operator/core/state/spec_values.h"

namespace muster::control {
namespace {

using v1alpha1::FailureRecord;
using v1alpha1::FailureRepeat;

constexpr size_t kLastLines = 5;
constexpr int kMostNodes = 2;

bool IsWordCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

// Replaces every word that contains a digit by "#": numbers, times, addresses and generated names
// differ between attempts.
std::string Masked(absl::string_view line) {
  std::string masked;
  for (size_t at = 0; at < line.size();) {
    size_t end = at;
    bool digit = false;
    for (; end < line.size() && IsWordCharacter(line[end]); ++end) {
      digit |= absl::ascii_isdigit(static_cast<unsigned char>(line[end]));
    }
    if (end == at) {
      masked.push_back(line[at++]);
      continue;
    }
    absl::StrAppend(&masked, digit ? "#" : line.substr(at, end - at));
    at = end;
  }
  return masked;
}

void AddNode(const std::string& node, FailureRepeat& repeat) {
  const auto& nodes = repeat.nodes();
  const bool known = std::count(nodes.begin(), nodes.end(), node) > 0;
  if (!node.empty() && !known && nodes.size() < kMostNodes) repeat.add_nodes(node);
}

// Returns true if the round under way has come further than the failed ones. An adopted round has:
// it was stepping when it was adopted.
bool HasComeFurther(const Draft& draft) {
  const RoundMemory& memory = draft.plan.memory;
  if (memory.phase != RoundPhase::kActive) return false;
  if (memory.go == nullptr || HasNewStep(draft)) return true;
  return !draft.spec().has_trainer() &&
         draft.view.now >= memory.phase_since + draft.options.command_recovered_after;
}

}  // namespace

std::string Fingerprint(int exit_code, int signal, absl::string_view log) {
  const std::vector<absl::string_view> lines = absl::StrSplit(log, '\n', absl::SkipWhitespace());
  std::string text = absl::StrCat(exit_code, "/", signal);
  const size_t first = lines.size() > kLastLines ? lines.size() - kLastLines : 0;
  for (size_t i = first; i < lines.size(); ++i) {
    absl::StrAppend(&text, "\n", Masked(absl::StripAsciiWhitespace(lines[i])));
  }
  return ToHex(Hash64(text));
}

bool MayRepeat(const FailureVerdict& verdict, const FailureRecord& record) {
  if (!verdict.counted()) return false;
  switch (verdict.kind) {
    case FailureClass::kProgramFailed:
    case FailureClass::kBadInput:
    case FailureClass::kOutOfMemory:
    case FailureClass::kProbeFailed:
      return true;
    case FailureClass::kRankKilled:
      return record.signal() != SIGKILL && record.signal() != SIGTERM;
    case FailureClass::kDisruption:
    case FailureClass::kNodeLost:
    case FailureClass::kPlacement:
    case FailureClass::kWorkerRefused:
    case FailureClass::kSidecar:
    case FailureClass::kWorkerKilled:
    case FailureClass::kDiverged:
    case FailureClass::kRankSilent:
      return false;
  }
  return false;
}

void CountRepeat(Draft& draft, const FailureRecord& record, absl::string_view log) {
  const std::string fingerprint = Fingerprint(record.exit_code(), record.signal(), log);
  FailureRepeat& repeat = *draft.status().mutable_failures()->mutable_repeat();
  if (repeat.fingerprint() != fingerprint) repeat.Clear();
  repeat.set_fingerprint(fingerprint);
  AddNode(record.node(), repeat);
  if (repeat.has_round() && record.round() <= repeat.round()) return;
  repeat.set_round(record.round());
  repeat.set_count(repeat.count() + 1);
}

void WithdrawRepeat(Draft& draft, const FailureRecord& record) {
  v1alpha1::FailureStatus& failures = *draft.status().mutable_failures();
  if (!failures.has_repeat() || failures.repeat().round() != record.round()) return;
  if (failures.repeat().count() <= 1) return failures.clear_repeat();
  failures.mutable_repeat()->set_count(failures.repeat().count() - 1);
}

void ForgetRepeats(Draft& draft) {
  if (!draft.status().failures().has_repeat() || !HasComeFurther(draft)) return;
  draft.status().mutable_failures()->clear_repeat();
}

void AddNodesOfRepeat(Draft& draft) {
  if (!draft.status().failures().has_repeat()) return;
  FailureRepeat& repeat = *draft.status().mutable_failures()->mutable_repeat();
  if (repeat.nodes_size() >= kMostNodes) return;
  for (const AgentView& agent : draft.view.agents) {
    const Worker* worker = draft.FindWorker(agent.index);
    if (worker == nullptr || worker->agent != &agent) continue;
    for (const ExitReport& exit : agent.exits) {
      if (exit.round.round != repeat.round()) continue;
      if (Fingerprint(exit.exit_code, exit.signal, exit.log_tail) != repeat.fingerprint()) continue;
      AddNode(worker->pod->node, repeat);
    }
  }
}

bool RepeatsTooOften(const Draft& draft) {
  const FailureRepeat& repeat = draft.plan.status.failures().repeat();
  const int most = MaxIdenticalFailures(draft.spec());
  if (most == 0 || repeat.count() < most) return false;
  std::set<std::string> nodes;
  for (const PodView& pod : draft.view.pods) {
    if (!pod.node.empty()) nodes.insert(pod.node);
  }
  return repeat.nodes_size() >= kMostNodes || nodes.size() < kMostNodes;
}

}  // namespace muster::control
