#include "operator/reconcile/pod/pod_security.h"

#include "gtest/gtest.h"

namespace muster::control {
namespace {

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
