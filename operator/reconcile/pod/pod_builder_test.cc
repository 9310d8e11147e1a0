#include "operator/reconcile/pod/pod_builder.h"

#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"

namespace muster::control {
namespace {

using testing::HasSubstr;

TrainingJob Job(const std::string& template_json, bool trainer) {
  TrainingJob job;
  job.ns = "team";
  job.name = "gpt";
  job.uid = "job-uid";
  if (!template_json.empty()) job.spec.mutable_template_()->set_raw(template_json);
  if (trainer) job.spec.mutable_trainer();
  return job;
}

CreatePod Create() {
  CreatePod create;
  create.name = "gpt-1-3";
  create.index = 1;
  create.incarnation = 3;
  create.ranks = 2;
  create.labels = {{"muster.dev/job", "gpt"}, {"muster.dev/index", "1"}};
  create.env = {{"MUSTER_JOB", "gpt"}, {"MUSTER_RANKS", "2"}};
  return create;
}

const PodBuilderOptions kOptions{"unix:/run/c.sock", "muster-agent"};

std::string EnvOf(const Json& container, const std::string& name) {
  std::string value = "absent";
  for (const Json& entry : container["env"]) {
    if (kube::StringAt(entry, {"name"}) != name) continue;
    EXPECT_EQ(value, "absent") << name << " is set twice";
    value = kube::StringAt(entry, {"value"});
  }
  return value;
}

TEST(PodBuilderTest, MakesAWorkerFromNothing) {
  const auto pod = BuildPod(Job("", true), Create(), kOptions);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(kube::NameOf(*pod), "gpt-1-3");
  EXPECT_EQ(kube::NamespaceOf(*pod), "team");
  EXPECT_EQ(kube::ControllerOf(*pod)->uid, "job-uid");
  EXPECT_EQ((*pod)["spec"]["restartPolicy"], "Never");
  EXPECT_EQ((*pod)["spec"]["schedulerName"], "muster");
  const Json& worker = (*pod)["spec"]["containers"][0];
  EXPECT_EQ(worker["image"], "muster-agent");
  EXPECT_EQ(worker["command"], (Json{"muster-agent", "worker"}));
  EXPECT_EQ(EnvOf(worker, "MUSTER_COORDINATOR"), "unix:/run/c.sock");
  EXPECT_EQ(EnvOf(worker, "MUSTER_RANKS"), "2");
}

TEST(PodBuilderTest, KeepsTheUsersFieldsAndWinsWhereBothAreSet) {
  const std::string given = R"({
    "metadata": {"labels": {"team": "a", "muster.dev/job": "forged"}, "annotations": {"n": "1"}},
    "spec": {"restartPolicy": "Always", "nodeName": "pinned", "volumes": [{"name": "data"}],
      "containers": [
        {"name": "sidecar", "image": "log"},
        {"name": "worker", "image": "mine", "command": ["x"], "args": ["y"],
         "resources": {"requests": {"cpu": "2"}}, "volumeMounts": [{"name": "data"}],
         "env": [{"name": "GREETING", "value": "hi"}, {"name": "MUSTER_JOB", "value": "forged"}]}
      ]}})";
  const auto pod = BuildPod(Job(given, true), Create(), kOptions);
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_EQ(kube::LabelOf(*pod, "team"), "a");
  EXPECT_EQ(kube::LabelOf(*pod, "muster.dev/job"), "gpt");
  EXPECT_EQ(kube::AnnotationOf(*pod, "n"), "1");
  const Json& spec = (*pod)["spec"];
  EXPECT_EQ(spec["restartPolicy"], "Never");
  EXPECT_FALSE(spec.contains("nodeName"));
  EXPECT_EQ(spec["volumes"][0]["name"], "data");
  EXPECT_EQ(spec["containers"][0]["image"], "log");
  const Json& worker = spec["containers"][1];
  EXPECT_EQ(worker["image"], "muster-agent");
  EXPECT_FALSE(worker.contains("args"));
  EXPECT_EQ(worker["resources"]["requests"]["cpu"], "2");
  EXPECT_EQ(worker["volumeMounts"][0]["name"], "data");
  EXPECT_EQ(EnvOf(worker, "GREETING"), "hi");
  EXPECT_EQ(EnvOf(worker, "MUSTER_JOB"), "gpt");
}

TEST(PodBuilderTest, AJobOfItsOwnProgramKeepsItsImage) {
  const auto pod = BuildPod(
      Job(R"({"spec": {"containers": [{"name": "worker", "image": "mine", "command": ["x"]}]}})",
          false),
      Create(), kOptions);
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& worker = (*pod)["spec"]["containers"][0];
  EXPECT_EQ(worker["image"], "mine");
  EXPECT_EQ(worker["command"], (Json{"muster-agent", "worker"}));
}

