#ifndef MUSTER_AGENT_NOTICES_NOTICE_SOURCE_FIXTURE_H_
#define MUSTER_AGENT_NOTICES_NOTICE_SOURCE_FIXTURE_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "agent/notices/notice.h"
#include "agent/notices/notice_source.h"
#include "gtest/gtest.h"

namespace muster::agent {

inline constexpr absl::Time kNow = absl::FromUnixSeconds(1'764'058'800);  // 08:20:00

// Asks a cloud's source what a test's metadata service announces.
class NoticeSourceTest : public testing::Test {
 protected:
  virtual NoticeSource& source() = 0;

  std::optional<Notice> Poll(absl::Time wall = kNow) {
    const auto polled = source().Poll(wall);
    EXPECT_TRUE(polled.ok()) << polled.status();
    return polled.value_or(std::nullopt);
  }
  std::string Refused(absl::Time wall = kNow) {
    const auto polled = source().Poll(wall);
    EXPECT_FALSE(polled.ok());
    return std::string(polled.status().message());
  }
};

}  // namespace muster::agent

#endif  // MUSTER_AGENT_NOTICES_NOTICE_SOURCE_FIXTURE_H_
