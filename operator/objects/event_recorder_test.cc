#include "operator/objects/event_recorder.h"

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"

namespace muster::control {
namespace {

const kube::ObjectKey kJob{"default", "gpt"};

class EventRecorderTest : public testing::Test {
 protected:
  EventRecorderTest() {
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(3)]() mutable { return engine(); };
    memory_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
    api_ = std::make_unique<kube::FaultyApi>(*memory_, kube::FaultPolicy{});
    events_ =
        std::make_unique<EventRecorder>(*api_, clock_, "test", EventRecorder::Sending::kApart);
  }
  // Records an event about an object of its own, so that none is cut off as a flood.
  void Record(int number) {
    events_->Record(kJob, absl::StrCat("uid-", number),
                    {Event::Type::kNormal, "Reason", absl::StrCat("message ", number)});
  }
  std::vector<Json> Stored() { return memory_->List(kube::kEvents, {})->items; }

  ManualClock clock_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<kube::FaultyApi> api_;
  std::unique_ptr<EventRecorder> events_;
};

TEST_F(EventRecorderTest, RecordingMakesNoCallToTheApiServer) {
  for (int i = 0; i < 3; ++i) Record(i);
  EXPECT_EQ(api_->calls(kube::Verb::kCreate), 0);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(events_->RunOnce());
  EXPECT_FALSE(events_->RunOnce());
  EXPECT_EQ(Stored().size(), 3u);
}

TEST_F(EventRecorderTest, AnEventThatComesAgainBeforeItIsSentIsSentOnceWithItsCount) {
  for (int i = 0; i < 3; ++i) Record(1);
  EXPECT_TRUE(events_->RunOnce());
  EXPECT_FALSE(events_->RunOnce());
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Stored()[0]["count"], 3);
  Record(1);
  EXPECT_TRUE(events_->RunOnce());
  ASSERT_EQ(Stored().size(), 1u);
  EXPECT_EQ(Stored()[0]["count"], 4);
}

TEST_F(EventRecorderTest, TheNumberOfWaitingEventsIsBounded) {
  const int most = static_cast<int>(EventRecorder::kMaxWaiting);
  for (int i = 0; i < most + 5; ++i) Record(i);
  EXPECT_EQ(events_->dropped(), 5);
  while (events_->RunOnce()) {
  }
  EXPECT_EQ(Stored().size(), EventRecorder::kMaxWaiting);
  Record(most + 1);  // it was dropped before and is recorded again
  EXPECT_TRUE(events_->RunOnce());
  EXPECT_EQ(Stored().size(), EventRecorder::kMaxWaiting + 1);
}

TEST_F(EventRecorderTest, ShutdownSendsTheWaitingEventsWhileTheServerTakesThem) {
  for (int i = 0; i < 3; ++i) Record(i);
  std::thread sender([this] {
    while (events_->WaitAndRun()) {
    }
  });
  events_->Shutdown();
  sender.join();
  EXPECT_EQ(Stored().size(), 3u);
}

TEST_F(EventRecorderTest, ShutdownGivesUpAfterTheFirstEventThatIsRefused) {
  for (int i = 0; i < 3; ++i) Record(i);
  api_->FailNext(kube::Verb::kCreate, absl::UnavailableError("down"));
  events_->Shutdown();
  EXPECT_TRUE(events_->WaitAndRun());
  EXPECT_FALSE(events_->WaitAndRun());
  EXPECT_EQ(api_->calls(kube::Verb::kCreate), 1);
}

}  // namespace
}  // namespace muster::control
