#include "operator/kube/cache/cache_index.h"

#include <vector>

#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/cache/reflector_fixture.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::kube {
namespace {

TEST_F(ReflectorTest, Indexes) {
  const Json owner = Create("owner", "1");
  Json owned = NewObject(kConfigMaps, {"ns", "owned"});
  SetOwners(owned, {ControllerReferenceTo(kConfigMaps, owner)});
  SetLabel(owned, "job", "x");
  ASSERT_TRUE(api_->Create(kConfigMaps, owned).ok());
  Create("other", "1", {{"job", "y"}});
  Run();
  ASSERT_EQ(cache_.ListByOwner(UidOf(owner)).size(), 1u);
  EXPECT_EQ(cache_.ListByOwner(UidOf(owner))[0]->name, "owned");
  EXPECT_EQ(cache_.ListByLabel("job", "y").size(), 1u);
  EXPECT_EQ(cache_.ListNamespace("ns").size(), 3u);
  EXPECT_TRUE(cache_.ListNamespace("n").empty());
  ASSERT_TRUE(api_->PatchMetadata(kConfigMaps, {"ns", "other"}, {{"labels", {{"job", "x"}}}}).ok());
  Run();
  EXPECT_TRUE(cache_.ListByLabel("job", "y").empty());
  EXPECT_EQ(cache_.ListByLabel("job", "x").size(), 2u);
  ASSERT_TRUE(api_->Delete(kConfigMaps, {"ns", "owner"}).ok());
  Run();
  EXPECT_TRUE(cache_.ListByOwner(UidOf(owner)).empty());
}

TEST(CacheIndexTest, OwnersThatAreNoControllersOrOfAnotherKindAreNotIndexed) {
  Json object = NewObject(kPods, {"ns", "a"});
  SetOwners(object, {{"apps/v1", "ReplicaSet", "r", "u-1", true},
                     {"muster.dev/v1alpha1", "TrainingJob", "j", "u-2"}});
  SetLabel(object, "job", "x");
  EXPECT_EQ(IndexTerms(object, {"job"}, "TrainingJob"), (std::vector<IndexTerm>{{"job", "x"}}));
  EXPECT_EQ(IndexTerms(object, {}, "ReplicaSet"), (std::vector<IndexTerm>{{"", "u-1"}}));
  EXPECT_EQ(IndexTerms(object, {}, ""), (std::vector<IndexTerm>{{"", "u-1"}}));
}

}  // namespace
}  // namespace muster::kube
