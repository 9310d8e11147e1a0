#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/json.h"
#include "tests/faults/faulty_api_test_fixture.h"

// Tests an API server that refuses one kind of request. One operator process lives through all of
// it, and a log line, an event or a condition reports what is refused and to whom.

namespace muster::tests {
namespace {

class RefusingApiServer : public FaultyApiWorldTest {
 protected:
  // Answers requests of this method and path with a 403 in the real server's words.
  void Forbid(const std::string& method, const std::string& path, const std::string& verb) {
    ASSERT_EQ(world_->InjectFaults(
                  absl::StrCat(R"([{"name": "fault", "method": ")", method, R"(", "path": ")", path,
                               R"(", "status": 403, "body": {"kind": "Status", "apiVersion": "v1",
                  "status": "Failure", "reason": "Forbidden", "code": 403, "message":
                  "is forbidden: User muster cannot )",
                               verb, R"("}}])")),
              absl::OkStatus());
  }
  // An environment for the worker of `size` bytes.
  static std::string Large(size_t size) {
    constexpr size_t kOfOne = 32'000;  // the most that one variable may hold
    std::string env = "[";
    for (int i = 0; size > 0; ++i) {
      const size_t part = std::min(size, kOfOne);
      absl::StrAppend(&env, "{name: L", i, ", value: ", std::string(part, 'x'), "}, ");
      size -= part;
    }
    return env + "]";
  }
  void Conflict(const std::string& method, const std::string& path) {
    ASSERT_EQ(world_->InjectFaults(
                  absl::StrCat(R"([{"name": "fault", "method": ")", method, R"(", "path": ")", path,
                               R"(", "status": 409, "body": {"kind": "Status", "apiVersion": "v1",
                  "status": "Failure", "reason": "Conflict", "code": 409, "message":
                  "the object has been modified"}}])")),
              absl::OkStatus());
  }
};

TEST_F(RefusingApiServer, CreatePods) {
  Forbid("POST", "/pods[?]", "create pods");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(4);
  EXPECT_EQ(world_->WaitForEvent("FailedCreate", "cannot create pods"), absl::OkStatus());
  ExpectLog("create pod createpods-0-1: is forbidden: User muster cannot create pods");
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, DeletePods) {
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
  Forbid("DELETE", "/pods/", "delete pods");
  ASSERT_EQ(world_->ApplyJob(Job(), 1), absl::OkStatus());
  AwaitFaults(4);
  ExpectLog("cannot delete pods");
  ASSERT_EQ(world_->ClearFaults(), absl::OkStatus());
  EXPECT_EQ(world_->WaitFor("the second pod is told to go",
                            [&] {
                              size_t staying = 0;
                              for (const Json& pod : world_->Pods(Job())) {
                                staying += !pod["metadata"].contains("deletionTimestamp");
                              }
                              return staying == 1;
                            }),
            absl::OkStatus());
}

TEST_F(RefusingApiServer, BindPods) {
  Forbid("POST", "/binding[?]", "create pods/binding");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(6);
  ExpectLog("cannot create pods/binding");
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, UpdateStatus) {
  Forbid("PUT", "/status[?]", "update trainingjobs/status");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(4);
  ExpectLog("write the job's status: is forbidden: User muster cannot update trainingjobs/status");
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, PatchJobs) {
  Forbid("PATCH", "/trainingjobs/", "patch trainingjobs");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(4);
  ExpectLog("write the job's finalizers: is forbidden: User muster cannot patch trainingjobs");
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, CreateEvents) {
  Forbid("POST", "/events[?]", "create events");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  ASSERT_EQ(world_->WaitUntilServed(Job(), 2), absl::OkStatus());
}

TEST_F(RefusingApiServer, ListNodes) {
  Forbid("GET", "/nodes", "list nodes");
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(4);
  ExpectLog("cannot list nodes");
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, WatchJobs) {
  Forbid("GET", "/trainingjobs[?].*watch=", "watch trainingjobs");
  ASSERT_EQ(world_->proxy().CutAll(), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(4);
  ExpectLog("cannot watch trainingjobs");
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, ConflictsForEverOnTheStatus) {
  Conflict("PUT", "/status[?]");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(7);
  ExpectLog("write the job's status: the object has been modified");
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, ConflictsForEverOnPods) {
  Conflict("POST", "/pods[?]");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(5);
  EXPECT_EQ(world_->WaitForEvent("FailedCreate", "the object has been modified"), absl::OkStatus());
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, ConflictsForEverOnBinds) {
  Conflict("POST", "/binding[?]");
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  AwaitFaults(6);
  ExpectLog("the object has been modified");
  ExpectServedOnceFaultsEnd();
}

// A foreign pod already has the name of the job's first pod.
TEST_F(RefusingApiServer, AForeignPodHasTheName) {
  const auto made =
      world_->cluster().Kubectl({"run", Job() + "-0-1", "--image=none", "--restart=Never",
                                 R"(--overrides={"spec":{"schedulerName":"nobody"}})"});
  ASSERT_TRUE(made.ok() && made->ok()) << made->err;
  ASSERT_EQ(world_->ApplyJob(Job(), 2), absl::OkStatus());
  EXPECT_EQ(world_->WaitForEvent("FailedCreate", "it exists and belongs to another owner"),
            absl::OkStatus());
  const auto gone =
      world_->cluster().Kubectl({"delete", "pod", Job() + "-0-1", "--force", "--grace-period=0"});
  ASSERT_TRUE(gone.ok() && gone->ok());
  ExpectServedOnceFaultsEnd();
}

TEST_F(RefusingApiServer, AJobOfMoreThanAMegabyte) {
  ASSERT_EQ(world_->ApplyJob(Job(), 2, "", Large(1'400'000)), absl::OkStatus());
  ExpectServedOnceFaultsEnd();
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
}

// The job alone fits into the store; with the operator's status it does not.
TEST_F(RefusingApiServer, AStatusThatDoesNotFit) {
  constexpr size_t kMost = 1'572'864;  // etcd's default limit of a request
  constexpr size_t kTried = 1'500'000;
  const auto managed_by = [](const std::string& name) { return "  managedBy: " + name + "\n"; };
  ASSERT_EQ(world_->ApplyJob(Job(), 2, managed_by("muster.dev/x"), Large(kTried)),
            absl::OkStatus());
  const auto stored = world_->cluster().Kubectl(
      {"get", "trainingjob", Job(), "--show-managed-fields", "--output=json"});
  ASSERT_TRUE(stored.ok()) << stored.status();
  const auto object = ParseJson(stored->out);
  ASSERT_TRUE(object.ok()) << stored->err;
  const size_t around = DumpJson(*object).size() - kTried;
  ASSERT_EQ(world_->RemoveJob(Job()), absl::OkStatus());
  ASSERT_EQ(world_->ApplyJob(Job(), 2, "", Large(kMost - around - 500)), absl::OkStatus());
  EXPECT_EQ(world_->WaitForEvent("StatusNotStored", "too large"), absl::OkStatus());
  ExpectLog("status not stored");
  EXPECT_TRUE(world_->Pods(Job()).empty());
  EXPECT_LE(world_->MostRequestsInASecond(), FaultyApiWorld::kMaxRequestsPerSecond);
  // The user shrinks the job.
  const auto made = world_->cluster().Kubectl(
      {"patch", "trainingjob", Job(), "--type=json",
       R"(--patch=[{"op": "remove", "path": "/spec/template/spec/containers/0/env"}])"});
  ASSERT_TRUE(made.ok() && made->ok()) << made->err;
  ExpectServedOnceFaultsEnd();
}

}  // namespace
}  // namespace muster::tests
