#ifndef MUSTER_TRAINER_COMM_MEETING_H_
#define MUSTER_TRAINER_COMM_MEETING_H_

#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "trainer/comm/store_client.h"

namespace muster::trainer {

// Announces `rank` in the group `tag` and waits for the other ranks, so that a missing one is named
// and none is stuck while a library connects. DeadlineExceeded, with the ranks that did not come by
// `until`; the client's errors otherwise.
absl::Status MeetRanks(StoreClient& client, const std::string& tag, int rank, int size,
                       absl::Time until);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_MEETING_H_
