#include "operator/local/pod_volumes.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/files/files.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"
#include "operator/coordinator/identity/fake_token_api.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/local/pod_command.h"

namespace muster::control {
namespace {

class PodVolumesTest : public testing::Test {
 protected:
  PodVolumesTest() {
    kube::MemoryApiOptions options;
    options.random = [n = uint64_t{0}]() mutable { return ++n; };
    memory_ = *kube::MemoryApi::Open(clock_, std::move(options));
    api_ = std::make_unique<FakeTokenApi>(*memory_, clock_);
    pod_ = kube::NewObject(kube::kPods, {"team", "p"});
    pod_["metadata"]["uid"] = "u";
    pod_["spec"] = {{"containers", {{{"name", "worker"}, {"volumeMounts", Json::array()}}}},
                    {"volumes", Json::array()}};
  }
  void Mount(const std::string& path, Json volume) {
    volume["name"] = "v" + std::to_string(pod_["spec"]["volumes"].size());
    pod_["spec"]["containers"][0]["volumeMounts"].push_back(
        {{"name", volume["name"]}, {"mountPath", path}});
    pod_["spec"]["volumes"].push_back(std::move(volume));
  }
  absl::StatusOr<PodVolumes> Make() {
    return MakeVolumes(pod_, "/pods/p/volumes", *api_, files_, clock_.Wall());
  }
  std::string Read(const std::string& path) { return ReadFile(files_, path).value_or("(none)"); }

  ManualClock clock_{absl::FromUnixSeconds(1'700'000'000)};
  MemoryFiles files_;
  std::unique_ptr<kube::MemoryApi> memory_;
  std::unique_ptr<FakeTokenApi> api_;
  Json pod_;
};

Json TokenVolume() {
  return {{"projected",
           {{"sources",
             {{{"serviceAccountToken",
                {{"path", "token"}, {"audience", "a"}, {"expirationSeconds", 1000}}}}}}}}};
}

TEST_F(PodVolumesTest, ATokenIsReplacedAtFourFifthsOfItsLife) {
  Mount("/var/run/token", TokenVolume());
  auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->mounts.at("/var/run/token"), "/pods/p/volumes/v0");
  EXPECT_EQ(Read("/pods/p/volumes/v0/token"), "token-1");
  EXPECT_EQ(made->fresh_for, absl::Seconds(800));
  clock_.Advance(made->fresh_for);
  made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(Read("/pods/p/volumes/v0/token"), "token-2");
}

TEST_F(PodVolumesTest, MissingMapsAreWaitedForUnlessOptional) {
  Mount("/m", {{"configMap", {{"name", "m"}}}});
  EXPECT_TRUE(absl::IsNotFound(Make().status())) << Make().status();
  pod_["spec"]["volumes"][0]["configMap"]["optional"] = true;
  EXPECT_TRUE(Make().ok());
  Json map = kube::NewObject(kube::kConfigMaps, {"team", "m"});
  map["data"] = {{"a", "1"}, {"b", "2"}};
  map["binaryData"] = {{"c", "Mw=="}};
  ASSERT_TRUE(memory_->Create(kube::kConfigMaps, map).ok());
  EXPECT_TRUE(Make().ok());
  EXPECT_EQ(Read("/pods/p/volumes/v0/b"), "2");
  EXPECT_EQ(Read("/pods/p/volumes/v0/c"), "3");
  // A changed object changes the file.
  map = *memory_->Get(kube::kConfigMaps, {"team", "m"});
  map["data"]["b"] = "4";
  ASSERT_TRUE(memory_->Update(kube::kConfigMaps, map).ok());
  EXPECT_TRUE(Make().ok());
  EXPECT_EQ(Read("/pods/p/volumes/v0/b"), "4");
}

TEST_F(PodVolumesTest, NothingIsWrittenOutsideOfItsVolume) {
  Json token = TokenVolume();
  token["projected"]["sources"][0]["serviceAccountToken"]["path"] = "../../escape";
  Mount("/t", token);
  EXPECT_TRUE(absl::IsInvalidArgument(Make().status())) << Make().status();
}

TEST_F(PodVolumesTest, PathsUnderAMountAreMapped) {
  Mount("/data", {{"hostPath", {{"path", "/host/data"}}}});
  Mount("/data/scratch", {{"emptyDir", Json::object()}});
  Mount("/claim", {{"persistentVolumeClaim", {{"claimName", "c"}}}});
  const auto made = Make();
  ASSERT_TRUE(made.ok()) << made.status();
  PodCommand command{{"/data/run", "/data/scratch/x", "/database", "/claim/y"},
                     {{"D", "/data"}, {"E", "a /data"}},
                     "/data/scratch"};
  UseMounts(made->mounts, command);
  EXPECT_EQ(command.argv, (std::vector<std::string>{"/host/data/run", "/pods/p/volumes/v1/x",
                                                    "/database", "/claim/y"}));
  EXPECT_EQ(command.env.at("D"), "/host/data");
  EXPECT_EQ(command.env.at("E"), "a /data") << "only what is a path";
  EXPECT_EQ(command.cwd, "/pods/p/volumes/v1");
}

}  // namespace
}  // namespace muster::control
