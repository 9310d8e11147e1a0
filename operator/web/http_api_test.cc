// Checks docs/http-api.md against the answers: makes every documented request, with each parameter.
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "operator/web/http/http_message.h"
#include "operator/web/routes.h"
#include "operator/web/test_deps.h"

namespace muster::control {
namespace {

struct Documented {
  std::string method;
  std::string path;
  std::vector<std::string> parameters;
};

// Reads rows of the form "| `GET /path` | `parameter`, `parameter` | meaning |".
std::vector<Documented> ReadDocument() {
  std::ifstream in("docs/http-api.md");
  static const std::regex kRow(R"(^\| `(GET|POST) ([^`]+)` \|([^|]*)\|.*)");
  std::vector<Documented> rows;
  for (std::string line; std::getline(in, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, kRow)) continue;
    Documented row{match[1],
                   absl::StrReplaceAll(match[2].str(), {{"{namespace}", "default"},
                                                        {"{name}", "gpt"},
                                                        {"{queue}", "default"},
                                                        {"{decision}", "1"}}),
                   {}};
    const std::string bare = absl::StrReplaceAll(match[3].str(), {{"`", ""}, {" ", ""}});
    row.parameters = absl::StrSplit(bare, ',', absl::SkipEmpty());
    rows.push_back(row);
  }
  return rows;
}

class HttpApiTest : public ::testing::Test {
 protected:
  HttpApiTest() {
    world_.AddJob("gpt");
    world_.Settle();
    DecisionRing ring(world_.files, "/decisions");
    EXPECT_TRUE(ring.Add(1, EncodeRecord(1, {}, {})).ok());
  }

  HttpResponse Answer(const std::string& method, const std::string& target,
                      Commands commands = Commands::kAnswered) {
    HttpRequest request;
    request.method = method;
    EXPECT_TRUE(ReadTarget(target, request)) << target;
    return AnswerRequest(deps_, commands, request);
  }
  int Ask(const std::string& method, const std::string& target) {
    return Answer(method, target).status;
  }

  PageWorld world_;
  const WebDeps deps_ = world_.Deps();
};

TEST_F(HttpApiTest, EveryDocumentedRequestIsAnswered) {
  const std::vector<Documented> rows = ReadDocument();
  ASSERT_EQ(rows.size(), 18u);
  for (const Documented& row : rows) {
    // The job does not train, so there is nothing to save.
    const bool saves = row.path.find("/save") != std::string::npos;
    const bool wants_body = row.path.find("/whatif") != std::string::npos ||
                            row.path.find("/tune") != std::string::npos;
    const int code = saves ? 409 : wants_body ? 400 : 200;
    EXPECT_EQ(Ask(row.method, row.path), code) << row.method << " " << row.path;
    EXPECT_EQ(Ask(row.method == "GET" ? "POST" : "GET", row.path), 404) << row.path;
    for (const std::string& parameter : row.parameters) {
      const std::string path = absl::StrCat(row.path, "?", parameter, "=1");
      EXPECT_EQ(Ask(row.method, path), 200) << path;
    }
  }
}

// Otherwise any pod of a cluster could suspend any job.
TEST_F(HttpApiTest, OnAClusterCommandsAreRefusedAndNameThePatchInstead) {
  for (const Documented& row : ReadDocument()) {
    const bool command = row.method == "POST" && row.path.find("/jobs/") != std::string::npos;
    const HttpResponse answer = Answer(row.method, row.path, Commands::kRefused);
    EXPECT_EQ(answer.status == 403, command) << row.method << " " << row.path;
    if (!command) continue;
    const bool tunes = row.path.find("/tune") != std::string::npos;
    const char* const instead = tunes ? "kubectl muster tune gpt --namespace=default"
                                      : "kubectl patch trainingjob gpt --namespace=default";
    EXPECT_NE(answer.body.find(instead), std::string::npos) << answer.body;
  }
  const auto job = world_.api->Get(kube::kTrainingJobs, {"default", "gpt"});
  ASSERT_TRUE(job.ok());
  EXPECT_FALSE((*job)["spec"].contains("suspend"));
}

TEST_F(HttpApiTest, ATuningIsWrittenToTheSpecOrRefusedWithASentence) {
  const auto tune = [this](const std::string& body) {
    HttpRequest request;
    request.method = "POST";
    EXPECT_TRUE(ReadTarget("/api/v1/jobs/default/trains/tune", request));
    request.body = body;
    return AnswerRequest(deps_, Commands::kAnswered, request);
  };
  Json job = kube::NewObject(kube::kTrainingJobs, {"default", "trains"});
  job["spec"] = {{"workers", {{"count", 1}}},
                 {"trainer",
                  {{"model", {{"preset", "gpt2-nano"}}},
                   {"data", {{"uri", "/data/text"}}},
                   {"train", {{"steps", 10}}}}},
                 {"checkpoint", {{"uri", "/out"}}}};
  ASSERT_TRUE(world_.api->Create(kube::kTrainingJobs, job).ok());
  const HttpResponse first = tune(R"({"learningRate": 1e-4, "by": "anna"})");
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_NE(first.body.find("\"tuning\": 0"), std::string::npos) << first.body;
  EXPECT_EQ(tune(R"({"clipNorm": 0.5, "fromStep": 7})").status, 200);
  const HttpResponse bad = tune(R"({"learningRate": -1})");
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body.find("learningRate"), std::string::npos) << bad.body;
  EXPECT_EQ(tune("no json").status, 400);
  EXPECT_EQ(tune(R"({"learningRate": 1e-3})").status, 409) << "it would wait for step 7";
  const auto stored = world_.api->Get(kube::kTrainingJobs, {"default", "trains"});
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ((*stored)["spec"]["trainer"]["tunings"],
            Json::parse(R"([{"learningRate": 1e-4, "by": "anna"},
                            {"clipNorm": 0.5, "fromStep": 7}])"));
}

