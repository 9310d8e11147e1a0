#ifndef MUSTER_TESTS_KUBE_REST_API_CLUSTER_H_
#define MUSTER_TESTS_KUBE_REST_API_CLUSTER_H_

#include <memory>
#include <string>

#include "base/json.h"
#include "gtest/gtest.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/rest/rest_api.h"
#include "tests/testenv/test_cluster.h"

namespace muster::kube {

// Fixture with a client of the tests' control plane and a namespace of the test's own.
class RestApiClusterTest : public testing::Test {
 protected:
  void SetUp() override {
    cluster_ = *tests::TestCluster::Create("rest-api");
    config_ = *LoadKubeconfig({cluster_->kubeconfig()});
    api_ = *RestApi::Create(config_);
  }
  ObjectKey Key(const std::string& name) const { return {cluster_->name_space(), name}; }
  Json ConfigMap(const std::string& name) const { return NewObject(kConfigMaps, Key(name)); }

  std::unique_ptr<tests::TestCluster> cluster_;
  RestConfig config_;
  std::unique_ptr<RestApi> api_;
};

}  // namespace muster::kube

#endif  // MUSTER_TESTS_KUBE_REST_API_CLUSTER_H_
