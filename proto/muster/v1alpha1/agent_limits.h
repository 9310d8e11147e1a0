#ifndef MUSTER_PROTO_MUSTER_V1ALPHA1_AGENT_LIMITS_H_
#define MUSTER_PROTO_MUSTER_V1ALPHA1_AGENT_LIMITS_H_

#include <cstddef>
#include <cstdint>

#include "proto/muster/v1alpha1/agent_messages.pb.h"

// The limits of what an agent may say to the operator. Agents keep to them, and the operator ends
// the stream of one that does not.
namespace muster::v1alpha1 {

// The size of a message. The operator's own, as the table of a large round, may be larger.
inline constexpr size_t kMaxAgentMessage = size_t{64} << 10;

// Texts for people, in bytes; longer ones are cut. Of a log the end is kept.
inline constexpr size_t kMaxText = size_t{2} << 10;
inline constexpr size_t kMaxShortText = 256;  // of which a message may have many
inline constexpr size_t kMaxLogTail = size_t{8} << 10;

// Names, such as those of directories and endpoints, and paths that hold them. A cut name would be
// another one, so longer ones are refused.
inline constexpr size_t kMaxName = size_t{1} << 10;
inline constexpr size_t kMaxPath = size_t{4} << 10;

// Steps, attempts, rounds and counts: any double can hold them, and sums of many do not overflow.
inline constexpr int64_t kMaxCount = int64_t{1} << 53;

// The lists of a rank's position.
inline constexpr int kMaxDecisions = 2;
inline constexpr int kMaxCheckpoints = 64;
inline constexpr int kMaxCopies = 4;

// The tunings of a run: as many as the spec may list.
inline constexpr int kMaxTunings = 64;

// The links that a worker measured. The trainer's tournament has fewer for any number of workers.
inline constexpr int kMaxLinks = 256;

// Cuts the texts of `message` to their limits, at the boundary of a character.
void CutTexts(AgentMessage& message);

}  // namespace muster::v1alpha1

#endif  // MUSTER_PROTO_MUSTER_V1ALPHA1_AGENT_LIMITS_H_
