#include "operator/scheduler/queue_sync/queue_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/api/training_queue.h"
#include "operator/kube/queue_resources.h"
#include "operator/objects/verdicts.h"
#include "operator/queue/book/queue_book.h"
#include "operator/queue/book/queue_from_spec.h"
#include "operator/scheduler/queue_sync/queue_report.h"

namespace muster::control {
namespace {

using testing::Contains;
using testing::Property;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

TrainingQueue QueueWith(const Json& spec) {
  const auto queue =
      ParseTrainingQueue({{"apiVersion", kube::kTrainingQueues.ApiVersion()},
                          {"kind", kTrainingQueueKind},
                          {"metadata", {{"name", "research"}, {"uid", "u"}, {"generation", 3}}},
                          {"spec", spec}});
  EXPECT_TRUE(queue.ok()) << queue.status();
  return queue.value_or(TrainingQueue{});
}

QueueReport ReportOf(const TrainingQueue& queue, const Amounts& capacity) {
  QueueBook book;
  book.SetQueues(kNow, {QueueFromSpec(queue.name, queue.spec).value()});
  book.SetCapacity(capacity);
  return ReportQueues(kNow, book, Verdicts(nullptr), 0).back();  // "default" is there, too
}

TEST(QueueStatusTest, AResourceThatNoNodeHasIsReported) {
  const TrainingQueue queue = QueueWith({{"quotas",
                                          {{{"resource", "nvidia.com/gpuu"}, {"nominal", "8"}},
                                           {{"resource", "cpu"}, {"nominal", "8"}}}}});
  const v1alpha1::TrainingQueueStatus status =
      QueueStatusOf(kNow, queue, ReportOf(queue, {{"cpu", 64000}, {"nvidia.com/gpu", 8}}));
  const v1alpha1::Condition& active = status.conditions(0);
  EXPECT_EQ(active.status(), "True");
  EXPECT_EQ(active.reason(), "NoSuchResource");
  EXPECT_EQ(active.message(),
            "jobs of the queue may start; no node has nvidia.com/gpuu, so that limits nothing; "
            "nodes have cpu, nvidia.com/gpu");
}

TEST(QueueStatusTest, ResourcesAreNotReportedBeforeThereAreNodes) {
  const TrainingQueue queue =
      QueueWith({{"quotas", {{{"resource", "nvidia.com/gpu"}, {"nominal", "8"}}}}});
  EXPECT_EQ(QueueStatusOf(kNow, queue, ReportOf(queue, {})).conditions(0).reason(), "Ready");
}

TEST(QueueStatusTest, ALimitOfANamespaceIsLookedAtToo) {
  const TrainingQueue queue =
      QueueWith({{"namespaceLimits",
                  {{{"namespace", "*"},
                    {"limits", {{{"resource", "nvidia.com/gpu/H100"}, {"amount", "8"}}}}}}}});
  const QueueReport report = ReportOf(queue, {{"nvidia.com/gpu/NVIDIA-H100-80GB-HBM3", 8}});
  EXPECT_THAT(report.unknown, testing::ElementsAre("nvidia.com/gpu/H100"));
}

// The CRD refuses a status with more resources, and then none would ever be written.
TEST(QueueStatusTest, NoMoreResourcesThanTheDefinitionHasRoomFor) {
  const TrainingQueue queue =
      QueueWith({{"quotas", {{{"resource", "zz.example/last"}, {"nominal", "8"}}}}});
  QueueReport report;
  report.queue.used["zz.example/last"] = 1;
  for (int i = 0; i < 100; ++i) {
    report.queue.used[absl::StrCat("a.example/", i)] = 1;
    report.queue.past[absl::StrCat("b.example/", i)] = 1;
  }
  const v1alpha1::TrainingQueueStatus status = QueueStatusOf(kNow, queue, report);
  EXPECT_EQ(status.used_size(), 64);
  EXPECT_LE(status.past_size(), 64);
  EXPECT_THAT(status.used(),
              Contains(Property(&v1alpha1::QueueAmount::resource, "zz.example/last")));
}

}  // namespace
}  // namespace muster::control
