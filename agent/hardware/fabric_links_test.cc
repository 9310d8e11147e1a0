// testdata/ibnetdiscover.txt is what ibnetdiscover 44.0 (infiniband-diags) printed about a fabric
// that ibsim simulated: two leaf switches below two spines, with three adapters.
#include "agent/hardware/fabric_links.h"

#include <random>
#include <string>

#include "base/files/files.h"
#include "base/testing/test_iterations.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string Recorded() {
  return *ReadFile(FileSystem(), "agent/hardware/testdata/ibnetdiscover.txt");
}

TEST(FabricLinksTest, EachAdapterHasItsLeafSwitch) {
  const auto links = ParseIbnetdiscover(Recorded());
  ASSERT_TRUE(links.ok()) << links.status();
  EXPECT_THAT(
      *links,
      ElementsAre(Pair(Pair("0000000000100000", 1), SwitchEnd{"0000000000200000", "leaf-0"}),
                  Pair(Pair("0000000000100002", 1), SwitchEnd{"0000000000200000", "leaf-0"}),
                  Pair(Pair("0000000000100004", 1), SwitchEnd{"0000000000200001", "leaf-1"})));
}

TEST(FabricLinksTest, AnAdapterWithTwoPortsHasTwoSwitches) {
  const auto links = ParseIbnetdiscover(R"(
Ca	2 "H-248A070300E6A6C0"		# "node-a mlx5_0"
[1](248a070300e6a6c0) 	"S-e41d2d0300a1b200"[7]		# lid 5 lmc 0 "MF0;leaf-0:MQM8700/U1" lid 1 4xHDR
[2](248a070300e6a6c1) 	"S-e41d2d0300a1b300"[7]		# lid 6 lmc 0 "" lid 2 4xHDR

Ca	1 "H-248a070300e6a6d0"		# "node-b mlx5_0"
[1](248a070300e6a6d0) 	"H-248a070300e6a6c0"[1]		# lid 5 lmc 0 "back to back" lid 1 4xHDR
)");
  ASSERT_TRUE(links.ok()) << links.status();
  EXPECT_THAT(*links,
              ElementsAre(Pair(Pair("248a070300e6a6c0", 1),
                               SwitchEnd{"e41d2d0300a1b200", "MF0;leaf-0:MQM8700/U1"}),
                          Pair(Pair("248a070300e6a6c0", 2), SwitchEnd{"e41d2d0300a1b300", ""})));
}

TEST(FabricLinksTest, TextThatIsNoTopologyIsNamed) {
  for (const char* text : {"", "ibwarn: can't open UMAD port", "Ca", "\"\"\"[[[]]]"}) {
    const auto links = ParseIbnetdiscover(text);
    EXPECT_EQ(links.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(links.status().message()), HasSubstr("no switch and no adapter"));
  }
}

TEST(FabricLinksTest, ALineThatIsCutShortSaysNothing) {
  const std::string block = "Ca\t1 \"H-0000000000100004\"\t# \"x\"\n";
  for (const char* line :
       {"[", "[]", "[1", "[1](", "[1](5) \"", "[1](5) \"S-", "[1](5) \"S-12\"[1]",
        "[-1](5) \"S-0000000000200000\"[1]", "[x](5) \"S-0000000000200000\"[1]",
        "[1](5) \"S-000000000020000g\"[1]"}) {
    const auto links = ParseIbnetdiscover(block + line);
    ASSERT_TRUE(links.ok()) << links.status();
    EXPECT_TRUE(links->empty()) << line;
  }
}

TEST(FabricLinksTest, TextAtRandomNeverEndsTheAgent) {
  const std::string good = Recorded();
  std::mt19937 random(11);
  for (int i = 0; i < TestIterations({500, 2000, 50000}); ++i) {
    std::string text = good;
    for (unsigned n = random() % 20; n > 0; --n) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 40));
      }
    }
    const auto links = ParseIbnetdiscover(text);
    if (!links.ok()) continue;
    for (const auto& [port, end] : *links) {
      EXPECT_EQ(port.first.size(), 16u);
      EXPECT_EQ(end.guid.size(), 16u);
    }
  }
}

}  // namespace
}  // namespace muster::agent
