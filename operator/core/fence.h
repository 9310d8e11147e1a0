#ifndef MUSTER_OPERATOR_CORE_FENCE_H_
#define MUSTER_OPERATOR_CORE_FENCE_H_

#include <string>

#include "absl/time/time.h"
#include "operator/core/draft.h"

// Who keeps two processes of one command from writing to the same place. Trainers are fenced by
// their rounds: what an old one still writes lands nowhere. A command knows nothing of rounds and
// is not ended for a missing operator, so a lost one is replaced, and a round without it is opened,
// only when it has surely ended: kubelet says so, its pod is gone, its node was deleted or tainted
// node.kubernetes.io/out-of-service, or its agent has ended it by elastic.orphanDeadline.
namespace muster::control {

// Whether the command of `pod` cannot run any more, or never did; always true with a trainer.
bool EndIsConfirmed(const Draft& draft, const PodView& pod);

// When time alone will confirm it: InfiniteFuture without an orphanDeadline.
absl::Time EndIsConfirmedAt(const Draft& draft, const PodView& pod);

// A pod whose command may still run where no order reaches it, or will be in no further round; null
// when there is none. The next round waits for its end.
const PodView* FindUnconfirmed(const Draft& draft);

// For people: what is waited for and what they can do about it.
std::string DescribeUnconfirmed(const PodView& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FENCE_H_
