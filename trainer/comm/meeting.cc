#include "trainer/comm/meeting.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace muster::trainer {

absl::Status MeetRanks(StoreClient& client, const std::string& tag, int rank, int size,
                       absl::Time until) {
  auto key = [&](int of) { return absl::StrCat(tag, "/here/", of); };
  MUSTER_RETURN_IF_ERROR(client.Set(key(rank), "1", until));
  for (int r = 0; r < size; ++r) {
    const absl::Status status = client.WaitFor(key(r), until).status();
    if (!absl::IsDeadlineExceeded(status)) {
      MUSTER_RETURN_IF_ERROR(status);
      continue;
    }
    const absl::Time soon = Clock::Real().Monotonic() + absl::Seconds(1);
    std::vector<int> absent;
    for (int other = 0; other < size; ++other) {
      MUSTER_ASSIGN_OR_RETURN(const auto here, client.Get(key(other), soon));
      if (!here) absent.push_back(other);
    }
    return absl::DeadlineExceededError(absl::StrCat(
        "group ", tag, ": these ranks did not connect in time: ", absl::StrJoin(absent, ", ")));
  }
  return absl::OkStatus();
}

}  // namespace muster::trainer
