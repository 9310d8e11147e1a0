#ifndef MUSTER_TRAINER_ENGINE_SOLO_COMMUNICATOR_H_
#define MUSTER_TRAINER_ENGINE_SOLO_COMMUNICATOR_H_

#include <memory>

#include "trainer/comm/communicator.h"

namespace muster::trainer {

// The communicator of a world of one: every collective is done at once, with no store and no
// thread. Send and Recv fail: there is nobody else.
std::unique_ptr<Communicator> MakeSoloCommunicator();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_SOLO_COMMUNICATOR_H_
