#include "operator/notify/receivers.h"

#include "absl/status/status.h"
#include "base/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ErrorOf(const std::string& text) {
  const auto receivers = ParseReceivers(text);
  return receivers.ok() ? "" : std::string(receivers.status().message());
}

TEST(ParseReceiversTest, ReadsWebhooksAndAlertmanagers) {
  const auto receivers = ParseReceivers(R"(
- name: chat
  webhook: {url: "https://chat.example:8443/hook?key=secret", authorizationFile: /etc/auth}
- name: mail
  alertmanager: {url: "http://[::1]:9093/prefix/", caFile: /etc/ca.pem}
)");
  ASSERT_TRUE(receivers.ok()) << receivers.status();
  ASSERT_EQ(receivers->size(), 2u);
  EXPECT_EQ((*receivers)[0].kind, Receiver::Kind::kWebhook);
  EXPECT_EQ((*receivers)[0].origin, "https://chat.example:8443");
  EXPECT_EQ((*receivers)[0].path, "/hook?key=secret");
  EXPECT_EQ((*receivers)[0].authorization_file, "/etc/auth");
  EXPECT_EQ((*receivers)[1].kind, Receiver::Kind::kAlertmanager);
  EXPECT_EQ((*receivers)[1].origin, "http://[::1]:9093");
  EXPECT_EQ((*receivers)[1].path, "/prefix/api/v2/alerts");
  EXPECT_EQ((*receivers)[1].ca_file, "/etc/ca.pem");
  EXPECT_THAT(ReceiverNames(*receivers), ElementsAre("chat", "mail"));
}

TEST(ParseReceiversTest, TheExampleOfTheDocumentIsValid) {
  const auto page = ReadFile(FileSystem(), "docs/monitoring.md");
  ASSERT_TRUE(page.ok()) << page.status();
  const std::string mark = "<!-- alert receivers -->\n```yaml\n";
  const size_t from = page->find(mark);
  ASSERT_NE(from, std::string::npos);
  const size_t begin = from + mark.size();
  const auto receivers = ParseReceivers(page->substr(begin, page->find("```", begin) - begin));
  ASSERT_TRUE(receivers.ok()) << receivers.status();
  EXPECT_THAT(ReceiverNames(*receivers), ElementsAre("chat", "mail"));
}

TEST(ParseReceiversTest, AnEmptyFileHasNone) {
  const auto receivers = ParseReceivers("# none yet\n");
  ASSERT_TRUE(receivers.ok()) << receivers.status();
  EXPECT_TRUE(receivers->empty());
}

TEST(ParseReceiversTest, EveryFaultIsNamedWithItsLine) {
  EXPECT_EQ(ErrorOf("name: a"), "want a list of receivers, each with a name");
  EXPECT_EQ(ErrorOf("- [a"), "the list of receivers is not YAML");
  EXPECT_EQ(ErrorOf("- name: A\n  webhook: {url: 'http://a'}\n- name: b\n  colour: red\n"),
            "line 1: [0].name: want at most 63 of a-z, 0-9 and -, as in team-mail\n"
            "line 4: [1].colour: unknown field; the fields here are alertmanager, name, webhook\n"
            "line 3: [1]: want either webhook or alertmanager");
  EXPECT_EQ(ErrorOf("- {name: a, webhook: {url: 'http://a'}}\n"
                    "- {name: a, webhook: {url: 'http://a'}}\n"),
            "line 2: [1].name: is taken by a receiver before it");
  EXPECT_EQ(ErrorOf("- {name: a, webhook: {url: 'http://a', authorizationFile: token}}"),
            "line 1: [0].webhook.authorizationFile: want an absolute path");
  EXPECT_EQ(ErrorOf("- {name: a, webhook: http://a}"),
            "line 1: [0].webhook: want an object with url");
}

TEST(ParseReceiversTest, AnErrorDoesNotShowTheUrl) {
  for (const char* url : {"ftp://secret/", "http://user:secret@host/", "http://secret host", ""}) {
    const std::string error = ErrorOf("- {name: a, webhook: {url: '" + std::string(url) + "'}}");
    EXPECT_THAT(error, HasSubstr("line 1: [0].webhook.url: want http://HOST[:PORT][/PATH]")) << url;
    EXPECT_THAT(error, Not(HasSubstr("secret"))) << url;
  }
}

TEST(ParseReceiversTest, TheirNumberIsBounded) {
  std::string text;
  for (size_t i = 0; i <= kMaxReceivers; ++i) {
    text += "- {name: a" + std::to_string(i) + ", webhook: {url: 'http://a'}}\n";
  }
  EXPECT_THAT(ErrorOf(text), HasSubstr("want at most 16 receivers"));
}

}  // namespace
}  // namespace muster::control
