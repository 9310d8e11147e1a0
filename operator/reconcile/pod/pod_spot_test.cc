#include "operator/reconcile/pod/pod_spot.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

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

}  // namespace
}  // namespace muster::control
