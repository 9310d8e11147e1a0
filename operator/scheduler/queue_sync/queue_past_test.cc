#include "operator/scheduler/queue_sync/queue_past.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

const absl::Time kThen = absl::FromUnixSeconds(1'800'000'000);

TEST(QueuePastTest, IsReadBackAsItIsByThen) {
  QueueBook::QueueView queue;
  queue.past = {{"cpu", 2500}, {"memory", 3e12}, {"nvidia.com/gpu", 12.25}};
  v1alpha1::TrainingQueueStatus status;
  PutPast(kThen, queue, status);
  EXPECT_EQ(status.past(0).amount(), 2.5) << "cores";
  EXPECT_EQ(PastOf(status, kThen, absl::Hours(24)), queue.past);
  // Nothing is used any more, so past use decays by its half-life.
  const auto later = PastOf(status, kThen + absl::Hours(48), absl::Hours(24));
  EXPECT_DOUBLE_EQ(later.at("nvidia.com/gpu"), 12.25 / 4);
  EXPECT_DOUBLE_EQ(later.at("cpu"), 2500.0 / 4);
}

TEST(QueuePastTest, WhatIsUsedSinceThenCounts) {
  v1alpha1::TrainingQueueStatus status;
  auto& used = *status.add_used();
  used.set_resource("nvidia.com/gpu");
  used.set_amount("8");
  QueueBook::QueueView queue;
  queue.past = {{"cpu", 1000}};
  PutPast(kThen, queue, status);
  const auto later = PastOf(status, kThen + absl::Hours(24), absl::Hours(24));
  EXPECT_DOUBLE_EQ(later.at("nvidia.com/gpu"), 4);
  EXPECT_DOUBLE_EQ(later.at("cpu"), 500);
}

TEST(QueuePastTest, AStatusWithoutUseIsNoPast) {
  QueueBook::QueueView queue;
  queue.past = {{"nvidia.com/gpu", 1e-9}};
  v1alpha1::TrainingQueueStatus status;
  PutPast(kThen, queue, status);
  EXPECT_FALSE(status.has_past_time());
  EXPECT_TRUE(PastOf(status, kThen, absl::Hours(24)).empty());
}

}  // namespace
}  // namespace muster::control
