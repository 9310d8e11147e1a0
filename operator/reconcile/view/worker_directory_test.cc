#include "operator/reconcile/view/worker_directory.h"

#include <string>

#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/refusals.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

class WorkerDirectoryTest : public testing::Test {
 protected:
  WorkerDirectoryTest() {
    jobs_.Upsert({{"apiVersion", kApiVersion},
                  {"kind", kTrainingJobKind},
                  {"metadata", {{"namespace", "team"}, {"name", "gpt"}, {"uid", "job-uid"}}},
                  {"spec", Json::object()},
                  {"status", {{"incarnations", {1, 3}}}}},
                 1);
    AddPod("gpt-1-3", "1", "3", "job-uid");
  }
  void AddPod(const std::string& name, const std::string& index, const std::string& incarnation,
              const std::string& owner) {
    pods_.Upsert({{"metadata",
                   {{"namespace", "team"},
                    {"name", name},
                    {"uid", name + "-uid"},
                    {"labels",
                     {{"muster.dev/job", "gpt"},
                      {"muster.dev/index", index},
                      {"muster.dev/incarnation", incarnation}}},
                    {"ownerReferences",
                     {{{"apiVersion", kApiVersion},
                       {"kind", kTrainingJobKind},
                       {"name", "gpt"},
                       {"uid", owner},
                       {"controller", true}}}}}}},
                 2);
  }
  absl::StatusOr<PeerIdentity> Find(const std::string& name, const std::string& uid) {
    return FindWorkerOfPod(jobs_, pods_, {"team", name, uid, "default"});
  }

  kube::Cache<TrainingJob> jobs_{ParseTrainingJob};
  kube::Cache<PodRecord> pods_{ParsePodRecord};
};

TEST_F(WorkerDirectoryTest, FindsTheCurrentIncarnation) {
  const auto worker = Find("gpt-1-3", "gpt-1-3-uid");
  ASSERT_TRUE(worker.ok()) << worker.status();
  EXPECT_EQ(*worker, (PeerIdentity{"team", "gpt", "job-uid", 1, 3, "gpt-1-3", "gpt-1-3-uid"}));
}

TEST_F(WorkerDirectoryTest, APodThatTheCachesDoNotKnowYetIsNotRefused) {
  AddPod("gpt-1-4", "1", "4", "job-uid");
  for (const auto& status :
       {Find("gpt-0-1", "x").status(), Find("gpt-1-3", "of an older pod of that name").status(),
        Find("gpt-1-4", "gpt-1-4-uid").status()}) {
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("not known here yet"));
    EXPECT_FALSE(RefusalOf(status).has_value());
  }
}

TEST_F(WorkerDirectoryTest, AnOldIncarnationIsRefused) {
  AddPod("gpt-1-2", "1", "2", "job-uid");
  const absl::Status status = Find("gpt-1-2", "gpt-1-2-uid").status();
  EXPECT_EQ(RefusalOf(status), Refusal::kReplaced);
  EXPECT_THAT(std::string(status.message()), HasSubstr("was replaced by incarnation 3"));
}

TEST_F(WorkerDirectoryTest, ForgedLabelsMakeNoWorker) {
  AddPod("impostor", "1", "3", "job-uid");
  EXPECT_EQ(RefusalOf(Find("impostor", "impostor-uid").status()), Refusal::kNotAWorker);
  AddPod("gpt-0-1", "0", "1", "another-uid");
  EXPECT_EQ(RefusalOf(Find("gpt-0-1", "gpt-0-1-uid").status()), Refusal::kNotAWorker);
  pods_.Upsert({{"metadata", {{"namespace", "team"}, {"name", "web"}, {"uid", "web-uid"}}}}, 3);
  EXPECT_EQ(RefusalOf(Find("web", "web-uid").status()), Refusal::kNotAWorker);
}

}  // namespace
}  // namespace muster::control
