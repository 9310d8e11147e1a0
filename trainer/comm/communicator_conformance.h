#ifndef MUSTER_TRAINER_COMM_COMMUNICATOR_CONFORMANCE_H_
#define MUSTER_TRAINER_COMM_COMMUNICATOR_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "c10/core/Device.h"
#include "trainer/comm/communicator.h"

namespace muster::trainer {

// The contract of Communicator, as cases that any implementation runs. `body` is called once per
// rank, at the same time, and returns a description of the fault there, or "". It may end while the
// other ranks go on, as a process that dies does.
struct ConformanceCase {
  std::string name;
  int ranks = 2;
  absl::Duration deadline = absl::Seconds(20);
  bool check = false;
  std::function<std::string(Communicator&)> body;
};

// The tensors of the cases are on `device`.
std::vector<ConformanceCase> CommunicatorConformanceCases(
    c10::Device device = c10::DeviceType::CPU);

// Runs a case with one thread per rank; each thread ends its communicator when its body returns.
// Returns the results of the bodies, by rank.
std::vector<std::string> RunOnThreads(const ConformanceCase& test,
                                      std::vector<std::unique_ptr<Communicator>> communicators);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_COMM_COMMUNICATOR_CONFORMANCE_H_
