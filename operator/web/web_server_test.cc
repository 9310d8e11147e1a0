#include "operator/web/web_server.h"

#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/metrics/exposition.h"
#include "operator/web/gate.h"
#include "operator/web/http/http_client.h"
#include "operator/web/http/test_wire.h"
#include "operator/web/test_deps.h"

namespace muster::control {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class WebServerTest : public ::testing::Test {
 protected:
  WebServerTest() {
    server_ = Start("127.0.0.1:0");
    client_ = MakeHttpClient(server_->address());
  }

  std::unique_ptr<WebServer> Start(const std::string& address, Gate gate = nullptr) {
    auto server = WebServer::Start({.address = address, .gate = std::move(gate)}, world_.Deps());
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? *std::move(server) : nullptr;
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

TEST_F(WebServerTest, AStandbyIsReadyAndALeaderThatLostTheLeaseIsNot) {
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

TEST_F(WebServerTest, TooLargeRequestsAreRefused) {
  const std::string path = "/api/v1/jobs/default/gpt/save";
  EXPECT_EQ(client_->Post(path.c_str(), std::string(65 << 10, 'x'), "text/plain")->status, 413);
  EXPECT_EQ(client_->Get(("/" + std::string(9000, 'x')).c_str())->status, 414);
  EXPECT_EQ(client_->Get("/healthz", {{"X-Long", std::string(20000, 'x')}})->status, 431);
  EXPECT_EQ(client_->Get("/healthz")->status, 200) << "the next one is answered";
}

TEST_F(WebServerTest, ATakenPortAndABadAddressAreErrors) {
  const auto start = [this](const std::string& address) {
    return WebServer::Start({.address = address}, world_.Deps()).status().code();
  };
  EXPECT_EQ(start("nowhere"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start("127.0.0.1:99999"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start("unix:relative.sock"), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start(server_->address()), absl::StatusCode::kUnavailable);
}

TEST_F(WebServerTest, ACallerThatTheGateRefusesSeesNoPage) {
  world_.AddJob("gpt");
  world_.Settle();
  const auto server = Start("127.0.0.1:0", TokenGate("right"));
  const auto client = MakeHttpClient(server->address());
  for (const char* path : {"/metrics", "/debug/state", "/api/v1/jobs", "/livez", "/none"}) {
    const auto refused = client->Get(path);
    EXPECT_EQ(refused->status, 401) << path;
    EXPECT_EQ(refused->get_header_value("WWW-Authenticate"), "Bearer");
  }
  EXPECT_EQ(client->Post("/api/v1/jobs/default/gpt/stop")->status, 401);
  EXPECT_EQ(client->Get("/metrics", {{"Authorization", "Bearer right"}})->status, 200);
  EXPECT_EQ(client->Get("/metrics", {{"Authorization", "Bearer right"}, {"Host", "evil.example"}})
                ->status,
            403);
}

// Slow clients must not delay /livez, however many of them hold a connection.
TEST_F(WebServerTest, LivezIsAnsweredWhileSlowClientsAndBusyPagesHoldEverythingElse) {
  auto probes = WebServer::StartProbes("127.0.0.1:0", world_.Deps());
  ASSERT_TRUE(probes.ok()) << probes.status();
  std::vector<std::unique_ptr<Wire>> slow;
  for (const std::string& address : {server_->address(), (*probes)->address()}) {
    for (int i = 0; i < 64; ++i) {
      slow.push_back(std::make_unique<Wire>(address));
      ASSERT_TRUE(slow.back()->connected());
      slow.back()->Send("GET /livez HTTP/1.1\r\nX-Drip: ");
    }
  }
  const absl::Time start = Clock::Real().Monotonic();
  EXPECT_EQ(MakeHttpClient((*probes)->address())->Get("/livez")->body, "ok\n");
  EXPECT_EQ(client_->Get("/livez")->body, "ok\n");
  EXPECT_LT(Clock::Real().Monotonic() - start, absl::Seconds(10)) << "it waited for none of them";
}

TEST_F(WebServerTest, ProbesShowHealthAndNothingElse) {
  auto probes = WebServer::StartProbes("127.0.0.1:0", world_.Deps());
  ASSERT_TRUE(probes.ok()) << probes.status();
  const auto client = MakeHttpClient((*probes)->address());
  for (const char* path : {"/livez", "/healthz", "/readyz?verbose"}) {
    EXPECT_EQ(client->Get(path)->status, 200) << path;
  }
  for (const char* path : {"/metrics", "/debug/state", "/api/v1/jobs"}) {
    EXPECT_EQ(client->Get(path)->status, 404) << path;
  }
  EXPECT_EQ(client->Post("/api/v1/jobs/default/gpt/stop")->status, 404);
}

class WebSocketFileTest : public WebServerTest {
 protected:
  WebSocketFileTest() {
    char folder[] = "/tmp/muster-web-XXXXXX";
    folder_ = ::mkdtemp(folder);
    socket_ = folder_ + "/run/http.sock";
    own_ = Start("unix:" + socket_);
  }
  ~WebSocketFileTest() override {
    own_.reset();
    ::rmdir((folder_ + "/run").c_str());
    ::rmdir(folder_.c_str());
  }

  // Returns the status that user `uid` gets for a stop, rounded down to hundreds; 0 for no answer,
  // 900 if the process cannot become that user. Runs in a child, which drops its rights.
  static int StatusAs(uid_t uid, const std::string& path) {
    const pid_t child = ::fork();
    if (child == 0) {
      if (uid != 0 && (::setgroups(0, nullptr) != 0 || ::setuid(uid) != 0)) ::_exit(9);
      const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un to = {};
      to.sun_family = AF_UNIX;
      std::memcpy(to.sun_path, path.c_str(), path.size() + 1);
      if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) ::_exit(0);
      const char request[] = "POST /api/v1/jobs/default/gpt/stop HTTP/1.1\r\n\r\n";
      char answer[16] = "";
      if (::send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0) ::_exit(0);
      if (::recv(fd, answer, sizeof(answer) - 1, MSG_WAITALL) < 12) ::_exit(0);
      ::_exit(std::atoi(answer + 9) / 100);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) * 100;
  }

  std::string folder_;
  std::string socket_;
  std::unique_ptr<WebServer> own_;
};

TEST_F(WebSocketFileTest, TheSocketIsForThisUserAloneAndGoneAtTheEnd) {
  struct stat info = {};
  ASSERT_EQ(::stat(socket_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(::stat((folder_ + "/run").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(MakeHttpClient("unix:" + socket_)->Get("/livez")->body, "ok\n");
  EXPECT_EQ(WebServer::Start({.address = "unix:" + socket_}, world_.Deps()).status().code(),
            absl::StatusCode::kAlreadyExists);
  own_->Stop();
  EXPECT_NE(::stat(socket_.c_str(), &info), 0);
}

// A user other than root must not be able to stop root's job.
TEST_F(WebSocketFileTest, AnotherUserCannotStopAJobEvenWhereTheModesWereOpened) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  constexpr uid_t kNobody = 65534;
  world_.AddJob("gpt");
  world_.Settle();
  EXPECT_EQ(StatusAs(kNobody, socket_), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  ASSERT_EQ(::chmod((folder_ + "/run").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(socket_.c_str(), 0666), 0);
  EXPECT_EQ(StatusAs(kNobody, socket_), 0);
  const auto suspended = [this] {
    return (*world_.api->Get(kube::kTrainingJobs, {"default", "gpt"}))["spec"].contains("suspend");
  };
  EXPECT_FALSE(suspended());
  EXPECT_EQ(StatusAs(0, socket_), 200);
  EXPECT_TRUE(suspended());
}

}  // namespace
}  // namespace muster::control
