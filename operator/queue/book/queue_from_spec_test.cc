#include "operator/queue/book/queue_from_spec.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace muster::control {
namespace {

v1alpha1::TrainingQueueSpec Spec() {
  v1alpha1::TrainingQueueSpec spec;
  spec.set_parent("all");
  spec.set_weight(2.5);
  v1alpha1::QueueQuota* quota = spec.add_quotas();
  quota->set_resource("cpu");
  quota->set_nominal("1.5");
  quota->set_borrow_limit("500m");
  quota = spec.add_quotas();
  quota->set_resource("memory");
  quota->set_nominal("2Gi");
  quota->set_lend_limit("0");
  v1alpha1::QueueNamespaceLimit* limit = spec.add_namespace_limits();
  limit->set_namespace_("*");
  v1alpha1::QueueAmount* amount = limit->add_limits();
  amount->set_resource("nvidia.com/gpu/H100");
  amount->set_amount("1k");
  spec.mutable_preemption()->set_within_queue("Never");
  spec.mutable_preemption()->set_reclaim("LowerPriority");
  spec.mutable_preemption()->set_min_runtime("1h30m");
  spec.mutable_preemption()->set_shrink_after("0s");
  return spec;
}

TEST(QueueFromSpec, CountsInSmallestUnits) {
  const absl::StatusOr<QueueSpec> queue = QueueFromSpec("q", Spec());
  ASSERT_TRUE(queue.ok()) << queue.status();
  EXPECT_EQ(queue->parent, "all");
  EXPECT_EQ(queue->weight, 2.5);
  ASSERT_EQ(queue->quotas.size(), 2u);
  EXPECT_EQ(queue->quotas[0].nominal, 1500);
  EXPECT_EQ(queue->quotas[0].borrow_limit, 500);
  EXPECT_EQ(queue->quotas[0].lend_limit, std::nullopt);
  EXPECT_EQ(queue->quotas[1].nominal, int64_t{2} << 30);
  EXPECT_EQ(queue->quotas[1].lend_limit, 0);
  ASSERT_EQ(queue->namespace_limits.size(), 1u);
  EXPECT_EQ(queue->namespace_limits[0].limits.at("nvidia.com/gpu/H100"), 1000);
  EXPECT_EQ(queue->preempt_within_queue, PreemptWithinQueue::kNever);
  EXPECT_EQ(queue->reclaim, ReclaimFrom::kLowerPriority);
  EXPECT_EQ(queue->min_runtime, absl::Minutes(90));
  EXPECT_EQ(queue->shrink_after, absl::ZeroDuration()) << "at once, which is not never";
}

TEST(QueueFromSpec, AQueueIsForTheNamespacesThatItNamesOrElseForThoseThatItLimits) {
  v1alpha1::TrainingQueueSpec spec;
  EXPECT_TRUE(QueueFromSpec("q", spec)->namespaces.empty()) << "for all";
  spec.add_namespace_limits()->set_namespace_("research");
  spec.add_namespace_limits()->set_namespace_("product");
  EXPECT_EQ(QueueFromSpec("q", spec)->namespaces,
            (std::vector<std::string>{"research", "product"}));
  spec.add_namespaces("*");
  EXPECT_EQ(QueueFromSpec("q", spec)->namespaces, std::vector<std::string>{"*"});
}

TEST(QueueFromSpec, RefusesTimesThatAreNone) {
  v1alpha1::TrainingQueueSpec spec = Spec();
  spec.mutable_preemption()->set_min_runtime("long");
  EXPECT_EQ(QueueFromSpec("q", spec).status().message(),
            "preemption.minRuntime \"long\" is no duration such as 10m");
  spec.mutable_preemption()->clear_min_runtime();
  EXPECT_EQ(QueueFromSpec("q", spec)->min_runtime, absl::ZeroDuration());
  spec.mutable_preemption()->clear_shrink_after();
  EXPECT_EQ(QueueFromSpec("q", spec)->shrink_after, std::nullopt);
  spec.mutable_preemption()->set_shrink_after("soon");
  EXPECT_EQ(QueueFromSpec("q", spec).status().message(),
            "preemption.shrinkAfter \"soon\" is no duration such as 10m");
}

TEST(QueueFromSpec, RefusesWhatIsNoAmount) {
  for (const char* bad : {"-1", "lots", "", "1e40"}) {
    v1alpha1::TrainingQueueSpec spec = Spec();
    spec.mutable_quotas(0)->set_nominal(bad);
    EXPECT_EQ(QueueFromSpec("q", spec).status().message(),
              "\"" + std::string(bad) + "\" of cpu is no amount");
  }
}

}  // namespace
}  // namespace muster::control
