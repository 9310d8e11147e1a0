#include "base/testing/generated_document.h"

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

constexpr char kText[] =
    "# Title\n<!-- a -->\none\n<!-- end -->\nprose\n<!-- b -->\n<!-- end -->\n";

TEST(GeneratedDocumentTest, ADocumentThatHasItsPartsPasses) {
  EXPECT_EQ(CheckParts(kText, {{"a", "one\n"}, {"b", ""}}), kText);
}

TEST(GeneratedDocumentTest, APartThatDiffersFailsAndIsPutInPlace) {
  std::string put;
  EXPECT_NONFATAL_FAILURE(put = CheckParts(kText, {{"b", "two\n"}}),
                          "the part 'b' differs: run tools/generate");
  EXPECT_EQ(put, "# Title\n<!-- a -->\none\n<!-- end -->\nprose\n<!-- b -->\ntwo\n<!-- end -->\n");
}

TEST(GeneratedDocumentTest, APartWithoutAPlaceFails) {
  EXPECT_NONFATAL_FAILURE(CheckParts(kText, {{"c", ""}}), "no place for c");
  EXPECT_NONFATAL_FAILURE(CheckParts("<!-- a -->\none\n", {{"a", "one\n"}}), "no place for a");
}

}  // namespace
}  // namespace muster
