#include "base/xml_text.h"

#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(EscapeXmlTest, MarkupBecomesText) {
  EXPECT_EQ(EscapeXml("a<b> & 'c'"), "a&lt;b&gt; &amp; &#39;c&#39;");
  EXPECT_EQ(EscapeXml("&lt;"), "&amp;lt;");
}

}  // namespace
}  // namespace muster
