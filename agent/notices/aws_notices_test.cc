#include "agent/notices/aws_notices.h"

#include <string>

#include "agent/notices/fake_metadata.h"
#include "agent/notices/notice_source_fixture.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using ::testing::HasSubstr;

constexpr char kTerminate[] = R"({"action": "terminate", "time": "2025-11-25T08:22:00Z"})";

class AwsNoticesTest : public NoticeSourceTest {
 protected:
  NoticeSource& source() override { return source_; }

  FakeAws aws_;
  AwsNotices source_{aws_.base()};
};

TEST_F(AwsNoticesTest, NothingIsAnnouncedWhileTheServiceAnswers404) {
  EXPECT_EQ(Poll(), std::nullopt);
  EXPECT_EQ(Poll(), std::nullopt);
  EXPECT_EQ(aws_.tokens(), 1) << "one token serves all requests";
}

TEST_F(AwsNoticesTest, AnInterruptionIsANoticeWithItsTime) {
  aws_.Action(kTerminate);
  const Notice wanted{kReclaim, "AWS", absl::FromUnixSeconds(1'764'058'920),
                      "spot instance-action terminate"};
  EXPECT_EQ(Poll(), wanted);
  EXPECT_EQ(Poll(kNow + absl::Seconds(30)), wanted) << "a repetition is the same notice";
  aws_.Action("");
  EXPECT_EQ(Poll(), std::nullopt);
}

TEST_F(AwsNoticesTest, AHibernationBeginsAtOnce) {
  aws_.Action(R"({"action": "hibernate"})");
  EXPECT_EQ(Poll()->deadline, kNow);
}

TEST_F(AwsNoticesTest, ARebalanceRecommendationIsNoNoticeUnlessItIsAskedFor) {
  aws_.Rebalance(true);
  EXPECT_EQ(Poll(), std::nullopt) << "the instance may stay for good";
  AwsNotices asked(aws_.base(), /*rebalance=*/true);
  EXPECT_EQ(*asked.Poll(kNow),
            (Notice{kRebalance, "AWS", std::nullopt, "rebalance recommendation"}));
  aws_.Action(kTerminate);
  EXPECT_EQ((*asked.Poll(kNow))->kind, kReclaim) << "an interruption comes before it";
}

TEST_F(AwsNoticesTest, ATokenThatHasExpiredIsReplacedWithinThePoll) {
  EXPECT_EQ(Poll(), std::nullopt);
  aws_.ExpireTokens();
  aws_.Action(kTerminate);
  EXPECT_TRUE(Poll().has_value());
  EXPECT_EQ(aws_.tokens(), 2);
}

TEST_F(AwsNoticesTest, ATokenIsRenewedAfterHalfOfItsLife) {
  Poll();
  Poll(kNow + AwsNotices::kTokenLife / 2 - absl::Seconds(1));
  EXPECT_EQ(aws_.tokens(), 1);
  Poll(kNow + AwsNotices::kTokenLife / 2);
  EXPECT_EQ(aws_.tokens(), 2);
}

TEST_F(AwsNoticesTest, AServiceThatRefusesItsOwnTokensIsAnErrorAndNoLoop) {
  aws_.RefuseTokens();
  EXPECT_THAT(Refused(), HasSubstr("refuses the token that it gave"));
  EXPECT_EQ(aws_.requests(), 4);
}

TEST_F(AwsNoticesTest, ATokenThatCouldNotStandInAHeaderIsNone) {
  for (const std::string& token :
       {std::string(), std::string("a\r\nX-Other: b"), std::string(2000, 'a')}) {
    aws_.Break(200, token);
    EXPECT_THAT(Refused(), HasSubstr("no token")) << token;
  }
}

TEST_F(AwsNoticesTest, AnAnswerThatIsNoneIsAnErrorAndNoNotice) {
  EXPECT_EQ(Poll(), std::nullopt);
  aws_.Break(500, "");
  EXPECT_THAT(Refused(), HasSubstr("spot/instance-action: status 500"));
  aws_.Break(200, "<html>");
  EXPECT_THAT(Refused(), HasSubstr("JSON"));
  aws_.Break(200, std::string(MetadataClient::kMaxBody + 1, ' '));
  EXPECT_THAT(Refused(), HasSubstr("more than 262144 bytes"));
}

TEST(ParseInstanceActionTest, EveryFieldIsChecked) {
  for (const char* body :
       {"", "[]", "null", "7", R"("terminate")", "{}", R"({"action": 1, "time": 2})",
        R"({"action": "reboot", "time": "2025-11-25T08:22:00Z"})", R"({"action": "stop"})",
        R"({"action": "stop", "time": "soon"})", R"({"action": "stop", "time": 1764058920})",
        R"({"action": "stop", "time": "2025-13-25T08:22:00Z"})"}) {
    EXPECT_FALSE(ParseInstanceAction(body, kNow).ok()) << body;
  }
  EXPECT_TRUE(
      ParseInstanceAction(R"({"action": "stop", "time": "2025-11-25T08:22:00Z"})", kNow).ok());
}

TEST(AwsNoticesProbeTest, NobodyAtTheAddressIsAnError) {
  std::string base;
  {
    FakeAws gone;
    base = gone.base();
  }
  AwsNotices source(base);
  EXPECT_TRUE(absl::IsUnavailable(source.Probe()));
}

}  // namespace
}  // namespace muster::agent
