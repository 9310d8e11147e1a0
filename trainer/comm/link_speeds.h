#ifndef MUSTER_TRAINER_COMM_LINK_SPEEDS_H_
#define MUSTER_TRAINER_COMM_LINK_SPEEDS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "c10/core/Device.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

struct LinkSpeed {
  int rank = 0;
  int peer = 0;
  double bytes_per_second = 0;
};

// Measures the links between `ranks` of the group, one per worker, pair by pair in the turns of a
// tournament (tournament.h). A pair sends a payload back and forth, from memory of `device`, so
// over the path on which the ranks train. The payload is at most 4 MiB, and less on a slow link, so
// that a pair takes about half a second; the fastest of three tries counts. Returns the links whose
// first rank is this rank; empty on a rank that is not among `ranks`.
//
// Every rank of `ranks` calls it at the same time; the others need not. InvalidArgument if `ranks`
// are not ascending ranks of the group, else the communicator's errors.
absl::StatusOr<std::vector<LinkSpeed>> MeasureLinks(const std::vector<int>& ranks,
                                                    c10::Device device, Communicator& group,
                                                    const Clock& clock);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_LINK_SPEEDS_H_
