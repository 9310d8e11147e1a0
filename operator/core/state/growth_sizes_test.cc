#include "operator/core/state/growth_sizes.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1alpha1::TrainingJobSpec Growing(int count, int max, int micro_batches) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_workers()->set_count(count);
  spec.mutable_workers()->set_max(max);
  spec.mutable_workers()->set_ranks(1);
  spec.mutable_elastic()->set_policy("Grow");
  spec.mutable_trainer()->mutable_train()->set_global_batch(2 * micro_batches);
  spec.mutable_trainer()->mutable_train()->set_micro_batch(2);
  return spec;
}

TEST(LargerSizesTest, AreThoseThatShortenAStep) {
  EXPECT_THAT(LargerSizes(Growing(2, 8, 8)), ElementsAre(3, 4, 8)) << "busiest rank: 4, 3, 2, 1";
  EXPECT_THAT(LargerSizes(Growing(4, 7, 8)), IsEmpty()) << "the busiest rank keeps two";
}

TEST(LargerSizesTest, CountRanksNotWorkers) {
  v1alpha1::TrainingJobSpec spec = Growing(1, 4, 8);
  spec.mutable_workers()->set_ranks(2);
  EXPECT_THAT(LargerSizes(spec), ElementsAre(2, 4));
}

TEST(LargerSizesTest, ACommandMayHaveEverySizeInWholeSlices) {
  v1alpha1::TrainingJobSpec spec = Growing(2, 6, 1);
  spec.clear_trainer();
  EXPECT_THAT(LargerSizes(spec), ElementsAre(3, 4, 5, 6));
  spec.mutable_topology()->add_slices()->set_workers(2);
  EXPECT_THAT(LargerSizes(spec), ElementsAre(4, 6));
}

TEST(LargerSizesTest, AreMultiplesOfShardAndSlice) {
  v1alpha1::TrainingJobSpec spec = Growing(2, 8, 64);
  spec.mutable_trainer()->mutable_parallelism()->set_zero(1);
  spec.mutable_trainer()->mutable_parallelism()->set_shard(2);
  EXPECT_THAT(LargerSizes(spec), ElementsAre(4, 6, 8));
  spec.mutable_topology()->add_slices()->set_workers(4);
  EXPECT_THAT(LargerSizes(spec), ElementsAre(4, 8));
}

TEST(LargerSizesTest, OnlyAJobWhosePolicyIsGrowHasAny) {
  v1alpha1::TrainingJobSpec spec = Growing(2, 8, 8);
  spec.mutable_elastic()->set_policy("Fixed");
  EXPECT_THAT(LargerSizes(spec), IsEmpty());
  spec.mutable_elastic()->clear_policy();
  EXPECT_THAT(LargerSizes(spec), IsEmpty());
}

TEST(GrantedSizeTest, IsASizeThatTheSpecStillAllows) {
  v1alpha1::TrainingJobStatus status;
  EXPECT_EQ(GrantedSize(Growing(2, 8, 8), status), 0);
  status.mutable_elastic()->set_workers(8);
  EXPECT_EQ(GrantedSize(Growing(2, 8, 8), status), 8);
  EXPECT_EQ(GrantedSize(Growing(2, 7, 8), status), 4) << "workers.max was lowered";
  EXPECT_EQ(GrantedSize(Growing(8, 8, 8), status), 0) << "workers.count was raised";
}

TEST(OfferedSizesTest, AreThoseThatItHasAndThoseThatItWants) {
  v1alpha1::TrainingJobStatus status;
  const std::vector<int> larger = {3, 4, 8, 16};
  EXPECT_THAT(OfferedSizes(larger, status), IsEmpty());
  status.mutable_elastic()->set_workers(3);
  EXPECT_THAT(OfferedSizes(larger, status), ElementsAre(3));
  status.mutable_elastic()->set_least(8);
  status.mutable_elastic()->set_wanted(8);
  EXPECT_THAT(OfferedSizes(larger, status), ElementsAre(3, 8));
}

}  // namespace
}  // namespace muster::control
