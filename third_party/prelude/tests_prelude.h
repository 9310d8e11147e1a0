// The prelude of tests: see prelude.h.
#include "third_party/prelude/prelude.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::prelude {

inline void UsesOfGoogleTest(const Json& json, const std::string& text,
                             const absl::Status& status) {
  EXPECT_EQ(json, "") << json;
  EXPECT_EQ(json[""], 0);
  EXPECT_EQ(json, json);
  EXPECT_EQ(json.value("", ""), text);
  EXPECT_EQ(text, "");
  EXPECT_EQ(text, text);
  EXPECT_EQ(text.size(), 0u);
  EXPECT_EQ(0, 0);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_THAT(text, testing::HasSubstr(""));
}

}  // namespace muster::prelude
