#include "base/environment.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(ExpandVariablesTest, AsAKubeletDoes) {
  const Environment env = {{"A", "1"}};
  EXPECT_EQ(ExpandVariables("$(A) $A $(B) $$(A) $(A", env), "1 $A $(B) $(A) $(A");
}

}  // namespace
}  // namespace muster
