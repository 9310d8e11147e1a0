#include "base/object_store/s3_client.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/object_store/aws_signature.h"
#include "base/object_store/credentials.h"
#include "base/object_store/credentials_cache.h"
#include "base/testing/manual_clock.h"

namespace muster {
namespace {

// Answers from a list, and records what was sent.
struct Script {
  std::deque<std::function<absl::StatusOr<HttpAnswer>(const HttpRequest&)>> answers;
  std::vector<std::string> sent;  // method and url
};

class ScriptedTransport final : public HttpTransport {
 public:
  explicit ScriptedTransport(Script& script) : script_(script) {}
  absl::StatusOr<HttpAnswer> Send(const HttpRequest& request) override {
    script_.sent.push_back(absl::StrCat(request.method, " ", request.url));
    if (script_.answers.empty()) return absl::UnavailableError("connection refused");
    auto answer = std::move(script_.answers.front());
    script_.answers.pop_front();
    return answer(request);
  }

 private:
  Script& script_;
};

class S3ClientTest : public testing::Test {
 protected:
  S3Client& Client(S3Options options = {}) {
    if (options.credentials == nullptr) {
      options.credentials = FixedCredentials({"id", "hidden-key", "hidden-token"});
    }
    client_ = std::make_unique<S3Client>(options, std::make_unique<ScriptedTransport>(script_),
                                         clock_, [this](absl::Duration wait) {
                                           waits_.push_back(wait);
                                           clock_.Advance(wait);
                                         });
    return *client_;
  }
  void Say(int status, const std::string& body = "",
           std::map<std::string, std::string> headers = {}) {
    script_.answers.push_back([=](const HttpRequest&) {
      return HttpAnswer{.status = status, .headers = headers, .body = body};
    });
  }
  void LoseTheAnswer() {
    script_.answers.push_back(
        [](const HttpRequest&) { return absl::UnavailableError("the connection was cut"); });
  }

