#ifndef MUSTER_TRAINER_PROCESS_GLOO_NETWORK_H_
#define MUSTER_TRAINER_PROCESS_GLOO_NETWORK_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "trainer/engine/link/round_network.h"

namespace muster::trainer {

// Makes rounds over TCP between CPU processes. `host` is this process's address, as the other ranks
// reach it. `deadline` bounds every wait for them until SetDeadline() changes it.
std::unique_ptr<RoundNetwork> MakeGlooNetwork(std::string host, absl::Duration deadline);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_GLOO_NETWORK_H_