TEST(PodBuilderTest, AnImageOfTheUsersGetsTheAgentFromAnInitContainer) {
  PodBuilderOptions options = kOptions;
  options.agent_image = "muster/agent:1";
  const auto own = BuildPod(Job(R"({"spec": {
      "initContainers": [{"name": "fetch"}, {"name": "muster-agent", "image": "other"}],
      "containers": [{"name": "worker", "image": "mine", "command": ["x"]}]}})",
                                false),
                            Create(), options);
  ASSERT_TRUE(own.ok()) << own.status();
  const Json& spec = (*own)["spec"];
  ASSERT_EQ(spec["initContainers"].size(), 2u);
  const Json& installer = spec["initContainers"][0];
  EXPECT_EQ(installer["image"], "muster/agent:1");
  EXPECT_EQ(installer["command"], (Json{"muster-agent", "install", "/var/lib/muster"}));
  EXPECT_EQ(installer["volumeMounts"][0]["mountPath"], "/var/lib/muster");
  EXPECT_EQ(installer["securityContext"]["capabilities"]["drop"], Json{"ALL"});
  EXPECT_EQ(spec["initContainers"][1]["name"], "fetch");
  const Json& worker = spec["containers"][0];
  EXPECT_EQ(worker["image"], "mine");
  EXPECT_EQ(worker["command"], (Json{"/var/lib/muster/muster-agent", "worker"}));
  EXPECT_EQ(worker["volumeMounts"][0]["name"], "muster-agent");
  EXPECT_EQ(worker["volumeMounts"][0]["readOnly"], true);
  EXPECT_EQ(spec["volumes"][0]["emptyDir"]["sizeLimit"], "128Mi");
  // Our own image has the agent.
  const auto ours = BuildPod(Job("", true), Create(), options);
  ASSERT_TRUE(ours.ok()) << ours.status();
  EXPECT_FALSE((*ours)["spec"].contains("initContainers"));
  EXPECT_EQ((*ours)["spec"]["containers"][0]["command"], (Json{"muster-agent", "worker"}));
}

// Otherwise another scheduler may evict an urgent job's workers for any pod of its own.
TEST(PodBuilderTest, TheJobsPriorityClassIsItsPodsWhereItExists) {
  TrainingJob job = Job("", true);
  job.spec.set_priority_class_name("urgent");
  PodBuilderOptions options = kOptions;
  EXPECT_FALSE((*BuildPod(job, Create(), options))["spec"].contains("priorityClassName"));
  options.has_priority_class = [](const std::string& name) { return name == "urgent"; };
  EXPECT_EQ((*BuildPod(job, Create(), options))["spec"]["priorityClassName"], "urgent");
  job.spec.set_priority_class_name("no-such");
  EXPECT_FALSE((*BuildPod(job, Create(), options))["spec"].contains("priorityClassName"));
  job = Job(R"({"spec": {"priorityClassName": "own"}})", true);
  job.spec.set_priority_class_name("urgent");
  EXPECT_EQ((*BuildPod(job, Create(), options))["spec"]["priorityClassName"], "own");
}

TEST(PodBuilderTest, OnAClusterThePodGetsATokenToAuthenticateWith) {
  PodBuilderOptions options = kOptions;
  options.coordinator = "10.0.0.1:7443,10.0.0.2:7443";
  options.coordinator_ca = "pem";
  options.coordinator_silence = "7.5s";
  const std::string given = R"({"spec": {"volumes": [{"name": "data"},
      {"name": "muster-coordinator-token", "hostPath": {"path": "/forged"}}],
      "containers": [{"name": "log"}, {"name": "worker"}]}})";
  const auto pod = BuildPod(Job(given, true), Create(), options);
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& spec = (*pod)["spec"];
  const Json& worker = spec["containers"][1];
  EXPECT_EQ(EnvOf(worker, "MUSTER_COORDINATOR"), "10.0.0.1:7443,10.0.0.2:7443");
  EXPECT_EQ(EnvOf(worker, "MUSTER_COORDINATOR_CA"), "pem");
  EXPECT_EQ(EnvOf(worker, "MUSTER_COORDINATOR_SILENCE"), "7.5s");
  EXPECT_EQ(EnvOf(worker, "MUSTER_COORDINATOR_TOKEN"),
            "/var/run/secrets/muster.dev/coordinator/token");
  ASSERT_EQ(spec["volumes"].size(), 2u);
  EXPECT_EQ(
      spec["volumes"][1]["projected"]["sources"][0]["serviceAccountToken"],
      (Json{
          {"audience", "muster.dev/coordinator"}, {"expirationSeconds", 3600}, {"path", "token"}}));
  EXPECT_EQ(worker["volumeMounts"],
            (Json::array({{{"name", "muster-coordinator-token"},
                           {"mountPath", "/var/run/secrets/muster.dev/coordinator"},
                           {"readOnly", true}}})));
  EXPECT_FALSE(spec["containers"][0].contains("volumeMounts"));
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
}

