#include "operator/scheduler/cluster/kueue_topology.h"

#include <iterator>
#include <memory>
#include <random>
#include <string>

#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"

namespace muster::control {
namespace {

using testing::ElementsAre;

class KueueTopologyTest : public testing::Test {
 protected:
  // A server that serves the version of this place in kKueueTopologies.
  void Serve(size_t version) {
    type_ = kKueueTopologies[version];
    kube::MemoryApiOptions options;
    options.random = [engine = std::mt19937_64(1)]() mutable { return engine(); };
    options.resources.push_back({type_});
    api_ = kube::MemoryApi::Open(clock_, std::move(options)).value();
  }
  void Create(const std::string& levels) {
    Json topology = kube::NewObject(type_, {"", "default"});
    topology["spec"]["levels"] = Json::parse(levels);
    ASSERT_TRUE(api_->Create(type_, topology).ok());
  }

  ManualClock clock_;
  kube::ResourceType type_;
  std::unique_ptr<kube::MemoryApi> api_;
};

TEST_F(KueueTopologyTest, LevelsAreReadFromBroadToNarrowWithoutTheHost) {
  Serve(0);
  Create(R"([{"nodeLabel": "cloud.example/block"}, {"nodeLabel": "cloud.example/rack"},
             {"nodeLabel": "kubernetes.io/hostname"}])");
  const auto levels = ReadKueueLevels(*api_, "default");
  ASSERT_TRUE(levels.ok()) << levels.status();
  EXPECT_THAT(*levels, ElementsAre("cloud.example/block", "cloud.example/rack"));
}

TEST_F(KueueTopologyTest, AnOlderVersionIsReadWhereItIsTheOneThatIsServed) {
  for (size_t version = 1; version < std::size(kKueueTopologies); ++version) {
    Serve(version);
    Create(R"([{"nodeLabel": "cloud.example/rack"}])");
    const auto levels = ReadKueueLevels(*api_, "default");
    ASSERT_TRUE(levels.ok()) << levels.status();
    EXPECT_THAT(*levels, ElementsAre("cloud.example/rack"));
  }
}

TEST_F(KueueTopologyTest, WhatIsNotThereIsNotFound) {
  Serve(0);
  EXPECT_EQ(ReadKueueLevels(*api_, "default").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(KueueTopologyTest, ALevelWithoutALabelIsRefused) {
  Serve(0);
  Create(R"([{"nodeLabel": "cloud.example/block"}, {}])");
  EXPECT_EQ(ReadKueueLevels(*api_, "default").status().message(),
            "Topology default has a level without a nodeLabel");
}

}  // namespace
}  // namespace muster::control
