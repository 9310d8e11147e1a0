#include "agent/core/report_buffer.h"

#include "agent/core/worker_machine_test_util.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

TEST(ReportBufferTest, MergesStepsAndIsBounded) {
  ReportBuffer buffer;
  for (int i = 0; i < 3000; ++i) {
    v1alpha1::AgentMessage message;
    *message.mutable_steps()->mutable_round() = Round(1, 1);
    message.mutable_steps()->add_steps()->mutable_version()->set_step(i);
    buffer.Add(message);
  }
  EXPECT_EQ(buffer.size(), 1u);
  for (int i = 0; i < 300; ++i) {
    v1alpha1::AgentMessage message;
    message.mutable_checkpoint()->set_bytes(i);
    buffer.Add(message);
  }
  auto taken = buffer.Take();
  EXPECT_EQ(taken.size(), ReportBuffer::kMaxReports);
  EXPECT_EQ(taken.back().checkpoint().bytes(), 299);
  EXPECT_EQ(buffer.size(), 0u);
}

}  // namespace
}  // namespace muster::agent