  Script script_;
  ManualClock clock_;
  std::vector<absl::Duration> waits_;
  std::unique_ptr<S3Client> client_;
};

TEST_F(S3ClientTest, ABusyStoreIsAskedAgainAfterLongerWaits) {
  Say(503);
  Say(500);
  LoseTheAnswer();
  Say(200);
  EXPECT_TRUE(Client().Put("b-1", "k", "x", false).ok());
  EXPECT_EQ(script_.sent.size(), 4u);
  ASSERT_EQ(waits_.size(), 3u);
  for (size_t i = 0; i < waits_.size(); ++i) {
    const absl::Duration full = absl::Milliseconds(200) * (1 << i);
    EXPECT_GE(waits_[i], full / 2);
    EXPECT_LE(waits_[i], full);
  }
}

TEST_F(S3ClientTest, AfterTheLastTryTheErrorSaysWhatWasTried) {
  S3Options options;
  options.endpoint = "http://store:9000";
  options.most_tries = 3;
  const absl::Status status = Client(options).Put("b-1", "a/k", "x", false);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(absl::StartsWith(status.message(),
                               "s3://b-1/a/k at http://store:9000: connection refused; given up "
                               "after 3 tries in "))
      << status;
  EXPECT_FALSE(absl::StrContains(status.ToString(), "hidden")) << status;
}

TEST_F(S3ClientTest, TroubleLastsFromTheFirstTryThatFailedToAnAnswer) {
  S3Options options;
  options.most_tries = 2;
  S3Client& client = Client(options);
  Say(200);
  EXPECT_TRUE(client.Put("b-1", "k", "x", false).ok());
  EXPECT_FALSE(client.trouble().has_value());
  const absl::Time begun = clock_.Monotonic();
  EXPECT_FALSE(client.Put("b-1", "k", "x", false).ok());
  clock_.Advance(absl::Seconds(30));
  EXPECT_FALSE(client.Put("b-1", "k", "x", false).ok());
  ASSERT_TRUE(client.trouble().has_value());
  EXPECT_EQ(client.trouble()->lasts, clock_.Monotonic() - begun);
  EXPECT_GE(client.trouble()->lasts, absl::Seconds(30));
  EXPECT_EQ(client.trouble()->error, "connection refused");
  Say(404);
  EXPECT_TRUE(client.Delete("b-1", "k").ok());
  EXPECT_FALSE(client.trouble().has_value()) << "an answer that says no is an answer";
}

TEST_F(S3ClientTest, NoTryBeginsAfterTheMostTime) {
  S3Options options;
  options.most_tries = 100;
  options.most_time = absl::Seconds(20);
  EXPECT_FALSE(Client(options).Delete("b-1", "k").ok());
  absl::Duration waited;
  for (const absl::Duration wait : waits_) waited += wait;
  EXPECT_GE(waited, absl::Seconds(20));
  EXPECT_LT(waited, absl::Seconds(31));
}

TEST_F(S3ClientTest, WhatIsWrongForGoodIsNotSentAgain) {
  Say(403);
  EXPECT_EQ(Client().Put("b-1", "k", "x", false).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(script_.sent.size(), 1u);
}

TEST_F(S3ClientTest, AnExclusivePutWhoseAnswerWasLostFindsItsOwnObject) {
  std::string writer;
  script_.answers.push_back([&writer](const HttpRequest& request) {
    writer = request.headers.at("x-amz-meta-muster-writer");
    return absl::UnavailableError("the connection was cut");
  });
  Say(412);
  script_.answers.push_back([&writer](const HttpRequest& request) {
    EXPECT_EQ(request.method, "HEAD");
    return HttpAnswer{.status = 200, .headers = {{"x-amz-meta-muster-writer", writer}}};
  });
  EXPECT_TRUE(Client().Put("b-1", "k", "x", true).ok());
}

TEST_F(S3ClientTest, AnExclusivePutThatAnotherWonIsRefused) {
  LoseTheAnswer();
  Say(412);
  Say(200, "", {{"x-amz-meta-muster-writer", "somebody"}});
  EXPECT_EQ(Client().Put("b-1", "k", "x", true).code(), absl::StatusCode::kAlreadyExists);
  Say(412);
  EXPECT_EQ(Client().Put("b-1", "k", "x", true).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(script_.sent.size(), 4u) << "a first try cannot have won already";
}

TEST_F(S3ClientTest, ACompletionWhoseAnswerWasLostFindsItsOwnObject) {
  LoseTheAnswer();
  Say(404, "<Error><Code>NoSuchUpload</Code></Error>");
  Say(200, "", {{"x-amz-meta-muster-writer", "me"}});
  EXPECT_TRUE(Client().CompleteUpload("b-1", "k", "u", "me", {"e"}, true).ok());
  Say(404, "<Error><Code>NoSuchUpload</Code></Error>");
  EXPECT_EQ(Client().CompleteUpload("b-1", "k", "u", "me", {"e"}, true).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(S3ClientTest, AShortBodyIsNotTakenForTheWhole) {
  Say(206, "abc");
  EXPECT_EQ(Client().Get("b-1", "k", "", 0, 4).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(S3ClientTest, EveryRequestIsSignedWithItsBodysChecksumAndTheSessionToken) {
  script_.answers.push_back([](const HttpRequest& request) {
    EXPECT_EQ(request.headers.at("x-amz-content-sha256"), Sha256Hex("body"));
    EXPECT_EQ(request.headers.at("x-amz-security-token"), "hidden-token");
    EXPECT_TRUE(absl::StrContains(request.headers.at("authorization"), "Credential=id/"));
    EXPECT_FALSE(absl::StrContains(request.headers.at("authorization"), "hidden-key"));
    return HttpAnswer{.status = 200};
  });
  EXPECT_TRUE(Client().Put("b-1", "k", "body", false).ok());
}

// Hands out keys in order, and fails after the last.
class ListedSource final : public CredentialsSource {
 public:
  explicit ListedSource(std::deque<std::string> ids) : ids_(std::move(ids)) {}
  absl::StatusOr<ExpiringCredentials> Fetch() override {
    if (ids_.empty()) return absl::UnavailableError("STS is away");
    ExpiringCredentials next = {{ids_.front(), "secret", "token"}};
    ids_.pop_front();
    return next;
  }
  std::string Describe() const override { return "a list"; }

 private:
  std::deque<std::string> ids_;
};

class S3ClientKeysTest : public S3ClientTest {
 protected:
  S3Client& ClientOf(std::deque<std::string> ids) {
    return Client({.credentials = std::make_shared<CredentialsCache>(
                       std::make_unique<ListedSource>(std::move(ids)), clock_)});
  }
  void ExpectKey(const std::string& id, int status, const std::string& body = "") {
    script_.answers.push_back([=](const HttpRequest& request) {
      EXPECT_TRUE(absl::StrContains(request.headers.at("authorization"),
                                    absl::StrCat("Credential=", id, "/")));
      return HttpAnswer{.status = status, .body = body};
    });
  }
};

TEST_F(S3ClientKeysTest, ExpiredKeysAreRenewedAtOnceAndTheRequestSentAgain) {
  ExpectKey("one", 400, "<Error><Code>ExpiredToken</Code></Error>");
  ExpectKey("two", 200);
  ExpectKey("two", 403);  // as a HEAD is answered, with no reason
  ExpectKey("three", 404);
  S3Client& client = ClientOf({"one", "two", "three"});
  EXPECT_TRUE(client.Put("b-1", "k", "x", false).ok());
  EXPECT_TRUE(absl::IsNotFound(client.Head("b-1", "k").status()));
  EXPECT_TRUE(waits_.empty());
}

TEST_F(S3ClientKeysTest, KeysThatAreRefusedTwiceAreAnError) {
  ExpectKey("one", 400, "<Error><Code>ExpiredToken</Code></Error>");
  ExpectKey("two", 400, "<Error><Code>ExpiredToken</Code></Error>");
  EXPECT_TRUE(
      absl::IsPermissionDenied(ClientOf({"one", "two", "three"}).Put("b-1", "k", "x", false)));
}

TEST_F(S3ClientKeysTest, ASourceThatIsAwayIsAskedAgainAfterAWait) {
  const absl::Status status = ClientOf({}).Put("b-1", "k", "x", false);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "STS is away; given up after 8 tries")) << status;
  EXPECT_EQ(waits_.size(), 7u);
  EXPECT_TRUE(script_.sent.empty());
}

TEST_F(S3ClientTest, AWSsAddressIsMadeOfTheRegionAndTheBucket) {
  const struct {
    const char *region, *endpoint, *bucket, *url;
  } kCases[] = {
      {"eu-west-1", "", "b-1", "DELETE https://b-1.s3.eu-west-1.amazonaws.com/a%20b/k"},
      {"eu-west-1", "", "b.1", "DELETE https://s3.eu-west-1.amazonaws.com/b.1/a%20b/k"},
      {"cn-north-1", "", "b-1", "DELETE https://b-1.s3.cn-north-1.amazonaws.com.cn/a%20b/k"},
      {"us-east-1", "http://h:9000", "b-1", "DELETE http://h:9000/b-1/a%20b/k"}};
  for (const auto& c : kCases) {
    Say(204);
    EXPECT_TRUE(
        Client({.endpoint = c.endpoint, .region = c.region}).Delete(c.bucket, "a b/k").ok());
    EXPECT_EQ(script_.sent.back(), c.url);
  }
}

}  // namespace
}  // namespace muster
