#include "trainer/engine/store/compare_data.h"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "trainer/comm/local_communicator.h"
#include "trainer/data/data_digest.h"
#include "trainer/data/token_cache.h"
#include "trainer/data/tokens.h"

namespace muster::trainer {
namespace {

using ::testing::ElementsAre;

std::unique_ptr<DataDigester> DataOf(std::vector<uint32_t> ids, uint64_t sources = 1) {
  return std::make_unique<DataDigester>("", sources, TokensInMemory(ids, TokenType::kU16),
                                        Tokens());
}

// Returns what every rank says.
std::vector<std::string> Compare(const std::vector<DataDigester*>& data, uint64_t random = 40) {
  auto ranks = MakeLocalCommunicators({.size = static_cast<int>(data.size())});
  std::vector<std::string> said(data.size());
  std::vector<std::thread> threads;
  for (size_t r = 0; r < data.size(); ++r) {
    threads.emplace_back([&, r] {
      const absl::Status same = CompareData(random + r, *data[r], *ranks[r]);
      EXPECT_TRUE(same.ok() || absl::IsFailedPrecondition(same)) << same;
      said[r] = std::string(same.message());
    });
  }
  for (std::thread& thread : threads) thread.join();
  return said;
}

TEST(CompareDataTest, RanksWithTheSameDataMayTrain) {
  const auto a = DataOf({1, 2, 3}), b = DataOf({1, 2, 3});
  EXPECT_THAT(Compare({a.get(), b.get()}), ElementsAre("", ""));
}

TEST(CompareDataTest, ANodesOwnFileThatDiffersIsNamedByItsRank) {
  const auto a = DataOf({1, 2, 3}), b = DataOf({1, 2, 4}), c = DataOf({1, 2, 3});
  for (const std::string& said : Compare({a.get(), b.get(), c.get()})) {
    EXPECT_EQ(said,
              "rank 1 and ranks 0 and 2 do not have the same training data: they have as many "
              "tokens, and other ones. data.uri must name the same files on every node");
  }
}

TEST(CompareDataTest, FilesOfOtherLengthsAreNamedWithTheirTokens) {
  const auto a = DataOf({1, 2, 3}), b = DataOf({1, 2});
  EXPECT_EQ(Compare({a.get(), b.get()})[0],
            "rank 1 and rank 0 do not have the same training data: they have 2 and 3 tokens. "
            "data.uri must name the same files on every node");
}

TEST(CompareDataTest, FilesOfOtherNamesDiffer) {
  const auto a = DataOf({1, 2, 3}, 1), b = DataOf({1, 2, 3}, 2);
  EXPECT_THAT(Compare({a.get(), b.get()})[1],
              ::testing::HasSubstr("not the names, the sizes or the contents of the files"));
}

// Recovery must not wait for reads whose outcome is known.
TEST(CompareDataTest, ANewRankLooksWhereTheOthersHaveLookedBefore) {
  const auto a = DataOf({1, 2, 3}), b = DataOf({1, 2, 3});
  Compare({a.get(), b.get()});
  const uint64_t seed = a->remembered();
  EXPECT_EQ(seed, uint64_t{40 ^ 41});
  EXPECT_EQ(b->remembered(), seed);
  const auto c = DataOf({1, 2, 3}), d = DataOf({7, 8, 9});
  EXPECT_THAT(Compare({c.get(), a.get()}, 100), ElementsAre("", ""));
  EXPECT_EQ(a->remembered(), seed);
  EXPECT_EQ(c->remembered(), seed);
  EXPECT_NE(Compare({d.get(), a.get()}, 200)[0], "");
}

}  // namespace
}  // namespace muster::trainer
