#include "operator/api/schema.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "proto/muster/v1alpha1/training_job.pb.h"

namespace muster::control {
namespace {

TEST(Nearest, FindsSlipsAndIgnoresTheRest) {
  const std::vector<std::string> names = {"count", "min", "max", "globalBatch", "onRankFailure"};
  EXPECT_EQ(Nearest("cuont", names), "count");
  EXPECT_EQ(Nearest("Count", names), "count");
  EXPECT_EQ(Nearest("counts", names), "count");
  EXPECT_EQ(Nearest("mim", names), "min");
  EXPECT_EQ(Nearest("global_batch", names), "globalBatch");
  EXPECT_EQ(Nearest("onRankFail", names), "onRankFailure");
  EXPECT_EQ(Nearest("gpuMemory", names), "");
  EXPECT_EQ(Nearest("xyz", names), "");
  EXPECT_EQ(Nearest("", names), "");
  EXPECT_EQ(Nearest(std::string(10'000, 'c'), names), "");
}

TEST(Describe, NamesValues) {
  EXPECT_EQ(Describe(Json("x\ny")), "the string \"x\\ny\"");
  EXPECT_EQ(Describe(Json(2.5)), "2.5");
  EXPECT_EQ(Describe(Json(true)), "true");
  EXPECT_EQ(Describe(Json::array({1})), "a list");
  EXPECT_EQ(Describe(Json::object()), "an object");
  EXPECT_EQ(Describe(Json(std::string(100, 'x'))), "the string \"" + std::string(59, 'x') + "...");
}

TEST(JoinOr, ReadsLikeASentence) {
  EXPECT_EQ(JoinOr({}), "");
  EXPECT_EQ(JoinOr({"a"}), "a");
  EXPECT_EQ(JoinOr({"a", "b", "c"}), "a, b or c");
}

TEST(IsPositiveDuration, AgreesWithThePattern) {
  for (const char* good : {"1s", "90s", "1h30m", "1.5h", "50ms", "0h1ms", "10m5s500ms"}) {
    EXPECT_TRUE(IsPositiveDuration(good)) << good;
  }
  for (const char* bad : {"", "0s", "0h0m", "5", "s", "-1s", "+1s", "1d", "1.s", ".5s", "1 s",
                          "1us", "inf", "1m30", "99999999999999999999h"}) {
    EXPECT_FALSE(IsPositiveDuration(bad)) << bad;
  }
}

TEST(SchemaOf, ReadsOptions) {
  const auto& workers = *v1alpha1::WorkersSpec::descriptor();
  EXPECT_EQ(SchemaOf(*workers.FindFieldByName("count")).default_(), "1");
  EXPECT_EQ(SchemaOf(workers).rules_size(), 4);
  EXPECT_TRUE(IsRaw(*v1alpha1::PodTemplate::descriptor()));
  EXPECT_FALSE(IsRaw(workers));
  EXPECT_EQ(FieldNames(workers), (std::vector<std::string>{"count", "min", "max", "gpus", "ranks",
                                                           "rdma", "sharedMemory", "spares"}));
}

}  // namespace
}  // namespace muster::control
