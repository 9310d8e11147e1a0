#include "agent/notices/google_notices.h"

#include <string>

#include "agent/notices/fake_metadata.h"
#include "agent/notices/notice_source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

class GoogleNoticesTest : public NoticeSourceTest {
 protected:
  NoticeSource& source() override { return source_; }

  FakeGoogle google_;
  GoogleNotices source_{google_.base()};
};

TEST_F(GoogleNoticesTest, APreemptionEnds30SecondsAfterItWasFirstSeen) {
  EXPECT_EQ(Poll(), std::nullopt);
  google_.Set("preempted", "TRUE");
  const Notice wanted{kReclaim, "Google", kNow + absl::Seconds(31), "the instance is preempted"};
  EXPECT_EQ(Poll(kNow + absl::Seconds(1)), wanted);
  EXPECT_EQ(Poll(kNow + absl::Seconds(20)), wanted) << "the deadline stays";
}

TEST_F(GoogleNoticesTest, OnlyMaintenanceThatStopsTheMachineIsANotice) {
  google_.Set("maintenance-event", "MIGRATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(Poll(), std::nullopt);
  google_.Set("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE");
  EXPECT_EQ(Poll(), (Notice{kMaintenance, "Google", kNow + absl::Seconds(60),
                            "TERMINATE_ON_HOST_MAINTENANCE"}));
  google_.Set("maintenance-event", "NONE");
  EXPECT_EQ(Poll(), std::nullopt);
  google_.Set("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE\n");
  EXPECT_EQ(Poll(kNow + absl::Hours(1))->deadline, kNow + absl::Hours(1) + absl::Seconds(60))
      << "a second event counts anew";
}

TEST_F(GoogleNoticesTest, APreemptionComesBeforeMaintenance) {
  google_.Set("maintenance-event", "TERMINATE_ON_HOST_MAINTENANCE");
  google_.Set("preempted", "TRUE");
  EXPECT_EQ(Poll()->kind, kReclaim);
}

TEST_F(GoogleNoticesTest, AnAnswerWithoutGooglesHeaderIsNotBelieved) {
  google_.Set("preempted", "TRUE");
  google_.OmitFlavor();
  EXPECT_THAT(Refused(), HasSubstr("not Google's"));
  EXPECT_FALSE(source_.Probe().ok());
}

TEST_F(GoogleNoticesTest, AValueThatIsNoneIsAnError) {
  google_.Set("preempted", std::string(5000, 'x'));
  EXPECT_EQ(Refused(), "/computeMetadata/v1/instance/preempted: wants TRUE or FALSE, not " +
                           std::string(kMaxNoticeText, 'x'));
  google_.Break(503, "");
  EXPECT_THAT(Refused(), HasSubstr("status 503"));
}

}  // namespace
}  // namespace muster::agent
