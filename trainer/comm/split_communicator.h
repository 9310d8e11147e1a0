#ifndef MUSTER_TRAINER_COMM_SPLIT_COMMUNICATOR_H_
#define MUSTER_TRAINER_COMM_SPLIT_COMMUNICATOR_H_

#include <memory>

#include "trainer/comm/communicator.h"

namespace muster::trainer {

// Makes one communicator of two among the same ranks: tensors of the host travel over `host`, those
// of a device, and the barrier, over `device`. Operations of either complete in their own order.
// The first failure of one fails both.
std::unique_ptr<Communicator> MakeSplitCommunicator(std::unique_ptr<Communicator> host,
                                                    std::unique_ptr<Communicator> device);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_SPLIT_COMMUNICATOR_H_
