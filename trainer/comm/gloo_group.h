#ifndef MUSTER_TRAINER_COMM_GLOO_GROUP_H_
#define MUSTER_TRAINER_COMM_GLOO_GROUP_H_

#include <memory>
#include <set>

#include "absl/time/time.h"
#include "trainer/comm/communicator.h"
#include "trainer/comm/group_sockets.h"

namespace c10d {
class ProcessGroupGloo;
}  // namespace c10d

namespace muster::trainer {

// A formed group, as GlooConnector hands it to the communicator.
struct GlooGroup {
  c10::intrusive_ptr<c10d::ProcessGroupGloo> process_group;
  std::set<ConnectedSocket> sockets;
  absl::Duration deadline;
  bool check = false;
};

std::unique_ptr<Communicator> MakeGlooCommunicatorFromGroup(GlooGroup group);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_GLOO_GROUP_H_
