#include "operator/core/startup.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "operator/core/state/workers.h"

namespace muster::control {
namespace {

constexpr size_t kMaxMessage = 512;

// Every container waits with one of these while nothing is wrong.
bool IsUsual(absl::string_view reason) {
  constexpr std::array<absl::string_view, 3> kUsual = {"", "ContainerCreating", "PodInitializing"};
  return std::find(kUsual.begin(), kUsual.end(), reason) != kUsual.end();
}

const ContainerWait* FindBlocked(const PodView& pod) {
  if (pod.deleting || pod.phase != PodPhase::kPending) return nullptr;
  const auto found = std::find_if(pod.waiting.begin(), pod.waiting.end(),
                                  [](const ContainerWait& wait) { return !IsUsual(wait.reason); });
  return found == pod.waiting.end() ? nullptr : &*found;
}

}  // namespace

std::optional<std::string> DescribeBlockedPod(const Draft& draft) {
  for (const Worker& worker : draft.workers) {
    if (worker.pod == nullptr || worker.ended || worker.index >= draft.WorkersWanted()) continue;
    const ContainerWait* wait = FindBlocked(*worker.pod);
    if (wait == nullptr) continue;
    std::string text =
        absl::StrCat("pod ", worker.pod->name, " does not start on node ", worker.pod->node,
                     ": container ", wait->container, ": ", wait->reason);
    if (!wait->message.empty()) {
      absl::StrAppend(&text, ": ", absl::string_view(wait->message).substr(0, kMaxMessage));
    }
    return text;
  }
  return std::nullopt;
}

}  // namespace muster::control
