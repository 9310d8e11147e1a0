#include "operator/kube/wrap/faulty_api.h"

#include <memory>
#include <random>
#include <string>

#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::kube {
namespace {

class FaultyApiTest : public testing::Test {
 protected:
  ManualClock clock_;
  std::mt19937_64 random_{5};
  MemoryApiOptions options_{.random = [this] { return random_(); }};
  std::unique_ptr<MemoryApi> api_ = *MemoryApi::Open(clock_, options_);
  const Json object_ = NewObject(kConfigMaps, {"ns", "a"});
};

TEST_F(FaultyApiTest, AScriptedFaultAfterTheFactIsDone) {
  FaultyApi faulty(*api_, {});
  faulty.FailNext(Verb::kCreate, ApiError(Reason::kTimeout, "x"), /*done=*/true);
  EXPECT_EQ(ReasonOf(faulty.Create(kConfigMaps, object_).status()), Reason::kTimeout);
  EXPECT_TRUE(api_->Get(kConfigMaps, {"ns", "a"}).ok());
  EXPECT_EQ(ReasonOf(faulty.Create(kConfigMaps, object_).status()), Reason::kAlreadyExists);
  EXPECT_EQ(faulty.faults(Verb::kCreate), 1);
}

TEST_F(FaultyApiTest, AScriptedFaultBeforeTheFactIsNotDone) {
  FaultyApi faulty(*api_, {});
  faulty.FailNext(Verb::kCreate, ApiError(Reason::kServiceUnavailable, "x"));
  EXPECT_FALSE(faulty.Create(kConfigMaps, object_).ok());
  EXPECT_FALSE(api_->Get(kConfigMaps, {"ns", "a"}).ok());
}

TEST_F(FaultyApiTest, TheSameSeedGivesTheSameFaults) {
  const auto run = [&](uint64_t seed) {
    FaultyApi faulty(*api_, {.seed = seed, .unavailable = 0.5});
    std::string outcome;
    for (int i = 0; i < 50; ++i) {
      outcome += faulty.List(kPods, {}).ok() ? '.' : 'x';
    }
    return outcome;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

TEST_F(FaultyApiTest, ARetryLoopAlwaysEnds) {
  FaultyApi faulty(*api_, {.unavailable = 1, .max_in_a_row = 3});
  int failures = 0;
  while (!faulty.List(kPods, {}).ok()) ++failures;
  EXPECT_EQ(failures, 3);
}

}  // namespace
}  // namespace muster::kube
