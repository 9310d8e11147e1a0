#include "agent/notices/azure_notices.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "agent/notices/fake_metadata.h"
#include "agent/notices/notice_source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kSoon[] = "Tue, 25 Nov 2025 08:20:30 GMT";

std::string Event(const std::string& id, const std::string& type, const std::string& resources,
                  const std::string& not_before) {
  return absl::StrCat(R"({"EventId":")", id, R"(","EventType":")", type,
                      R"(","ResourceType":"VirtualMachine","Resources":[)", resources,
                      R"(],"EventStatus":")", not_before.empty() ? "Started" : "Scheduled",
                      R"(","NotBefore":")", not_before,
                      R"(","Description":"","EventSource":"Platform","DurationInSeconds":-1})");
}

class AzureNoticesTest : public NoticeSourceTest {
 protected:
  NoticeSource& source() override { return source_; }

  FakeAzure azure_{"gpu_7"};
  AzureNotices source_{azure_.base()};
};

TEST_F(AzureNoticesTest, APreemptionOfThisMachineIsANotice) {
  EXPECT_EQ(Poll(), std::nullopt);
  azure_.Events(Event("e1", "Preempt", R"("gpu_6","GPU_7")", kSoon));
  EXPECT_EQ(Poll(),
            (Notice{kReclaim, "Azure", kNow + absl::Seconds(30), "scheduled event Preempt e1"}));
  azure_.Events("");
  EXPECT_EQ(Poll(), std::nullopt) << "Azure has cancelled it";
}

TEST_F(AzureNoticesTest, EventsOfOtherMachinesOfTheSetAndPausesAreNone) {
  azure_.Events(Event("e1", "Preempt", R"("gpu_70","gpu_")", kSoon) + "," +
                Event("e2", "Freeze", R"("gpu_7")", kSoon) + "," +
                R"({"EventId":"e3","EventType":"Preempt","Resources":"gpu_7"},7,null)");
  EXPECT_EQ(Poll(), std::nullopt);
}

TEST_F(AzureNoticesTest, TheEarliestEventCounts) {
  azure_.Events(Event("e1", "Reboot", R"("gpu_7")", "Tue, 25 Nov 2025 08:30:00 GMT") + "," +
                Event("e2", "Terminate", R"("gpu_7")", kSoon));
  EXPECT_EQ(Poll()->text, "scheduled event Terminate e2");
}

TEST_F(AzureNoticesTest, ARebootIsMaintenanceAndAnnouncedOnceItIsNear) {
  azure_.Events(Event("e1", "Reboot", R"("gpu_7")", "Tue, 25 Nov 2025 08:35:01 GMT"));
  EXPECT_EQ(Poll(), std::nullopt);
  EXPECT_EQ(Poll(kNow + absl::Seconds(1))->kind, kMaintenance);
}

TEST_F(AzureNoticesTest, AnEventThatHasStartedIsDueSinceItWasFirstSeen) {
  azure_.Events(Event("e1", "Redeploy", R"("gpu_7")", ""));
  EXPECT_EQ(Poll()->deadline, kNow);
  EXPECT_EQ(Poll(kNow + absl::Seconds(5))->deadline, kNow);
}

TEST_F(AzureNoticesTest, AnAnswerThatIsNoneIsAnErrorAndNoNotice) {
  EXPECT_EQ(Poll(), std::nullopt);
  azure_.Events(Event("e1", "Preempt", R"("gpu_7")", "in a minute"));
  EXPECT_THAT(Refused(), HasSubstr("NotBefore is in a minute; want a time like"));
  for (const char* body : {"", "[]", "null", R"({"Events":{}})", "{\"Events\":[\"\xff\"]}"}) {
    azure_.Break(200, body);
    EXPECT_NE(Refused(), "") << body;
  }
  azure_.Break(429, "");
  EXPECT_THAT(Refused(), HasSubstr("status 429"));
}

TEST(AzureNoticesProbeTest, AnotherServiceIsNotAzures) {
  FakeAws aws;
  AzureNotices source(aws.base());
  EXPECT_TRUE(absl::IsUnavailable(source.Probe()));
}

}  // namespace
}  // namespace muster::agent
