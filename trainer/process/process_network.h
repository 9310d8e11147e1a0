#ifndef MUSTER_TRAINER_PROCESS_PROCESS_NETWORK_H_
#define MUSTER_TRAINER_PROCESS_PROCESS_NETWORK_H_

#include <memory>
#include <string>

#include "absl/time/time.h"
#include "trainer/engine/link/round_network.h"
#include "trainer/process/process_device.h"

namespace muster::trainer {

// Makes rounds over TCP between CPU processes. `host` is this process's address, as the other ranks
// reach it. `deadline` bounds every wait for them until SetDeadline() changes it.
std::unique_ptr<RoundNetwork> MakeGlooNetwork(std::string host, absl::Duration deadline);

// Makes rounds among ranks that compute on devices. Ranks meet on `host`, and tell each other which
// devices they have: if each has one of its own, tensors there travel between the devices (NCCL),
// else through the host's memory. Tensors of the host travel over `host` always. The device's
// runtime must outlive this.
std::unique_ptr<RoundNetwork> MakeDeviceNetwork(std::unique_ptr<RoundNetwork> host,
                                                const ProcessDevice& device,
                                                absl::Duration deadline);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_PROCESS_PROCESS_NETWORK_H_