TEST(PodBuilderTest, OnOneMachineThereIsNoTokenAndTheTemplatesChoiceCounts) {
  const auto local = BuildPod(Job("", true), Create(), kOptions);
  EXPECT_FALSE((*local)["spec"].contains("volumes"));
  EXPECT_FALSE((*local)["spec"].contains("automountServiceAccountToken"));
  EXPECT_EQ(EnvOf((*local)["spec"]["containers"][0], "MUSTER_COORDINATOR_TOKEN"), "absent");
  PodBuilderOptions options = kOptions;
  options.coordinator_ca = "pem";
  const auto wished =
      BuildPod(Job(R"({"spec": {"automountServiceAccountToken": true}})", true), Create(), options);
  EXPECT_EQ((*wished)["spec"]["automountServiceAccountToken"], true);
}

PodBuilderOptions OnACluster() {
  PodBuilderOptions options = kOptions;
  options.containers = true;
  return options;
}

TEST(PodBuilderTest, TheKeysOfAStoreComeFromItsSecret) {
  TrainingJob job = Job("{}", true);
  const auto without = BuildPod(job, Create(), OnACluster());
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->dump().find("AWS_"), std::string::npos);
  job.spec.mutable_checkpoint()->set_uri("s3://bucket/a");
  job.spec.mutable_checkpoint()->mutable_s3()->set_credentials_secret("store-keys");
  const auto pod = BuildPod(job, Create(), OnACluster());
  ASSERT_TRUE(pod.ok()) << pod.status();
  std::map<std::string, Json> keys;
  for (const Json& entry : (*pod)["spec"]["containers"][0]["env"]) {
    if (entry.contains("valueFrom")) keys[entry["name"]] = entry["valueFrom"];
  }
  for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
    EXPECT_EQ(keys[name], (Json{{"secretKeyRef", {{"name", "store-keys"}, {"key", name}}}}));
  }
  EXPECT_EQ(keys["AWS_SESSION_TOKEN"],
            (Json{{"secretKeyRef",
                   {{"name", "store-keys"}, {"key", "AWS_SESSION_TOKEN"}, {"optional", true}}}}));
}

TEST(PodBuilderTest, OnAClusterABuiltInWorkerIsRestrictedAndHasSharedMemoryAndTimeToSave) {
  TrainingJob job = Job(R"({"spec": {"containers": [{"name": "side", "image": "log"}]}})", true);
  job.spec.mutable_checkpoint();
  job.spec.mutable_workers()->set_shared_memory("1Gi");
  const auto pod = BuildPod(job, Create(), OnACluster());
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& spec = (*pod)["spec"];
  EXPECT_EQ(spec["containers"][0], (Json{{"name", "side"}, {"image", "log"}})) << "left alone";
  const Json& worker = spec["containers"][1];
  EXPECT_EQ(worker["securityContext"]["runAsNonRoot"], true);
  EXPECT_EQ(worker["volumeMounts"][0]["mountPath"], "/dev/shm");
  EXPECT_EQ(worker["resources"]["requests"]["memory"], "1Gi");
  EXPECT_EQ(spec["terminationGracePeriodSeconds"], 30);
  EXPECT_EQ(EnvOf(worker, "MUSTER_POD_GRACE"), "30s");
}

TEST(PodBuilderTest, AnImageOfTheUsersKeepsItsSecurityContextAndAccount) {
  const auto pod =
      BuildPod(Job(R"({"spec": {"serviceAccountName": "own", "terminationGracePeriodSeconds": 600,
                       "containers": [{"name": "worker", "image": "mine", "command": ["x"]}]}})",
                   false),
               Create(), OnACluster());
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& spec = (*pod)["spec"];
  EXPECT_FALSE(spec.contains("securityContext"));
  EXPECT_FALSE(spec["containers"][0].contains("securityContext"));
  EXPECT_EQ(spec["serviceAccountName"], "own");
  EXPECT_EQ(EnvOf(spec["containers"][0], "MUSTER_POD_GRACE"), "10m");
}

TEST(PodBuilderTest, SharedMemoryThatTheTemplateHasTooIsRefused) {
  TrainingJob job = Job(R"({"spec": {"containers": [{"name": "worker",
      "volumeMounts": [{"name": "own", "mountPath": "/dev/shm"}]}]}})",
                        true);
  EXPECT_TRUE(BuildPod(job, Create(), OnACluster()).ok());
  job.spec.mutable_workers()->set_shared_memory("1Gi");
  EXPECT_THAT(BuildPod(job, Create(), OnACluster()).status().message(),
              HasSubstr("leave one of them out"));
}

