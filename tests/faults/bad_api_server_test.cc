#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/faults/faulty_api_test_fixture.h"

// Tests an API server whose answers are late, cut off, or malformed. One operator process lives
// through all of it, reports the cause, backs off, and loses nothing. Faults spare the lease unless
// the test is about it: a leader that cannot renew exits, which expiring_credentials_test.cc tests.

namespace muster::tests {
namespace {

class BadApiServer : public FaultyApiWorldTest {
 protected:
  // `rules` is a JSON list without its brackets.
  static absl::Status InjectExceptOnTheLease(const std::string& rules) {
    return world_->InjectFaults(absl::StrCat(R"([{"path": "/leases/"}, )", rules, "]"));
  }
};

TEST_F(BadApiServer, AJobIsServedWithoutFaults) {
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ExpectServedOnceFaultsEnd();
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
}

TEST_F(BadApiServer, EveryAnswerIsLate) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "delay_answer": 0.4})"), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
}

// Answers take longer than the timeout of a write: every write is done, but its answer never
// arrives.
TEST_F(BadApiServer, WritesAreDoneAndTheirAnswersComeTooLate) {
  ASSERT_EQ(world_->InjectFaults(R"([
      {"name": "fault", "path": "/trainingjobs/", "delay_answer": 1.5, "times": 3},
      {"name": "fault", "method": "POST", "path": "/pods", "delay_answer": 1.5}])"),
            absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
  ExpectLog("it did not answer in time");
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
}

// The server gets each request long after the client has given up.
TEST_F(BadApiServer, WritesThatWereGivenUpHappenLater) {
  ASSERT_EQ(
      world_->InjectFaults(R"([{"name": "fault", "method": "POST", "path": "/pods", "delay": 1.5,
                              "times": 4}])"),
      absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
}

TEST_F(BadApiServer, AnswersAreCutInHalf) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "cut_half": true})"), absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(8);
  ExpectLog("ended inside an event");
  ExpectServedOnceFaultsEnd();
}

TEST_F(BadApiServer, AWatchIsCutInsideACharacter) {
  ASSERT_EQ(world_->InjectFaults(R"([{"name": "fault", "path": "/trainingjobs\\?.*watch=",
                              "cut_in_character": true}])"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2, "", "[{name: WHO, value: \xe5\xbc\xa0\xe4\xbc\x9f}]"),
            absl::OkStatus());
  AwaitFaults(4);
  ExpectServedOnceFaultsEnd();
}

TEST_F(BadApiServer, AnswersAreNotJson) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "status": 200,
                              "text": "{\"kind\": \"TrainingJobList\", \"items\": [}\n"})"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(8);
  ExpectLog("is not a JSON object");
  ExpectServedOnceFaultsEnd();
}

// Every answer is the login page of a gateway.
TEST_F(BadApiServer, EveryAnswerIsAnHtmlPage) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "status": 200,
                              "text": "<html>Sign in</html>\n",
                              "headers": {"Content-Type": "text/html"}})"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(8);
  ExpectLog("<html>Sign in</html>");
  ExpectServedOnceFaultsEnd();
}

// An answer that is not a list must not be read as an empty list, or every pod would be created
// again.
TEST_F(BadApiServer, AnEmptyObjectIsNotReadAsAnEmptyList) {
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
  ASSERT_EQ(InjectExceptOnTheLease(R"(
      {"name": "fault", "method": "GET", "status": 200, "path": "watch=", "text": "{}\n"},
      {"name": "fault", "method": "GET", "status": 200,
       "body": {"metadata": {"resourceVersion": "9999999"}}})"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  AwaitFaults(8);
  ExpectLog("not a list of items");
  ExpectServedOnceFaultsEnd();
  const std::string gone =
      absl::StrCat("job is gone job=", world_->cluster().name_space(), "/", Job());
  EXPECT_FALSE(absl::StrContains(Log(), gone)) << "all was taken for gone";
}

TEST_F(BadApiServer, EveryRequestFailsInsideTheServer) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "status": 500, "body": {
      "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "InternalError",
      "message": "etcdserver: no leader", "code": 500}})"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(8);
  ExpectLog("etcdserver: no leader");
  ExpectServedOnceFaultsEnd();
}

TEST_F(BadApiServer, WritesFailInsideTheServerAfterTheyWereDone) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "method": "POST", "times": 5,
      "after_server": true, "status": 500, "text": "oops"}, {"name": "fault", "method": "PUT",
      "times": 3, "after_server": true, "status": 504, "text": "gateway timeout"})"),
            absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
}

TEST_F(BadApiServer, ABusyServerIsAskedAfterItsRetryAfter) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "status": 429,
                              "text": "too many requests", "headers": {"Retry-After": "1"}})"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(8);
  ExpectLog("too many requests");
  ExpectServedOnceFaultsEnd();
}

// Requests pause even if Retry-After is 0.
TEST_F(BadApiServer, ARetryAfterOfZeroStillPauses) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "status": 429,
                              "text": "too many requests", "headers": {"Retry-After": "0"}})"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(10);
  ExpectServedOnceFaultsEnd();
}

TEST_F(BadApiServer, EveryThirdConnectionIsReset) {
  ASSERT_EQ(InjectExceptOnTheLease(R"({"name": "fault", "every": 3, "reset": true})"),
            absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
}

// Each watch delivers one event and ends. The event alone must not reset the back-off.
TEST_F(BadApiServer, AWatchThatEndsAtItsFirstEventBacksOff) {
  ASSERT_EQ(
      world_->InjectFaults(R"([{"name": "fault", "path": "/nodes\\?.*watch=", "cut_after": 1}])"),
      absl::OkStatus());
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(5);
  ExpectServedOnceFaultsEnd();
}

}  // namespace
}  // namespace muster::tests
