#include "operator/web/web_server.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/web/exposition.h"
#include "operator/web/test_deps.h"

namespace muster::control {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class WebServerTest : public ::testing::Test {
 protected:
  WebServerTest() {
    auto server = WebServer::Start("127.0.0.1:0", world_.Deps());
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<httplib::Client>("http://" + server_->address());
  }

  Json Get(const std::string& path, int code = 200) {
    const httplib::Result result = client_->Get(path.c_str());
    if (!result) return Json("no answer");
    EXPECT_EQ(result->status, code) << path << ": " << result->body;
    return *ParseJson(result->body);
  }

  PageWorld world_;
  std::unique_ptr<WebServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(WebServerTest, HealthSaysWhichCheckFailed) {
  for (const char* path : {"/healthz", "/livez", "/readyz"}) {
    EXPECT_EQ(client_->Get(path)->status, 200) << path;
    EXPECT_EQ(client_->Get(path)->body, "ok\n") << path;
  }
  EXPECT_EQ(client_->Get("/readyz?verbose")->body,
            "[+]ping ok\n[+]caches-synced ok\n[+]leader-election ok\nreadyz check passed\n");
  world_.synced = false;
  EXPECT_EQ(client_->Get("/readyz")->status, 503);
  EXPECT_EQ(client_->Get("/readyz")->body,
            "[+]ping ok\n[-]caches-synced failed: the caches have not synced\n"
            "[+]leader-election ok\nreadyz check failed\n");
  EXPECT_EQ(client_->Get("/livez")->status, 200) << "a restart would not help";
}

TEST_F(WebServerTest, AStandbyIsReadyAndWhoLostTheLeaseIsNot) {
  world_.leader.leading = false;
  EXPECT_EQ(client_->Get("/readyz")->status, 200);
  world_.leader.lost = "another holder";
  EXPECT_EQ(client_->Get("/readyz")->status, 503);
  EXPECT_THAT(client_->Get("/livez")->body,
              HasSubstr("[-]leader-election failed: the lease was lost: another holder\n"));
}

TEST_F(WebServerTest, AStuckReconcileMeansRestart) {
  world_.queue.Add("default/gpt");
  ASSERT_TRUE(world_.queue.TryGet());
  world_.clock.Advance(absl::Minutes(9));
  EXPECT_EQ(client_->Get("/livez")->status, 200);
  world_.clock.Advance(absl::Minutes(1));
  EXPECT_EQ(client_->Get("/livez")->status, 503);
  EXPECT_THAT(client_->Get("/livez")->body,
              HasSubstr("[-]work-queue failed: a job has been worked on for 10m\n"));
}

TEST_F(WebServerTest, MetricsInTheFormatThatWasAskedFor) {
  const auto text = client_->Get("/metrics");
  EXPECT_EQ(text->get_header_value("Content-Type"), kTextFormat);
  EXPECT_THAT(text->body, HasSubstr("# TYPE muster_workqueue_adds_total counter\n"));
  const auto open = client_->Get("/metrics", {{"Accept", "application/openmetrics-text"}});
  EXPECT_EQ(open->get_header_value("Content-Type"), kOpenMetricsFormat);
  EXPECT_THAT(open->body, HasSubstr("# TYPE muster_workqueue_adds counter\n"));
  EXPECT_THAT(open->body, EndsWith("# EOF\n"));
}

TEST_F(WebServerTest, DebugStateSaysWhatTheOperatorBelieves) {
  world_.AddJob("gpt");
  world_.Settle();
  const Json page = Get("/debug/state");
  EXPECT_EQ(page["leader"]["leading"], true);
  EXPECT_EQ(page["caches"]["jobs"]["objects"], 1);
  EXPECT_EQ(page["jobs"].size(), 1u);
  EXPECT_EQ(page["jobs"][0]["key"], "default/gpt");
  EXPECT_EQ(page["jobs"][0]["term"], 1);
  EXPECT_EQ(page["jobs"][0]["agents"]["attached"], 0);
  const Json job = Get("/debug/state?job=default/gpt")["job"];
  EXPECT_TRUE(job["members"].is_array());
  EXPECT_EQ(job["pods"].size(), 0u) << "the cache was not moved since";
  EXPECT_GE(job["reconcile"], 1);
  EXPECT_EQ(Get("/debug/state?job=default/none", 404)["error"],
            "no decision about a job default/none was made here");
}

TEST_F(WebServerTest, DebugStateSaysWhereEachKeyOfTheQueueIs) {
  world_.AddJob("gpt");
  world_.Settle();
  world_.queue.Add("default/worked-on");
  while (world_.queue.TryGet() != "default/worked-on") continue;
  world_.queue.Add("default/worked-on");
  world_.clock.Advance(absl::Seconds(3));
  world_.queue.Add("default/waits");
  world_.queue.AddAfter("default/gpt", absl::Seconds(5));
  world_.clock.Advance(absl::Seconds(1));
  const Json page = Get("/debug/state?job=default/gpt");
  Json worked_on;
  for (const Json& key : page["queue"]["keys"]) {
    if (key["key"] == "default/worked-on") worked_on = key;
  }
  EXPECT_EQ(worked_on, Json({{"key", "default/worked-on"},
                             {"state", "inProgress"},
                             {"seconds", 4.0},
                             {"failures", 0},
                             {"again", true}}));
  EXPECT_EQ(page["job"]["queue"]["key"], "default/gpt");
  EXPECT_EQ(page["caches"]["nodes"]["objects"], 0);
}

TEST_F(WebServerTest, DebugStateIsPaged) {
  for (int i = 0; i < 5; ++i) world_.AddJob(absl::StrCat("job-", i));
  world_.Settle();
  std::vector<std::string> keys;
  std::string after;
  do {
    const Json page = Get("/debug/state?limit=2&after=" + after);
    EXPECT_LE(page["jobs"].size(), 2u);
    for (const Json& job : page["jobs"]) keys.push_back(job["key"]);
    after = page.contains("next") ? std::string(page["next"]) : "";
  } while (!after.empty());
  EXPECT_THAT(keys, testing::ElementsAre("default/job-0", "default/job-1", "default/job-2",
                                         "default/job-3", "default/job-4"));
  EXPECT_EQ(Get("/debug/state?limit=none", 400)["error"],
            "limit=none: must be a whole number, at least 1");
}

TEST_F(WebServerTest, WhatIsTooLargeIsRefused) {
  const std::string path = "/api/v1/jobs/default/gpt/save";
  EXPECT_EQ(client_->Post(path.c_str(), std::string(65 << 10, 'x'), "text/plain")->status, 413);
  EXPECT_EQ(client_->Get(("/" + std::string(9000, 'x')).c_str())->status, 414);
  const auto result = client_->Get("/healthz", {{"X-Long", std::string(9000, 'x')}});
  EXPECT_TRUE(!result || result->status == 400);
  EXPECT_EQ(client_->Get("/healthz")->status, 200) << "the next one is answered";
}

TEST_F(WebServerTest, ATakenPortAndABadAddressAreErrors) {
  EXPECT_EQ(WebServer::Start("nowhere", world_.Deps()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WebServer::Start("127.0.0.1:99999", world_.Deps()).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(WebServer::Start(server_->address(), world_.Deps()).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace muster::control
