#include "tests/parity/matrix/rows.h"

#include <cstddef>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/parity/matrix/pairwise.h"
#include "tests/parity/toy_run.h"

namespace muster::trainer {
namespace {

TEST(PairwiseTest, EveryPairThatIsAllowedOccursInTheCoverAndNoOther) {
  const auto allows = [](const Combination& c) { return c[0] != 2 || c[1] == 1; };
  const std::vector<Combination> product = Product({3, 4, 2, 2}, allows);
  EXPECT_EQ(product.size(), 36u);
  const std::vector<Combination> cover = PairwiseCover(product);
  EXPECT_LT(cover.size(), product.size() / 3);
  const auto pairs = [](const std::vector<Combination>& combinations) {
    std::set<std::tuple<size_t, int, size_t, int>> out;
    for (const Combination& c : combinations) {
      for (size_t a = 0; a < c.size(); ++a) {
        for (size_t b = a + 1; b < c.size(); ++b) out.emplace(a, c[a], b, c[b]);
      }
    }
    return out;
  };
  EXPECT_EQ(pairs(cover), pairs(product));
}

// One string for each pair of values of a row's axes.
std::set<std::string> PairsOf(const std::vector<MatrixRow>& rows) {
  std::set<std::string> pairs;
  for (const MatrixRow& row : rows) {
    const int64_t fewest = row.micro_batches / row.workers();
    const std::string values[] = {
        absl::StrCat("layout ", row.zero, row.copies, row.tensor, row.pipeline, row.context,
                     row.exchange == ContextExchange::kRing, static_cast<int>(row.schedule)),
        absl::StrCat("ranks ", row.ranks),
        row.micro_batches % row.workers() != 0 ? "unequal"
        : fewest == 1                          ? "one"
                                               : "several",
        row.optimizer,
        absl::StrCat("rests ", row.optimizer_rests, row.weights_rest),
        absl::StrCat("every ", row.activations.recompute_every)};
    for (const std::string& a : values) {
      for (const std::string& b : values) pairs.insert(absl::StrCat(a, ", ", b));
    }
  }
  return pairs;
}

TEST(MatrixRowsTest, ThePairwiseRowsLackNoPairOfTheFullMatrix) {
  const struct {
    Heads heads;
    size_t rows;
  } cases[] = {{{4, 4}, 1196}, {{4, 2}, 1180}, {{6, 6}, 1148}};
  for (const auto& c : cases) {
    EXPECT_EQ(MatrixRows(false, c.heads).size(), c.rows);
    EXPECT_LT(MatrixRows(true, c.heads).size(), 165u);
    // All rows have what blocks are computed again in turn, so that they may lack a pair of that.
    EXPECT_THAT(PairsOf(MatrixRows(true, c.heads)),
                testing::IsSupersetOf(PairsOf(MatrixRows(false, c.heads))));
  }
}

TEST(MatrixRowsTest, EveryRowHasAMicroBatchForEachRankAndALayoutOfItsRanks) {
  std::set<std::string> names;
  std::vector<MatrixRow> rows = MatrixRows(false, {4, 4});
  for (const MatrixRow& row : NarrowRows()) rows.push_back(row);
  for (const MatrixRow& row : PackedRows()) rows.push_back(row);
  for (const MatrixRow& row : rows) {
    EXPECT_TRUE(row.mesh().Check(row.ranks).ok()) << row.name();
    EXPECT_GE(row.micro_batches, row.workers()) << row.name();
    EXPECT_EQ(kToyBatch % row.micro_batches, 0) << row.name();
    EXPECT_EQ(row.zero > 0, row.mesh().shard > 1) << row.name();
    EXPECT_TRUE(names.insert(row.name() + row.precision + row.optimizer).second) << row.name();
  }
}

}  // namespace
}  // namespace muster::trainer
