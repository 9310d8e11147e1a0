#include "operator/reconcile/pod/pod_parts.h"

#include <string>
#include <utility>

#include "base/json_fields.h"
#include "gtest/gtest.h"

namespace muster::control {
namespace {

Json TermsOf(const Json& spec) {
  return spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
             ["nodeSelectorTerms"];
}

Json NotOn(const char* node) {
  return {{"key", "metadata.name"}, {"operator", "NotIn"}, {"values", {node}}};
}

TEST(PodAvoidanceTest, APodWithoutAffinityAvoidsTheNode) {
  Json spec = {{"containers", Json::array()}};
  AvoidNode("gpu-3", spec);
  EXPECT_EQ(TermsOf(spec), Json::array({{{"matchFields", Json::array({NotOn("gpu-3")})}}}));
}

TEST(PodAvoidanceTest, EveryTermOfTheTemplateExcludesTheNode) {
  const Json zone = {{"key", "zone"}, {"operator", "In"}, {"values", {"a"}}};
  const Json disk = {{"key", "disk"}, {"operator", "Exists"}};
  Json spec;
  spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
      ["nodeSelectorTerms"] = Json::array({{{"matchExpressions", Json::array({zone})}},
                                           {{"matchExpressions", Json::array({disk})}}});
  spec["affinity"]["podAffinity"] = Json::object();
  AvoidNode("gpu-3", spec);
  const Json avoid = Json::array({NotOn("gpu-3")});
  EXPECT_EQ(TermsOf(spec),
            Json::array({{{"matchExpressions", Json::array({zone})}, {"matchFields", avoid}},
                         {{"matchExpressions", Json::array({disk})}, {"matchFields", avoid}}}));
  EXPECT_TRUE(spec["affinity"].contains("podAffinity"));
}

const Json kAzure = {{"key", "kubernetes.azure.com/scalesetpriority"},
                     {"operator", "Equal"},
                     {"value", "spot"},
                     {"effect", "NoSchedule"}};
const Json kGoogle = {{"key", "cloud.google.com/gke-spot"},
                      {"operator", "Equal"},
                      {"value", "true"},
                      {"effect", "NoSchedule"}};

Json Pod() { return {{"metadata", {{"name", "p"}}}, {"spec", Json::object()}}; }

TEST(PodSpotTest, AJobWithoutSpotIsLeftAsItIs) {
  Json pod = Pod();
  AddSpot({}, pod);
  EXPECT_EQ(pod, Pod());
}

TEST(PodSpotTest, AJobThatAllowsSpotNodesToleratesTheTaintsOfTheClouds) {
  v1alpha1::TrainingJobSpec job;
  job.mutable_spot();
  Json pod = Pod();
  AddSpot(job, pod);
  EXPECT_EQ(pod["spec"]["tolerations"], Json::array({kAzure, kGoogle}));
  EXPECT_EQ(pod["metadata"], Pod()["metadata"]);
}

TEST(PodSpotTest, ATolerationOfTheTemplateIsLeftAsItIs) {
  v1alpha1::TrainingJobSpec job;
  job.mutable_spot()->set_allow(true);
  Json pod = Pod();
  const Json own = {{"key", "cloud.google.com/gke-spot"}, {"operator", "Exists"}};
  pod["spec"]["tolerations"] = Json::array({own});
  AddSpot(job, pod);
  EXPECT_EQ(pod["spec"]["tolerations"], Json::array({own, kAzure}));
}

TEST(PodSpotTest, AJobThatAllowsNoneHasTheLabelAndNoToleration) {
  v1alpha1::TrainingJobSpec job;
  job.mutable_spot()->set_allow(false);
  Json pod = Pod();
  AddSpot(job, pod);
  EXPECT_EQ(pod["metadata"]["labels"], Json({{"muster.dev/spot", "avoid"}}));
  EXPECT_FALSE(pod["spec"].contains("tolerations"));
}

v1alpha1::RdmaSpec Rdma(bool ipc_lock) {
  v1alpha1::RdmaSpec rdma;
  rdma.add_resources()->set_name("rdma/hca");
  v1alpha1::RdmaResource& efa = *rdma.add_resources();
  efa.set_name("vpc.amazonaws.com/efa");
  efa.set_count(4);
  rdma.set_ipc_lock(ipc_lock);
  return rdma;
}

TEST(AddRdmaTest, AsksForEachDeviceUnlessTheTemplateDoes) {
  Json worker = {{"resources", {{"limits", {{"rdma/hca", 2}}}}}};
  AddRdma(Rdma(false), worker);
  EXPECT_EQ(worker["resources"]["limits"], (Json{{"rdma/hca", 2}, {"vpc.amazonaws.com/efa", "4"}}));
  EXPECT_FALSE(worker.contains("securityContext")) << "memory is locked only on request";
}

TEST(AddRdmaTest, LocksMemoryOnRequestBesideTheTemplatesCapabilities) {
  Json worker = {
      {"securityContext", {{"runAsUser", 0}, {"capabilities", {{"add", {"SYS_PTRACE"}}}}}}};
  for (int times = 0; times < 2; ++times) AddRdma(Rdma(true), worker);
  EXPECT_EQ(worker["securityContext"],
            (Json{{"runAsUser", 0}, {"capabilities", {{"add", {"SYS_PTRACE", "IPC_LOCK"}}}}}));
}

TEST(AddGpusTest, AsksForWholeGpusUnlessTheTemplateAsksForOthers) {
  Json spec = Json::object();
  Json worker = Json::object();
  AddGpus(spec, worker, 4);
  EXPECT_EQ(worker["resources"]["limits"], (Json{{"nvidia.com/gpu", "4"}}));
  EXPECT_EQ(spec["tolerations"],
            Json::parse(R"([{"key": "nvidia.com/gpu", "operator": "Exists"}])"));
  for (const char* other : {"nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "amd.com/gpu"}) {
    worker = {{"resources", {{"limits", {{other, "2"}, {"cpu", "1"}}}}}};
    const Json before = worker;
    AddGpus(spec, worker, 2);
    EXPECT_EQ(worker, before) << other;
  }
  worker = {{"resources", {{"limits", {{"cpu", "1"}}}}}};
  AddGpus(spec, worker, 2);
  EXPECT_EQ(worker["resources"]["limits"]["nvidia.com/gpu"], "2");
}

TEST(AddRdmaTest, WithoutDevicesNothingChanges) {
  Json worker = Json::object();
  AddRdma({}, worker);
  EXPECT_EQ(worker, Json::object());
}

TEST(AddGpusTest, AsksForThemAndToleratesTheirTaint) {
  Json spec = Json::object();
  Json worker = Json::object();
  AddGpus(spec, worker, 8);
  EXPECT_EQ(worker["resources"]["limits"]["nvidia.com/gpu"], "8");
  EXPECT_EQ(spec["tolerations"],
            (Json::array({{{"key", "nvidia.com/gpu"}, {"operator", "Exists"}}})));
}

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

v1alpha1::TrainingJobSpec Trainer(const std::string& preset) {
  v1alpha1::TrainingJobSpec spec;
  spec.mutable_checkpoint()->set_uri("/checkpoints");
  spec.mutable_trainer()->mutable_model()->set_preset(preset);
  spec.mutable_trainer()->mutable_train()->set_precision("fp32");
  spec.mutable_trainer()->mutable_optimizer()->set_name("adamw");
  return spec;
}

TEST(TerminationGraceTest, GrowsWithTheCheckpoint) {
  EXPECT_EQ(TerminationGrace(Trainer("gpt2-nano")), absl::Seconds(30));
  // 124 million parameters of 4 bytes, and two moments: 1.5 GB at 100 MB/s.
  EXPECT_EQ(TerminationGrace(Trainer("gpt2-124m")), absl::Seconds(44));
  EXPECT_EQ(TerminationGrace(Trainer("gpt2-1558m")), absl::Seconds(216));
  v1alpha1::TrainingJobSpec huge = Trainer("gpt2-1558m");
  huge.mutable_trainer()->mutable_model()->set_layers(1000);
  EXPECT_EQ(TerminationGrace(huge), absl::Minutes(30));
}

TEST(TerminationGraceTest, WhoSavesNothingHasTheUsualTime) {
  v1alpha1::TrainingJobSpec spec = Trainer("gpt2-1558m");
  spec.clear_checkpoint();
  EXPECT_EQ(TerminationGrace(spec), absl::Seconds(30));
  EXPECT_EQ(TerminationGrace({}), absl::Seconds(30)) << "a command's template says more";
}

TEST(SetTerminationGraceTest, TheTemplatesOwnCounts) {
  Json spec = Json::object();
  EXPECT_EQ(SetTerminationGrace(Trainer("gpt2-124m"), spec), absl::Seconds(44));
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 44);
  spec["terminationGracePeriodSeconds"] = 600;
  EXPECT_EQ(SetTerminationGrace(Trainer("gpt2-124m"), spec), absl::Minutes(10));
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 600);
}

// Returns the pod's and the worker's security context.
Json Restricted(Json pod_context, Json own) {
  Json spec = {{"securityContext", std::move(pod_context)}};
  Json worker = {{"name", "worker"}, {"securityContext", std::move(own)}};
  RestrictWorker(spec, worker);
  return {{"pod", spec["securityContext"]}, {"worker", worker["securityContext"]}};
}

const Json kNone = Json::object();

TEST(RestrictWorkerTest, ATemplateThatSaysNothingIsRestricted) {
  Json spec;
  Json worker = Json::object();
  RestrictWorker(spec, worker);
  EXPECT_EQ(worker["securityContext"], (Json{{"allowPrivilegeEscalation", false},
                                             {"capabilities", {{"drop", {"ALL"}}}},
                                             {"runAsNonRoot", true},
                                             {"runAsUser", 65532},
                                             {"seccompProfile", {{"type", "RuntimeDefault"}}}}));
  EXPECT_EQ(spec["securityContext"],
            (Json{{"fsGroup", 65532}, {"fsGroupChangePolicy", "OnRootMismatch"}}))
      << "nothing that would hold for the template's other containers";
}

TEST(RestrictWorkerTest, FieldsOfTheContainerStayAndTheRestIsFilledIn) {
  const Json made = Restricted(kNone, {{"runAsUser", 1000},
                                       {"capabilities", {{"add", {"NET_BIND_SERVICE"}}}},
                                       {"seccompProfile", {{"type", "Unconfined"}}}});
  EXPECT_EQ(made["worker"],
            (Json{{"allowPrivilegeEscalation", false},
                  {"capabilities", {{"add", {"NET_BIND_SERVICE"}}, {"drop", {"ALL"}}}},
                  {"runAsNonRoot", true},
                  {"runAsUser", 1000},
                  {"seccompProfile", {{"type", "Unconfined"}}}}));
}

TEST(RestrictWorkerTest, FieldsOfThePodAreTheWorkersAndStay) {
  const Json given = {{"runAsUser", 1000},
                      {"runAsNonRoot", false},
                      {"fsGroup", 7},
                      {"seccompProfile", {{"type", "Localhost"}}}};
  const Json made = Restricted(given, kNone);
  EXPECT_EQ(made["pod"], given);
  EXPECT_EQ(made["worker"],
            (Json{{"allowPrivilegeEscalation", false}, {"capabilities", {{"drop", {"ALL"}}}}}));
}

// A kubelet starts no container whose user is root and must not be.
TEST(RestrictWorkerTest, ATemplateMayRunTheWorkerAsRoot) {
  for (const bool of_pod : {true, false}) {
    const Json root = {{"runAsUser", 0}};
    const Json made = Restricted(of_pod ? root : kNone, of_pod ? kNone : root);
    EXPECT_FALSE(made["worker"].contains("runAsNonRoot")) << of_pod;
    EXPECT_FALSE(made["pod"].contains("runAsNonRoot")) << of_pod;
    EXPECT_EQ(made[of_pod ? "pod" : "worker"]["runAsUser"], 0);
  }
}

// The API server refuses the contradiction.
TEST(RestrictWorkerTest, AWorkerThatMayEscalateIsNotForbiddenTo) {
  for (const Json& own :
       {Json{{"privileged", true}}, Json{{"capabilities", {{"add", {"SYS_ADMIN"}}}}}}) {
    EXPECT_FALSE(Restricted(kNone, own)["worker"].contains("allowPrivilegeEscalation")) << own;
  }
}

TEST(RestrictWorkerTest, AContextOfAnotherTypeIsReplaced) {
  const Json made = Restricted("forged", Json::array());
  EXPECT_EQ(made["worker"]["runAsNonRoot"], true);
  EXPECT_EQ(made["pod"]["fsGroup"], 65532);
}

}  // namespace
}  // namespace muster::control
