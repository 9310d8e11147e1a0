#include "operator/web/web_server.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"

namespace muster::control {
namespace {

using ::testing::HasSubstr;

class WebServerTest : public ::testing::Test {
 protected:
  WebServerTest() : server_(Hooks()) {
    const auto address = server_.Start("127.0.0.1:0");
    EXPECT_TRUE(address.ok()) << address.status();
    address_ = *address;
    client_ = std::make_unique<httplib::Client>("http://" + address_);
  }

  WebHooks Hooks() {
    WebHooks hooks;
    hooks.ready = [this] { return ready_; };
    hooks.metrics = [] { return std::string("muster_x 1\n"); };
    hooks.jobs = [] { return Json({{"items", Json::array()}}); };
    hooks.job = [](const std::string& ns, const std::string& name,
                   int64_t since) -> absl::StatusOr<Json> {
      if (name != "gpt") return absl::NotFoundError("there is no job " + ns + "/" + name);
      return Json({{"name", name}, {"since", since}});
    };
    hooks.act = [this](const std::string& ns, const std::string& name, const std::string& action) {
      acted_ = ns + "/" + name + " " + action;
      return acted_.find("done") == std::string::npos
                 ? absl::OkStatus()
                 : absl::FailedPreconditionError("the job has ended");
    };
    hooks.debug_state = [] { return Json({{"jobs", 0}}); };
    return hooks;
  }

  std::string Error(const httplib::Result& result) { return ParseJson(result->body)->at("error"); }

  absl::Status ready_;
  std::string acted_;
  WebServer server_;
  std::string address_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(WebServerTest, HealthReadinessAndMetrics) {
  EXPECT_EQ(client_->Get("/healthz")->status, 200);
  EXPECT_EQ(client_->Get("/readyz")->status, 200);
  ready_ = absl::UnavailableError("the pod cache has not synced");
  EXPECT_EQ(client_->Get("/readyz")->status, 503);
  EXPECT_EQ(client_->Get("/readyz")->body, "the pod cache has not synced\n");
  EXPECT_EQ(client_->Get("/metrics")->body, "muster_x 1\n");
  EXPECT_EQ(client_->Get("/debug/state")->status, 200);
}

TEST_F(WebServerTest, OneJobWithStepsSince) {
  const auto result = client_->Get("/api/v1/jobs/default/gpt?since=17");
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(ParseJson(result->body)->at("since"), 17);
  EXPECT_EQ(client_->Get("/api/v1/jobs/default/other")->status, 404);
  const auto bad = client_->Get("/api/v1/jobs/default/gpt?since=x");
  EXPECT_EQ(bad->status, 400);
  EXPECT_EQ(Error(bad), "since must be a step number, not 'x'");
}

TEST_F(WebServerTest, ActionsAreNamedAndRefusalsExplained) {
  EXPECT_EQ(client_->Post("/api/v1/jobs/default/gpt/stop")->status, 200);
  EXPECT_EQ(acted_, "default/gpt stop");
  const auto refused = client_->Post("/api/v1/jobs/default/done/save");
  EXPECT_EQ(refused->status, 409);
  EXPECT_EQ(Error(refused), "the job has ended");
  const auto unknown = client_->Post("/api/v1/jobs/default/gpt/explode");
  EXPECT_EQ(unknown->status, 404);
  EXPECT_THAT(Error(unknown),
              HasSubstr("there is nothing at POST /api/v1/jobs/default/gpt/explode"));
}

TEST_F(WebServerTest, ATakenPortAndABadAddressAreErrors) {
  WebServer second(Hooks());
  EXPECT_EQ(second.Start("nowhere").status().code(), absl::StatusCode::kInvalidArgument);
  WebServer third(Hooks());
  EXPECT_EQ(third.Start("127.0.0.1:99999").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace muster::control
