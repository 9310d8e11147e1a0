#ifndef MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RING_FIXTURE_H_
#define MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RING_FIXTURE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "base/files/files.h"
#include "gtest/gtest.h"
#include "operator/queue/record/decision_record.h"
#include "operator/scheduler/record/decision_ring.h"

// A ring of decisions, for tests.
namespace muster::control {

inline constexpr char kFolder[] = "/state/decisions";

// One job that waits for a node; its name makes the input as large as wanted.
inline DecisionInput InputOf(const std::string& uid) {
  DecisionInput input;
  input.now = absl::FromUnixSeconds(1'000);
  QueuedJob job;
  job.uid = uid;
  job.request.per_worker = {8, 0, 0, 1};
  input.snapshot.jobs = {job};
  return input;
}

inline std::vector<uint64_t> IdsIn(Files& files) {
  std::vector<uint64_t> ids;
  EXPECT_TRUE(ReadDecisions(files, kFolder, [&](const auto& record) {
                EXPECT_TRUE(record.ok()) << record.status();
                if (record.ok()) ids.push_back(record->id);
                return true;
              }).ok());
  return ids;
}

}  // namespace muster::control

#endif  // MUSTER_OPERATOR_SCHEDULER_RECORD_DECISION_RING_FIXTURE_H_
