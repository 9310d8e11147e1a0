#ifndef MUSTER_TRAINER_ENGINE_ROUND_GROUPS_H_
#define MUSTER_TRAINER_ENGINE_ROUND_GROUPS_H_

#include "trainer/comm/communicator.h"

namespace muster::trainer {

// The communicators of a round. If every rank holds the whole state, only `world` is set.
struct RoundGroups {
  Communicator* world = nullptr;
  Communicator* shard = nullptr;     // the ranks that divide one copy of the state
  Communicator* replicas = nullptr;  // the ranks that hold the same shard, one of each copy
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_ROUND_GROUPS_H_
