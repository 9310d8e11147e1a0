#ifndef MUSTER_TRAINER_ENGINE_STORE_COMPARE_DATA_H_
#define MUSTER_TRAINER_ENGINE_STORE_COMPARE_DATA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "trainer/comm/communicator.h"
#include "trainer/data/data_digest.h"

namespace muster::trainer {

// Called by all ranks of a round. FailedPrecondition, which names the ranks and what differs,
// unless all train on the same data. `random` is of this rank's own; together the ranks' numbers
// choose the places that are compared. Where no rank is new and no file has changed, what they
// remember is compared, and nothing is read.
absl::Status CompareData(uint64_t random, DataDigester& data, Communicator& world);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_ENGINE_STORE_COMPARE_DATA_H_
