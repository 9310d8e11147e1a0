#include "operator/kube/wrap/fenced_api.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/api_call.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/wrap/faulty_api.h"
#include "operator/kube/wrap/intercepted_api.h"

namespace muster::kube {
namespace {

class FencedApiTest : public testing::Test {
 protected:
  Json Pod(const std::string& name) {
    Json pod = NewObject(kPods, {"default", name});
    pod["spec"]["containers"] = {{{"name", "worker"}, {"image", "x"}}};
    return pod;
  }
  // All the write verbs.
  std::vector<absl::Status> WriteAll(const Json& pod) {
    return {api_.Create(kPods, Pod("new")).status(),
            api_.CreateSubresource(kPods, KeyOf(pod), "token", pod).status(),
            api_.Update(kPods, pod).status(),
            api_.UpdateStatus(kPods, pod).status(),
            api_.PatchMetadata(kPods, KeyOf(pod), {{"labels", {{"a", "b"}}}}).status(),
            api_.Bind({KeyOf(pod), "node", {}, {}}),
            api_.Delete(kPods, KeyOf(pod))};
  }

  ManualClock clock_;
  std::mt19937_64 random_{5};
  MemoryApiOptions options_{.random = [this] { return random_(); }};
  std::unique_ptr<MemoryApi> memory_ = *MemoryApi::Open(clock_, options_);
  FaultyApi counted_{*memory_, {}};
  absl::Status may_ = absl::OkStatus();
  FencedApi api_{counted_, [this] { return may_; }, absl::Seconds(5)};
};

TEST_F(FencedApiTest, ALeaderWrites) {
  const Json pod = *memory_->Create(kPods, Pod("old"));
  EXPECT_TRUE(api_.Create(kPods, Pod("new")).ok());
  EXPECT_TRUE(api_.Delete(kPods, KeyOf(pod)).ok());
}

TEST_F(FencedApiTest, NoWriteIsSentOnceTheDeadlineHasPassed) {
  const Json pod = *memory_->Create(kPods, Pod("old"));
  may_ = absl::DeadlineExceededError("the lease ran out");
  for (const absl::Status& status : WriteAll(pod)) {
    EXPECT_TRUE(IsFenced(status)) << status;
    EXPECT_EQ(status.message(), "not sent, this process does not lead: the lease ran out");
  }
  for (Verb verb : {Verb::kCreate, Verb::kCreateSubresource, Verb::kUpdate, Verb::kUpdateStatus,
                    Verb::kPatch, Verb::kDelete, Verb::kBind}) {
    EXPECT_EQ(counted_.calls(verb), 0);
  }
  EXPECT_EQ(*memory_->Get(kPods, KeyOf(pod)), pod);
}

TEST_F(FencedApiTest, ReadsGoThroughAllTheSame) {
  may_ = absl::DeadlineExceededError("the lease ran out");
  ASSERT_TRUE(memory_->Create(kPods, Pod("old")).ok());
  EXPECT_TRUE(api_.Get(kPods, {"default", "old"}).ok());
  EXPECT_EQ(api_.List(kPods, {})->items.size(), 1u);
  EXPECT_TRUE(api_.Watch(kPods, {}).ok());
}

TEST_F(FencedApiTest, OtherErrorsAreNotFenced) {
  EXPECT_FALSE(IsFenced(absl::OkStatus()));
  EXPECT_FALSE(IsFenced(absl::FailedPreconditionError("something else")));
  EXPECT_FALSE(IsFenced(api_.Get(kPods, {"default", "none"}).status()));
}

// Records the timeout of the last call.
class TimeoutProbe final : public InterceptedApi {
 public:
  explicit TimeoutProbe(Api& api) : InterceptedApi(api) {}
  absl::Duration timeout;

 protected:
  absl::Status Intercept(const ApiCall&, const CallOptions& options, Forward) override {
    timeout = options.timeout;
    return absl::UnimplementedError("a probe");
  }
};

TEST_F(FencedApiTest, NoCallOutlivesWhatTheLeaseAllows) {
  TimeoutProbe probe(api_);
  FencedApi api(probe, [] { return absl::OkStatus(); }, absl::Seconds(1));
  const CallOptions minute{.timeout = absl::Minutes(1)};
  api.Create(kPods, Pod("a"), minute).status().IgnoreError();
  EXPECT_EQ(probe.timeout, absl::Seconds(1));
  api.Bind({}, minute).IgnoreError();
  EXPECT_EQ(probe.timeout, absl::Seconds(1));
  api.Get(kPods, {}, minute).status().IgnoreError();
  EXPECT_EQ(probe.timeout, absl::Seconds(1));
  api.Delete(kPods, {}, {}, {.timeout = absl::Milliseconds(10)}).IgnoreError();
  EXPECT_EQ(probe.timeout, absl::Milliseconds(10));
  // A list of a large cluster is slow, and it changes nothing.
  api.List(kPods, {}, minute).status().IgnoreError();
  EXPECT_EQ(probe.timeout, absl::Minutes(1));
}

}  // namespace
}  // namespace muster::kube
