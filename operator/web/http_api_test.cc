// docs/http-api.md against the server: every documented request is made, with each parameter.
#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "httplib.h"
#include "operator/web/test_deps.h"
#include "operator/web/web_server.h"

namespace muster::control {
namespace {

struct Documented {
  std::string method;
  std::string path;
  std::vector<std::string> parameters;
};

// "| `GET /path` | `parameter`, `parameter` | meaning |"
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
    auto server = WebServer::Start("127.0.0.1:0", world_.Deps());
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    client_ = std::make_unique<httplib::Client>("http://" + server_->address());
  }

  int Ask(const std::string& method, const std::string& path) {
    const httplib::Result result =
        method == "POST" ? client_->Post(path.c_str()) : client_->Get(path.c_str());
    return result ? result->status : 0;
  }

  PageWorld world_;
  std::unique_ptr<WebServer> server_;
  std::unique_ptr<httplib::Client> client_;
};

TEST_F(HttpApiTest, EveryDocumentedRequestIsAnswered) {
  const std::vector<Documented> rows = ReadDocument();
  ASSERT_EQ(rows.size(), 17u);
  for (const Documented& row : rows) {
    // The job does not train, so there is nothing to save.
    const bool saves = row.path.find("/save") != std::string::npos;
    const bool wants_body = row.path.find("/whatif") != std::string::npos;
    const int code = saves ? 409 : wants_body ? 400 : 200;
    EXPECT_EQ(Ask(row.method, row.path), code) << row.method << " " << row.path;
    EXPECT_EQ(Ask(row.method == "GET" ? "POST" : "GET", row.path), 404) << row.path;
    for (const std::string& parameter : row.parameters) {
      const std::string path = absl::StrCat(row.path, "?", parameter, "=1");
      EXPECT_EQ(Ask(row.method, path), 200) << path;
    }
  }
}

TEST_F(HttpApiTest, NumbersThatAreNoneAreRefused) {
  for (const char* path :
       {"/debug/state?limit=x", "/debug/state?limit=0", "/api/v1/jobs/default/gpt?since=x",
        "/api/v1/jobs/default/gpt?limit=-1", "/api/v1/decisions/last"}) {
    EXPECT_EQ(Ask("GET", path), 400) << path;
  }
}

TEST_F(HttpApiTest, ADecisionThatIsNotKeptIsNotThereAndThoseThatAreAreNamed) {
  const httplib::Result result = client_->Get("/api/v1/decisions/7");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 404);
  EXPECT_EQ(result->body,
            "{\"code\":404,\"error\":\"there is no decision 7 in /decisions; it has 1 to 1\"}\n");
}

TEST_F(HttpApiTest, WhatIsNotDocumentedIsNotThere) {
  for (const char* path : {"/", "/api/v1", "/api/v1/jobs/default", "/debug", "/metrics/"}) {
    EXPECT_EQ(Ask("GET", path), 404) << path;
  }
  EXPECT_EQ(Ask("POST", "/api/v1/jobs/default/gpt/delete"), 404);
  EXPECT_EQ(Ask("POST", "/api/v1/jobs/default/none/stop"), 404);
}

}  // namespace
}  // namespace muster::control
