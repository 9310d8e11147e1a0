#ifndef MUSTER_OPERATOR_CORE_FAILURE_FENCE_H_
#define MUSTER_OPERATOR_CORE_FAILURE_FENCE_H_

#include <string>

#include "absl/time/time.h"
#include "operator/core/state/draft.h"

// Keeps two processes of one command from writing to the same place. Trainers are fenced by their
// rounds: an old one's late writes land nowhere. A command has no notion of rounds and does not end
// because the operator is missing. So a lost command is replaced, and a round without it is opened,
// only once it has surely ended: kubelet reports so, its pod is gone, its node was deleted or
// tainted node.kubernetes.io/out-of-service, or its agent has ended it by elastic.orphanDeadline.
namespace muster::control {

// Returns true if the command of `pod` cannot run any more, or never did; always true with a
// trainer.
bool IsProvenStopped(const Draft& draft, const PodView& pod);

// Returns when the passing of time alone will confirm the end; InfiniteFuture without an
// orphanDeadline.
absl::Time EndIsConfirmedAt(const Draft& draft, const PodView& pod);

// Returns a pod whose command may still run although no order reaches it or it will be in no
// further round, or null. The next round waits for the end of that command.
const PodView* FindPossiblyRunning(const Draft& draft);

// Describes, for people, what is awaited and what they can do about it.
std::string DescribeUnconfirmed(const PodView& pod);

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_CORE_FAILURE_FENCE_H_
