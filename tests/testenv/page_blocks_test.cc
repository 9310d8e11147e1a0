#include "tests/testenv/page_blocks.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::tests {
namespace {

constexpr char kPage[] = R"(Words.

<!-- run: first -->
```sh
one
two
```

<!-- values -->
```yaml
a: b
```

<!-- run on nodes: second -->
```sh
three
```
)";

TEST(PageBlocksTest, ABlockIsFoundByItsComment) {
  EXPECT_EQ(BlockAfter(kPage, "run: first"), "one\ntwo\n");
  EXPECT_EQ(BlockAfter(kPage, "values"), "a: b\n");
  EXPECT_EQ(BlockAfter(kPage, "run: second"), "");
  EXPECT_EQ(BlockAfter("<!-- run: open -->\n```sh\none\n", "run: open"), "");
  EXPECT_EQ(BlockAfter("<!-- run: late -->\n\n```sh\none\n```\n", "run: late"), "");
}

TEST(PageBlocksTest, TheNamesOfOneMarkAreListedInOrder) {
  EXPECT_THAT(BlockNames(kPage, "run"), testing::ElementsAre("first"));
  EXPECT_THAT(BlockNames(kPage, "run on nodes"), testing::ElementsAre("second"));
  EXPECT_THAT(BlockNames("", "run"), testing::IsEmpty());
}

}  // namespace
}  // namespace muster::tests
