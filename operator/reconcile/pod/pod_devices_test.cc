#include "operator/reconcile/pod/pod_devices.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::control {
namespace {

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

}  // namespace
}  // namespace muster::control
