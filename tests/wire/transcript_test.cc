#include "tests/wire/transcript.h"

#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using v1alpha1::AgentMessage;
using v1alpha1::OperatorMessage;

Utterance Hello(const std::string& host) {
  AgentMessage message;
  message.mutable_hello()->set_host(host);
  message.mutable_hello()->mutable_protocols()->set_newest(2);
  return {Speaker::kAgent, message.SerializeAsString()};
}
Utterance Heartbeat() {
  AgentMessage message;
  message.mutable_heartbeat();
  return {Speaker::kAgent, message.SerializeAsString()};
}
Utterance HeartbeatWhileLoading() {
  AgentMessage message;
  message.mutable_heartbeat()->set_loading(true);
  return {Speaker::kAgent, message.SerializeAsString()};
}
Utterance Ready() {
  AgentMessage message;
  message.mutable_ready();
  return {Speaker::kAgent, message.SerializeAsString()};
}
Utterance Welcome() {
  OperatorMessage message;
  message.mutable_welcome()->set_term(3);
  return {Speaker::kOperator, message.SerializeAsString()};
}
Utterance Go() {
  OperatorMessage message;
  message.mutable_go();
  return {Speaker::kOperator, message.SerializeAsString()};
}

TEST(TranscriptTest, WhatIsWrittenIsRead) {
  const Transcript said = {{Hello("a"), Welcome()}};
  EXPECT_THAT(said.ToText(), HasSubstr("# hello { host: \"a\""));
  const auto read = Transcript::Parse(said.ToText());
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->utterances.size(), 2u);
  EXPECT_EQ(read->utterances[0].bytes, said.utterances[0].bytes);
  EXPECT_EQ(read->utterances[1].speaker, Speaker::kOperator);
}

TEST(TranscriptTest, ALineThatIsNoMessageIsRefused) {
  for (const char* line : {"trainer CAE=", "agent", "agent !", "operator CAE=="}) {
    EXPECT_FALSE(Transcript::Parse(line).ok()) << line;
  }
}

TEST(TranscriptTest, FieldsAreNamedAndTakenAway) {
  const Transcript said = {{Hello("a"), Welcome()}};
  EXPECT_THAT(FieldsOf(said), ElementsAre("agent.hello", "agent.hello.host",
                                          "agent.hello.protocols", "agent.hello.protocols.newest",
                                          "operator.welcome", "operator.welcome.term"));
  EXPECT_THAT(FieldsOf(WithoutFields(said, {"agent.hello.protocols", "operator.welcome.term"})),
              ElementsAre("agent.hello", "agent.hello.host", "operator.welcome"));
}

TEST(TranscriptTest, ARecordingOfAFastMachineKeepsTheTimedFieldsOfTheLast) {
  const Transcript earlier = {{Hello("a"), Welcome(), HeartbeatWhileLoading(), Ready(), Go()}};
  const Transcript fast = {{Hello("a"), Welcome(), Ready(), Heartbeat(), Go()}};
  std::vector<std::string> kinds;
  const Transcript kept = WithTimedFieldsOf(earlier, fast);
  for (const Utterance& utterance : kept.utterances) kinds.push_back(KindOf(utterance));
  EXPECT_THAT(kinds, ElementsAre("hello", "welcome", "heartbeat", "ready", "heartbeat", "go"));
  EXPECT_EQ(FieldsOf(kept), FieldsOf(earlier));
  EXPECT_EQ(WithTimedFieldsOf(earlier, kept).utterances.size(), kept.utterances.size());
}

TEST(TranscriptTest, APlayerAwaitsWhatWasSaidBeforeItsNextMessage) {
  const Transcript script = {{Hello("a"), Welcome(), Heartbeat(), Ready(), Go()}};
  std::vector<std::string> heard = {Hello("b").bytes, Heartbeat().bytes, Ready().bytes};
  std::vector<std::string> said;
  size_t next = 0;
  const auto send = [&](const std::string& bytes) {
    said.push_back(KindOf({Speaker::kOperator, bytes}));
    return true;
  };
  const auto receive = [&]() -> std::optional<std::string> {
    if (next == heard.size()) return std::nullopt;
    return heard[next++];
  };
  EXPECT_EQ(Play(script, Speaker::kOperator, send, receive), "");
  EXPECT_THAT(said, ElementsAre("welcome", "go"));

  heard.pop_back();
  next = 0;
  EXPECT_EQ(Play(script, Speaker::kOperator, send, receive), "the agent sent no ready");
}

}  // namespace
}  // namespace muster::wire
