#ifndef MUSTER_TRAINER_COMM_AXIS_GROUPS_H_
#define MUSTER_TRAINER_COMM_AXIS_GROUPS_H_

#include "trainer/comm/communicator.h"

namespace muster::trainer {

// The communicators in which a block may communicate while it runs: this rank's groups along the
// axes of a mesh that divide a micro-batch's work. Null along an axis of one rank.
struct AxisGroups {
  Communicator* tensor = nullptr;
  Communicator* context = nullptr;
};

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_AXIS_GROUPS_H_
