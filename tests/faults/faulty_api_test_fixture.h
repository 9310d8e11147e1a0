#ifndef MUSTER_TESTS_FAULTS_FAULTY_API_TEST_FIXTURE_H_
#define MUSTER_TESTS_FAULTS_FAULTY_API_TEST_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/faults/faulty_api_world.h"

namespace muster::tests {

// Fixture of tests that run one after the other against the same operator process, which must
// survive all of them. Each test has its own job, named after it, and its faults are removed before
// the next test.
class FaultyApiWorldTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { world_ = FaultyApiWorld::Create().value(); }
  static void TearDownTestSuite() { world_.reset(); }

  void SetUp() override {
    logged_ = world_->OperatorLog().size();
    if (world_->OperatorIsRunning()) return;
    ASSERT_EQ(world_->StartOperator(), absl::OkStatus());
  }
  void TearDown() override {
    EXPECT_TRUE(world_->OperatorIsRunning());
    EXPECT_EQ(world_->ClearFaults(), absl::OkStatus());
    EXPECT_EQ(world_->RemoveJob(Job()), absl::OkStatus());
    if (HasFailure()) ADD_FAILURE() << Log();
  }

  // The operator's log since the test began.
  std::string Log() const { return world_->OperatorLog().substr(logged_); }
  static std::string Job() {
    return absl::AsciiStrToLower(testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  // Waits, with the faults in place, until `requests` requests have matched rules named "fault".
  // Also expects that the operator never exceeded kMaxRequestsPerSecond requests a second.
  void AwaitFaults(size_t requests) {
    const auto met = [&] { return world_->Requests("fault").size() >= requests; };
    ASSERT_EQ(world_->WaitFor(absl::StrCat(requests, " requests met a fault"), met),
              absl::OkStatus());
    EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
  }
  void ExpectLog(const std::string& text) {
    const auto said = [&] { return absl::StrContains(Log(), text); };
    EXPECT_EQ(world_->WaitFor("the log says " + text, said), absl::OkStatus());
  }
  void ExpectServedOnceFaultsEnd(int workers = 2) {
    ASSERT_EQ(world_->ClearFaults(), absl::OkStatus());
    ASSERT_EQ(world_->WaitUntilServed(Job(), workers), absl::OkStatus());
  }

  static inline std::unique_ptr<FaultyApiWorld> world_;
  size_t logged_ = 0;
};

}  // namespace muster::tests

#endif  // MUSTER_TESTS_FAULTS_FAULTY_API_TEST_FIXTURE_H_