TEST(PodBuilderTest, ImagesArePulledAsTheAdministratorSaysUnlessTheTemplateDoes) {
  PodBuilderOptions options = OnACluster();
  options.agent_image = "muster/agent:1";
  options.worker_pull_policy = "Always";
  options.agent_pull_policy = "Never";
  options.pull_secrets = {"a", "b"};
  const std::string given = R"({"spec": {"imagePullSecrets": [{"name": "b"}, {"name": "own"}],
      "containers": [{"name": "worker", "image": "mine", "command": ["x"]}]}})";
  const Json own = (*BuildPod(Job(given, false), Create(), options))["spec"];
  EXPECT_EQ(own["imagePullSecrets"],
            (Json::array({{{"name", "own"}}, {{"name", "a"}}, {{"name", "b"}}})));
  EXPECT_EQ(own["initContainers"][0]["imagePullPolicy"], "Never");
  EXPECT_FALSE(own["containers"][0].contains("imagePullPolicy")) << "an image of the user's";
  const Json ours = (*BuildPod(Job("", true), Create(), options))["spec"];
  EXPECT_EQ(ours["containers"][0]["imagePullPolicy"], "Always");
  const std::string policy =
      R"({"spec": {"containers": [{"name": "worker", "imagePullPolicy": "Never"}]}})";
  EXPECT_EQ(
      (*BuildPod(Job(policy, true), Create(), options))["spec"]["containers"][0]["imagePullPolicy"],
      "Never");
}

TEST(PodBuilderTest, VariablesOfTheClusterYieldToTheTemplatesAndToMusters) {
  PodBuilderOptions options = OnACluster();
  options.worker_env = {{"NCCL_DEBUG", "INFO"}, {"NCCL_IB_HCA", "mlx5"}, {"MUSTER_JOB", "forged"}};
  const std::string given = R"({"spec": {"containers": [{"name": "worker", "image": "mine",
      "command": ["x"], "env": [{"name": "NCCL_DEBUG", "value": "WARN"}]}]}})";
  const auto pod = BuildPod(Job(given, false), Create(), options);
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& worker = (*pod)["spec"]["containers"][0];
  EXPECT_EQ(EnvOf(worker, "NCCL_DEBUG"), "WARN");
  EXPECT_EQ(EnvOf(worker, "NCCL_IB_HCA"), "mlx5");
  EXPECT_EQ(EnvOf(worker, "MUSTER_JOB"), "gpt");
}

TEST(PodBuilderTest, AsksForRdmaDevices) {
  TrainingJob job =
      Job(R"({"spec": {"containers": [{"name": "worker", "image": "mine", "command": ["x"]}]}})",
          false);
  job.spec.mutable_workers()->mutable_rdma()->add_resources()->set_name("rdma/hca");
  job.spec.mutable_workers()->mutable_rdma()->set_ipc_lock(true);
  const auto pod = BuildPod(job, Create(), kOptions);
  ASSERT_TRUE(pod.ok()) << pod.status();
  const Json& worker = (*pod)["spec"]["containers"][0];
  EXPECT_EQ(worker["resources"]["limits"]["rdma/hca"], "1");
  EXPECT_EQ(worker["securityContext"]["capabilities"]["add"], Json{"IPC_LOCK"});
}

TEST(PodBuilderTest, AsksForGpusUnlessTheUserDid) {
  CreatePod create = Create();
  create.gpus = 8;
  auto pod = BuildPod(Job("", true), create, kOptions);
  EXPECT_EQ((*pod)["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], "8");
  pod = BuildPod(Job(R"({"spec": {"containers": [{"name": "worker",
                      "resources": {"limits": {"nvidia.com/gpu": 4}}}]}})",
                     true),
                 create, kOptions);
  EXPECT_EQ((*pod)["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"], 4);
}

TEST(PodBuilderTest, RefusesATemplateThatIsNoObject) {
  const auto pod = BuildPod(Job("[]", true), Create(), kOptions);
  EXPECT_EQ(pod.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(pod.status().message(), HasSubstr("spec.template must be an object"));
}

TEST(PodBuilderTest, AnotherSchedulerIsRefused) {
  const auto pod =
      BuildPod(Job(R"({"spec": {"schedulerName": "volcano"}})", true), Create(), kOptions);
  EXPECT_EQ(pod.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(
      pod.status().message(),
      "spec.template.spec.schedulerName is \"volcano\": leave it out, muster places the pods of "
      "its jobs itself");
  EXPECT_TRUE(
      BuildPod(Job(R"({"spec": {"schedulerName": "muster"}})", true), Create(), kOptions).ok());
}

}  // namespace
}  // namespace muster::control
