#ifndef MUSTER_TRAINER_ENGINE_THREAD_COMMUNICATOR_H_
#define MUSTER_TRAINER_ENGINE_THREAD_COMMUNICATOR_H_

#include <memory>
#include <vector>

#include "trainer/comm/communicator.h"

namespace muster::trainer {

// Communicators of `size` ranks that are threads of this process, for tests: the last rank to
// arrive carries an operation out, in rank order. A rank that aborts or is destroyed fails the
// others' operations with Unavailable, as a dead peer does. No deadline.
std::vector<std::unique_ptr<Communicator>> MakeThreadCommunicators(int size);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_THREAD_COMMUNICATOR_H_
