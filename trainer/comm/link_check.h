#ifndef MUSTER_TRAINER_COMM_LINK_CHECK_H_
#define MUSTER_TRAINER_COMM_LINK_CHECK_H_

#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "trainer/comm/group_sockets.h"
#include "trainer/comm/store_client.h"

namespace muster::trainer {

// Checks that this rank's connection to each other rank of the group `tag` ends in that rank. The
// ranks publish the ports of their `sockets` in the round's store, which only they can use, because
// only they know its secret; the two ends of a genuine connection have the same two ports. A
// stranger that reached a rank's port before another rank did, or a proxy between ranks, is thus
// found before the first tensor is sent. PermissionDenied names the rank; the client's errors
// otherwise.
absl::Status CheckLinks(StoreClient& client, const std::string& tag, int rank, int size,
                        const std::set<ConnectedSocket>& sockets, absl::Time until);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_LINK_CHECK_H_
