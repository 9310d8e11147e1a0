#ifndef MUSTER_TRAINER_COMM_STAGED_COMMUNICATOR_H_
#define MUSTER_TRAINER_COMM_STAGED_COMMUNICATOR_H_

#include <memory>

#include "trainer/comm/communicator.h"

namespace muster::trainer {

// Lets tensors of a device travel over `host`, a communicator for the host's memory: they are
// copied there when an operation is issued and back in its Wait(). It is for ranks whose devices
// cannot talk to each other, as those that share one card. Tensors of the host pass as they are.
// Each operation waits for the device twice.
std::unique_ptr<Communicator> MakeStagedCommunicator(std::unique_ptr<Communicator> host);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_STAGED_COMMUNICATOR_H_
