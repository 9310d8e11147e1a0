#ifndef MUSTER_AGENT_CORE_MESSAGE_FIT_H_
#define MUSTER_AGENT_CORE_MESSAGE_FIT_H_

#include <vector>

#include "proto/muster/v1alpha1/agent_messages.pb.h"

namespace muster::agent {

// Returns what `message` says in messages that keep to the limits of agent_limits.h: step reports
// are divided among several, texts are cut, and the oldest checkpoints, copies and links of a
// worker with many ranks are left out. Pure.
std::vector<v1alpha1::AgentMessage> FitToLimits(v1alpha1::AgentMessage message);

}  // namespace muster::agent

#endif  // MUSTER_AGENT_CORE_MESSAGE_FIT_H_
