#include "base/net/link_frame.h"

#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <string>
#include <vector>

#include "google/protobuf/wrappers.pb.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

std::string Frame(std::string_view payload) {
  std::string out;
  EXPECT_TRUE(AppendLinkFrame(payload, &out).ok());
  return out;
}

TEST(LinkFrameTest, LengthIsLittleEndian) {
  EXPECT_EQ(Frame("abc"), std::string("\x03\0\0\0abc", 7));
  EXPECT_EQ(Frame(std::string(258, 'x')).substr(0, 4), std::string("\x02\x01\0\0", 4));
}

TEST(LinkFrameTest, AnyChunksGiveTheSameFrames) {
  std::mt19937 random(7);
  std::vector<std::string> payloads;
  std::string stream;
  for (int i = 0; i < 40; ++i) {
    payloads.push_back(std::string(random() % 3000, static_cast<char>(random())));
    stream += Frame(payloads.back());
  }
  for (int trial = 0; trial < 50; ++trial) {
    LinkFrameDecoder decoder;
    std::vector<std::string> got;
    for (size_t at = 0; at < stream.size();) {
      const size_t n = std::min<size_t>(1 + random() % 4000, stream.size() - at);
      decoder.Append(std::string_view(stream).substr(at, n));
      at += n;
      while (true) {
        auto frame = decoder.Next();
        ASSERT_TRUE(frame.ok());
        if (!frame->has_value()) break;
        got.push_back(**frame);
      }
    }
    EXPECT_EQ(got, payloads);
    EXPECT_TRUE(decoder.AtEnd().ok());
  }
}

TEST(LinkFrameTest, TooLongALengthIsAnErrorThatStays) {
  LinkFrameDecoder decoder;
  decoder.Append(std::string("\x01\x00\x00\x01", 4));
  const auto frame = decoder.Next();
  EXPECT_EQ(frame.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(frame.status().message(),
            "link frame announces 16777217 bytes; at most 16777216 are allowed");
  decoder.Append(Frame("fine"));
  EXPECT_EQ(decoder.Next().status(), frame.status());
  EXPECT_EQ(decoder.AtEnd(), frame.status());
}

TEST(LinkFrameTest, TooLargeAMessageIsRefusedAndLeavesTheOutputAlone) {
  std::string out = "before";
  const absl::Status status = AppendLinkFrame(std::string(kMaxLinkFrameBytes + 1, 'x'), &out);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(out, "before");
}

TEST(LinkFrameTest, EndInsideAFrameIsDataLoss) {
  LinkFrameDecoder decoder;
  decoder.Append(Frame("abcdef").substr(0, 7));
  ASSERT_TRUE(decoder.Next().ok());
  EXPECT_EQ(decoder.AtEnd().code(), absl::StatusCode::kDataLoss);
}

TEST(LinkFrameTest, SendsAMessageAndReportsAGonePeer) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  google::protobuf::StringValue message;
  message.set_value("hello");
  ASSERT_TRUE(SendLinkFrame(fds[0], message).ok());
  char bytes[64];
  const ssize_t n = read(fds[1], bytes, sizeof(bytes));
  LinkFrameDecoder decoder;
  decoder.Append(std::string_view(bytes, static_cast<size_t>(n)));
  const auto frame = decoder.Next();
  ASSERT_TRUE(frame.ok() && frame->has_value());
  google::protobuf::StringValue back;
  ASSERT_TRUE(back.ParseFromString(**frame));
  EXPECT_EQ(back.value(), "hello");
  close(fds[1]);
  EXPECT_EQ(SendLinkFrame(fds[0], message).code(), absl::StatusCode::kUnavailable);
  close(fds[0]);
}

}  // namespace
}  // namespace muster
