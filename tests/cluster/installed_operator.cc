#include "tests/cluster/installed_operator.h"

#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/files/files.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/testenv/page_blocks.h"

namespace muster::tests {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(8);
constexpr absl::Duration kLookAgain = absl::Milliseconds(100);

std::unique_ptr<InstalledOperator>& Instance() {
  static auto& instance = *new std::unique_ptr<InstalledOperator>();
  return instance;
}

// No test can run without what is prepared here.
void EndUnlessOk(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

// Removes the operator while the control plane still runs.
class Removal : public testing::Environment {
 public:
  void TearDown() override { Instance().reset(); }
};

[[maybe_unused]] const auto* const kRemoval = testing::AddGlobalTestEnvironment(new Removal);

}  // namespace

InstalledOperator& InstalledOperator::Get() {
  std::unique_ptr<InstalledOperator>& instance = Instance();
  if (instance == nullptr) instance.reset(new InstalledOperator());
  return *instance;
}

InstalledOperator::InstalledOperator() {
  auto cluster = TestCluster::Create("jobs");
  EndUnlessOk(cluster.status());
  cluster_ = *std::move(cluster);
  shell_.emplace(*cluster_, "jobs", kPatience);
  LinkPlugin();
  ImportImages();
  Install();
  MakeVolume();
  Kubectl(absl::StrCat("create configmap text --from-file=text.txt=", DataPath("docs/install.md")));
  AwaitOperator();
}

InstalledOperator::~InstalledOperator() = default;

void InstalledOperator::ImportImages() {
  shell_->Run(absl::StrCat(DataPath("tools/images"), " --bin=", DataPath(""),
                           " --out=images --tag=test --repository=muster.test"));
  for (const char* image : {"operator", "agent", "trainer"}) ImportImage(image);
}

void InstalledOperator::ImportImage(const std::string& name) {
  EndUnlessOk(
      cluster_->ImportImage("all", absl::StrCat(shell_->folder(), "/images/", name, ".tar")));
}

void InstalledOperator::ImportOwnImage(const std::string& name) {
  const std::string archive = absl::StrCat(shell_->folder(), "/", name, ".tar");
  shell_->Run(absl::StrCat(DataPath("tests/cluster/own_images.py"), " ", name, " ", archive));
  const absl::Status imported = cluster_->ImportImage("all", archive);
  EXPECT_TRUE(imported.ok()) << imported;
  shell_->Run(absl::StrCat("rm ", archive));
}

// kubectl finds a plugin in PATH.
void InstalledOperator::LinkPlugin() {
  const std::string folder = absl::StrCat(shell_->folder(), "/plugins");
  shell_->Run(absl::StrCat("mkdir ", folder, " && ln -s ", DataPath("cli/kubectl/kubectl-muster"),
                           " ", folder));
  setenv("PATH", absl::StrCat(folder, ":", std::getenv("PATH")).c_str(), 1);
}

// Installs as docs/install.md says, under the images' names here.
void InstalledOperator::Install() {
  shell_->CopyCharts();
  const auto page = ReadFile(FileSystem(), DataPath("docs/install.md"));
  EndUnlessOk(page.status());
  const std::string values = absl::StrReplaceAll(
      BlockAfter(*page, "values"),
      {{"registry.example.com/muster", "muster.test"}, {"tag: v1", "tag: test"}});
  EndUnlessOk(WriteFileAtomically(FileSystem(), absl::StrCat(shell_->folder(), "/values.yaml"),
                                  values + "resources: {requests: {cpu: 10m, memory: 64Mi}}\n"));
  shell_->Run(BlockAfter(*page, "run: install"));
}

void InstalledOperator::MakeVolume() {
  shared_folder_ = absl::StrCat(std::getenv("MUSTER_TESTENV_FOLDER"), "/shared");
  shell_->Run(absl::StrCat("mkdir ", shared_folder_, " && chmod 0777 ", shared_folder_));
  ApplyYaml(absl::StrCat(R"(
apiVersion: v1
kind: PersistentVolume
metadata: {name: )",
                         cluster_->Unique("checkpoints"), R"(}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteMany]
  storageClassName: shared
  hostPath: {path: )",
                         shared_folder_, R"(}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: checkpoints, namespace: )",
                         cluster_->name_space(), R"(}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: shared
  resources: {requests: {storage: 1Gi}}
)"));
}

std::string InstalledOperator::InNamespace(const std::string& words) const {
  return absl::StrCat("kubectl --namespace=", cluster_->name_space(), " ", words);
}

std::string InstalledOperator::OnNode(const std::string& node, const std::string& command) {
  const auto done = cluster_->OnNode(node, {"sh", "-euc", command});
  EXPECT_TRUE(done.ok()) << done.status();
  if (!done.ok()) return "";
  EXPECT_TRUE(done->ok()) << command << "\n" << done->out << done->err;
  return done->out;
}

void InstalledOperator::ApplyYaml(const std::string& yaml) {
  const absl::Status applied = cluster_->Apply(yaml);
  ASSERT_TRUE(applied.ok()) << applied << "\n" << yaml;
}

void InstalledOperator::Apply(const TrainerJob& job) {
  ApplyYaml(absl::StrCat(
      R"(
apiVersion: muster.dev/v1alpha1
kind: TrainingJob
metadata: {name: )",
      job.name, ", namespace: ", cluster_->name_space(), R"(}
spec:
  workers: {count: )",
      job.workers, job.elastic_size, R"(}
  trainer:
    model: {preset: gpt2-nano}
    data: {uri: /data/text.txt, tokenizer: {kind: Byte}}
    train: {steps: )",
      job.steps, ", globalBatch: ", job.global_batch,
      R"(, microBatch: 2, sequence: 64, seed: 7, deterministic: true}
)",
      job.trainer, "  checkpoint: {uri: /checkpoints/", job.name,
      ", interval: {mode: Steps, steps: ", job.save_every, "}}\n", job.spec, R"(
  template:
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        whenUnsatisfiable: DoNotSchedule
        nodeTaintsPolicy: Honor
        labelSelector: {matchLabels: {muster.dev/job: )",
      job.name, R"(}}
      containers:
      - name: worker
        volumeMounts:
        - {name: text, mountPath: /data}
        - {name: checkpoints, mountPath: /checkpoints}
)",
      job.container, R"(
      volumes:
      - {name: text, configMap: {name: text}}
      - {name: checkpoints, )",
      job.volume, "}\n"));
}

Json InstalledOperator::Job(const std::string& name) {
  return cluster_->Get(kube::kTrainingJobs, name).value_or(Json());
}

Json InstalledOperator::Pod(const std::string& name) {
  return cluster_->Get(kube::kPods, name).value_or(Json());
}

Json InstalledOperator::Await(const kube::ResourceType& type, const std::string& name,
                              const std::function<bool(const Json&)>& done) {
  const absl::Time deadline = absl::Now() + kPatience;
  while (true) {
    Json object = cluster_->Get(type, name).value_or(Json());
    if (object.is_object() && done(object)) return object;
    if (absl::Now() > deadline) {
      ADD_FAILURE() << name << " was not as awaited:\n"
                    << object.dump(1) << "\n"
                    << TryKubectl("describe trainingjobs,pods").out << OperatorsStory();
      return object;
    }
    absl::SleepFor(kLookAgain);
  }
}

std::string InstalledOperator::OperatorsStory() {
  return shell_
      ->Try(
          "kubectl get pods,leases --namespace=muster-system --output=wide;"
          " kubectl logs --namespace=muster-system --prefix --tail=100"
          " --selector=app.kubernetes.io/name=muster")
      .out;
}

Json InstalledOperator::AwaitJob(const std::string& name,
                                 const std::function<bool(const Json&)>& done) {
  return Await(kube::kTrainingJobs, name, done);
}

Json InstalledOperator::AwaitPod(const std::string& name,
                                 const std::function<bool(const Json&)>& done) {
  return Await(kube::kPods, name, done);
}

Json InstalledOperator::AwaitSuccess(const std::string& name) {
  Json job = AwaitJob(name, [](const Json& job) {
    const std::string state = kube::StringAt(job, {"status", "state"});
    return state == "Succeeded" || state == "Failed";
  });
  EXPECT_EQ(kube::StringAt(job, {"status", "state"}), "Succeeded") << job["status"].dump(1);
  return job;
}

Json InstalledOperator::AwaitSaved(const std::string& name, int step) {
  return AwaitJob(name, [step](const Json& job) {
    return NumberAt(job, {"status", "checkpoint", "step"}) >= step;
  });
}

std::string InstalledOperator::AwaitCondition(const std::string& job, const std::string& type,
                                              const std::string& status,
                                              const std::string& reason) {
  const Json found = AwaitJob(job, [&](const Json& object) {
    const Json condition = ConditionOf(object, type);
    return kube::StringAt(condition, {"status"}) == status &&
           kube::StringAt(condition, {"reason"}) == reason;
  });
  return kube::StringAt(ConditionOf(found, type), {"message"});
}

void InstalledOperator::AwaitOperator() {
  shell_->Run(
      "kubectl rollout status deployment/muster-operator --namespace=muster-system --timeout=180s");
}

void InstalledOperator::ReplaceOperator(const std::string& words) {
  const std::string before = shell_->Run(
      "kubectl get pods --namespace=muster-system --output=name"
      " --selector=app.kubernetes.io/component=operator | tr '\n' ' '");
  shell_->Run(absl::StrCat("helm ", words));
  AwaitOperator();
  shell_->Run(
      absl::StrCat("kubectl wait --namespace=muster-system --for=delete --timeout=120s ", before));
}

void InstalledOperator::Delete(const std::string& job) {
  Kubectl(absl::StrCat("delete trainingjob/", job, " --timeout=120s"));
}

std::string InstalledOperator::SavedWeights(const std::string& job, int step) {
  return shell_->Run(
      absl::StrFormat("cat %s/%s/step-%09d/*.safetensors | sha256sum", shared_folder_, job, step));
}

Json ConditionOf(const Json& object, const std::string& type) {
  const Json* conditions = kube::Find(object, {"status", "conditions"});
  if (conditions == nullptr || !conditions->is_array()) return Json();
  for (const Json& condition : *conditions) {
    if (kube::StringAt(condition, {"type"}) == type) return condition;
  }
  return Json();
}

int64_t NumberAt(const Json& job, std::initializer_list<std::string_view> path) {
  const Json* found = kube::Find(job, path);
  if (found == nullptr) return -1;
  // 64-bit integers are strings in the JSON of protobuf.
  if (found->is_string()) return std::atoll(found->get<std::string>().c_str());
  return found->is_number_integer() ? found->get<int64_t>() : -1;
}

}  // namespace muster::tests
