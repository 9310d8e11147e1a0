#include "operator/reconcile/pod/pod_shared_memory.h"

#include <string>

#include "base/json_fields.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

v1alpha1::TrainingJobSpec Workers(int gpus, int ranks, const std::string& size = "") {
  v1alpha1::TrainingJobSpec job;
  v1alpha1::WorkersSpec& workers = *job.mutable_workers();
  workers.set_gpus(gpus);
  workers.set_ranks(ranks);
  if (!size.empty()) workers.set_shared_memory(size);
  return job;
}

v1alpha1::TrainingJobSpec WithCopies(v1alpha1::TrainingJobSpec job, const std::string& size) {
  job.mutable_checkpoint()->mutable_memory()->set_size(size);
  return job;
}

struct Made {
  absl::Status status;
  Json spec = Json::object();
  Json worker = Json::object();

  Json Memory(const char* kind) const {
    return ValueField(ObjectField(ObjectField(worker, "resources"), kind), "memory");
  }
};

Made Add(const v1alpha1::TrainingJobSpec& job, const Json& resources = Json()) {
  Made made;
  if (!resources.is_null()) made.worker["resources"] = resources;
  made.status = AddSharedMemory(job, made.spec, made.worker);
  return made;
}

TEST(AddSharedMemoryTest, MountsASizedVolumeOfMemory) {
  const Made made = Add(Workers(0, 1, "2Gi"));
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_EQ(made.spec["volumes"],
            (Json::array({{{"name", "muster-shared-memory"},
                           {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", "2Gi"}}}}})));
  EXPECT_EQ(made.worker["volumeMounts"],
            (Json::array({{{"name", "muster-shared-memory"}, {"mountPath", "/dev/shm"}}})));
}

TEST(AddSharedMemoryTest, TheDefaultGrowsWithTheRanks) {
  const auto size = [](const Made& made) {
    return made.spec["volumes"][0]["emptyDir"]["sizeLimit"].get<std::string>();
  };
  EXPECT_EQ(size(Add(Workers(0, 1))), "64Mi");
  EXPECT_EQ(size(Add(Workers(0, 4))), "256Mi");
  EXPECT_EQ(size(Add(Workers(8, 1))), "8192Mi");
}

// The kubelet charges the volume's files to the container that writes them.
TEST(AddSharedMemoryTest, TheSizeIsAddedToTheRequestAndToTheLimit) {
  const auto workers = Workers(0, 1, "1Gi");
  const Made both =
      Add(workers, {{"requests", {{"memory", "512Mi"}}}, {"limits", {{"memory", "2Gi"}}}});
  EXPECT_EQ(both.Memory("requests"), "1536Mi");
  EXPECT_EQ(both.Memory("limits"), "3Gi");
  const Made limited = Add(workers, {{"limits", {{"memory", 1000}, {"cpu", 2}}}});
  EXPECT_EQ(limited.Memory("limits"), "1073742824");
  EXPECT_EQ(limited.Memory("requests"), Json()) << "the API server takes it from the limit";
  const Made none = Add(workers, {{"requests", {{"cpu", 2}}}});
  EXPECT_EQ(none.Memory("requests"), "1Gi");
  EXPECT_EQ(none.Memory("limits"), Json());
  EXPECT_EQ(Add(workers, {{"requests", {{"memory", "much"}}}}).Memory("requests"), "much")
      << "the API server refuses it by its name";
}

TEST(AddSharedMemoryTest, CopiesOfTheStateHaveRoomBesidesAndCountInTheRequest) {
  const Made made = Add(WithCopies(Workers(0, 1), "1Gi"), {{"requests", {{"memory", "512Mi"}}}});
  ASSERT_TRUE(made.status.ok()) << made.status;
  EXPECT_EQ(made.spec["volumes"][0]["emptyDir"]["sizeLimit"], "1088Mi") << "64Mi are the default";
  EXPECT_EQ(made.Memory("requests"), "1600Mi");
}

TEST(AddSharedMemoryTest, ATemplatesOwnMountStays) {
  Json spec = Json::object();
  Json worker = {{"volumeMounts", Json::array({{{"name", "mine"}, {"mountPath", "/dev/shm/"}}})}};
  const Json before = worker;
  EXPECT_TRUE(AddSharedMemory(Workers(1, 1), spec, worker).ok());
  EXPECT_EQ(worker, before);
  EXPECT_FALSE(spec.contains("volumes"));
  EXPECT_EQ(AddSharedMemory(Workers(1, 1, "1Gi"), spec, worker).message(),
            "spec.workers.sharedMemory is 1Gi, and the template mounts /dev/shm itself: leave one "
            "of them out");
  EXPECT_EQ(AddSharedMemory(WithCopies(Workers(1, 1), "1Gi"), spec, worker).message(),
            "spec.checkpoint.memory keeps copies of the state in /dev/shm, which the template "
            "mounts itself: leave one of them out");
}

}  // namespace
}  // namespace muster::control
