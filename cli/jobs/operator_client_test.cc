#include "cli/jobs/operator_client.h"

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "httplib.h"

namespace muster::cli {
namespace {

using ::testing::HasSubstr;

class OperatorClientTest : public testing::Test {
 protected:
  void Serve(const httplib::Server::Handler& handler) {
    server_.Get("/answer", handler);
    server_.Post("/answer", handler);
    operator_.http = absl::StrCat("127.0.0.1:", server_.bind_to_any_port("127.0.0.1"));
    thread_ = std::thread([this] { server_.listen_after_bind(); });
  }
  void TearDown() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  httplib::Server server_;
  std::thread thread_;
  LiveOperator operator_;
};

TEST_F(OperatorClientTest, SendsTokenAndBodyAndReadsTheAnswer) {
  operator_.token = "secret";
  Serve([](const httplib::Request& request, httplib::Response& response) {
    response.set_content(
        absl::StrCat(R"({"token": ")", request.get_header_value("Authorization"), R"(", "body": )",
                     request.body.empty() ? "0" : request.body, "}"),
        "application/json");
  });
  const auto asked = CallOperator(operator_, "GET", "/answer");
  ASSERT_TRUE(asked.ok()) << asked.status();
  EXPECT_EQ((*asked)["token"], "Bearer secret");
  EXPECT_EQ((*asked)["body"], 0);
  const auto told = CallOperator(operator_, "POST", "/answer", "7");
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_EQ((*told)["body"], 7);
}

TEST_F(OperatorClientTest, ARefusalKeepsItsCodeAndTheOperatorsMessage) {
  Serve([](const httplib::Request&, httplib::Response& response) {
    response.status = 404;
    response.set_content(R"({"error": "there is no such job"})", "application/json");
  });
  const auto asked = CallOperator(operator_, "GET", "/answer");
  EXPECT_EQ(asked.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(asked.status().message()), HasSubstr("there is no such job"));
}

// httplib would have decoded it in memory, to any size.
TEST_F(OperatorClientTest, AnEncodedAnswerIsRefusedUnread) {
  Serve([](const httplib::Request&, httplib::Response& response) {
    response.set_header("Content-Encoding", "br");
    response.set_content("{}", "application/json");
  });
  const auto asked = CallOperator(operator_, "GET", "/answer");
  EXPECT_EQ(asked.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(asked.status().message()), HasSubstr("Content-Encoding br"));
}

TEST_F(OperatorClientTest, AnAnswerWithoutEndIsAnError) {
  Serve([](const httplib::Request&, httplib::Response& response) {
    response.set_chunked_content_provider("application/json", [](size_t, httplib::DataSink& sink) {
      const std::string chunk(1 << 20, ' ');
      return sink.write(chunk.data(), chunk.size());
    });
  });
  const auto asked = CallOperator(operator_, "GET", "/answer");
  EXPECT_EQ(asked.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(asked.status().message()), HasSubstr("longer than 67108864 bytes"));
}

}  // namespace
}  // namespace muster::cli