TEST_F(HttpApiTest, ValuesOfTheTemplatesEnvironmentAreInNoAnswer) {
  world_.AddSecretJob("secretive", "pa55word");
  world_.Settle();
  int asked = 0;
  for (const Documented& row : ReadDocument()) {
    const std::string path = absl::StrReplaceAll(row.path, {{"/gpt", "/secretive"}});
    const HttpResponse answer = Answer(row.method, path);
    EXPECT_EQ(answer.body.find("pa55word"), std::string::npos) << row.method << " " << path;
    ++asked;
  }
  EXPECT_GT(asked, 10);
  EXPECT_NE(Answer("GET", "/api/v1/jobs/default/secretive").body.find("(redacted)"),
            std::string::npos);
}

TEST_F(HttpApiTest, InvalidNumbersAreRefused) {
  for (const char* path :
       {"/debug/state?limit=x", "/debug/state?limit=0", "/api/v1/jobs/default/gpt?since=x",
        "/api/v1/jobs/default/gpt?limit=-1", "/api/v1/decisions/last"}) {
    EXPECT_EQ(Ask("GET", path), 400) << path;
  }
}

TEST_F(HttpApiTest, ADecisionThatIsNotKeptIsNotFoundAndTheKeptOnesAreNamed) {
  const HttpResponse answer = Answer("GET", "/api/v1/decisions/7");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body,
            "{\"code\":404,\"error\":\"there is no decision 7 in /decisions; it has 1 to 1\"}\n");
}

TEST_F(HttpApiTest, UndocumentedPathsAreNotFound) {
  for (const char* path : {"/", "/api/v1", "/api/v1/jobs/default", "/debug", "/metrics/"}) {
    EXPECT_EQ(Ask("GET", path), 404) << path;
  }
  for (const char* path : {"/api/v1/jobs//gpt", "/api/v1/jobs/default/gpt/", "/api/v2/jobs",
                           "/api/v1/queues/", "/api/v1/decisions/1/2", "//metrics"}) {
    EXPECT_EQ(Ask("GET", path), 404) << path;
  }
  EXPECT_EQ(Ask("POST", "/api/v1/jobs/default/gpt/delete"), 404);
  EXPECT_EQ(Ask("POST", "/api/v1/jobs/default/none/stop"), 404);
}

}  // namespace
}  // namespace muster::control
