#include "cli/kubectl/short_flags.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace muster::cli::kubectl {
namespace {

using Words = std::vector<std::string>;

TEST(WithLongFlagsTest, EveryFormThatKubectlTakesBecomesTheLongOne) {
  const ShortFlags letters = {{'n', "namespace"}, {'o', "output"}, {'f', "follow"}};
  EXPECT_EQ(WithLongFlags({"job", "-n", "team", "-ojson", "-o=json", "-f", "--rank", "0"}, letters),
            (Words{"job", "--namespace", "team", "--output=json", "--output=json", "--follow",
                   "--rank", "0"}));
}

TEST(WithLongFlagsTest, OtherWordsStayAsTheyAre) {
  const ShortFlags letters = {{'n', "namespace"}};
  const Words words = {"-x", "-", "--namespace", "--", "-n"};
  EXPECT_EQ(WithLongFlags(words, letters), words);
}

}  // namespace
}  // namespace muster::cli::kubectl
