#ifndef MUSTER_OPERATOR_KUBE_CONFORMANCE_CONFORMANCE_H_
#define MUSTER_OPERATOR_KUBE_CONFORMANCE_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "operator/kube/api.h"
#include "operator/kube/api_error.h"

// The conformance suite for implementations of kube::Api, written from Kubernetes' API-concepts
// documentation. It uses only the Api, the environment's hooks and fresh names, so it also runs
// against a shared real server:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, ConformanceTest, testing::Values(ConformanceParam{...}), ...);
namespace muster::kube {

class ConformanceEnvironment {
 public:
  virtual ~ConformanceEnvironment() = default;
  virtual Api& api() = 0;
  // Returns an existing namespace that only this test uses.
  virtual std::string Namespace() = 0;
  // Returns a string that is unique over all calls and all runs against the same server.
  virtual std::string Unique() = 0;
  // Lets the server's controllers work for a moment. Returns false when the test has waited long
  // enough.
  virtual bool Wait() = 0;
  // Returns the longest time that an event may take to arrive.
  virtual absl::Duration Patience() const = 0;
  // Makes every version so far too old to watch or page from. Returns false if this server cannot.
  virtual bool ExpireHistory() = 0;
  // Makes bookmarks due. Returns false if this server cannot.
  virtual bool ForceBookmark() = 0;
};

struct ConformanceParam {
  std::string name;
  std::function<std::unique_ptr<ConformanceEnvironment>()> make;
};

class ConformanceTest : public testing::TestWithParam<ConformanceParam> {
 protected:
  void SetUp() override {
    environment_ = GetParam().make();
    namespace_ = environment_->Namespace();
  }

  Api& api() { return environment_->api(); }
  ConformanceEnvironment& environment() { return *environment_; }
  const std::string& name_space() const { return namespace_; }
  ObjectKey Key(const std::string& name) const { return {namespace_, name}; }

  // Return valid objects that are not created yet.
  Json ConfigMap(const std::string& name) const;
  Json Pod(const std::string& name) const;
  Json Job(const std::string& name) const;
  // Creates the object and returns it as stored. A failure fails the test and returns `object`.
  Json Made(const ResourceType& type, const Json& object);
  Json MadeConfigMap(const std::string& name) { return Made(kConfigMaps, ConfigMap(name)); }
  Json MadePod(const std::string& name) { return Made(kPods, Pod(name)); }
  Json MadeJob(const std::string& name) { return Made(kTrainingJobs, Job(name)); }
  // Creates a pod and binds it to a node with a fresh name; the node need not exist.
  Json BoundPod(const std::string& name);
  Json Stored(const ResourceType& type, const std::string& name);
  bool Exists(const ResourceType& type, const std::string& name);
  // Waits until the object is gone.
  bool GoneSoon(const ResourceType& type, const std::string& name);
  bool Soon(const std::function<bool()>& condition);
  std::string ListVersion(const ResourceType& type);
  // Returns names in the test's namespace, in the order of the list.
  std::vector<std::string> Names(const ResourceType& type, const std::string& labels,
                                 const std::string& fields = "");
  std::unique_ptr<Watcher> Watching(const ResourceType& type, const std::string& version,
                                    const std::string& labels = "");
  // Returns the next event other than a bookmark as "ADDED name", "" if none came, or the error's
  // reason.
  std::string NextEvent(Watcher& watcher);

 private:
  std::unique_ptr<ConformanceEnvironment> environment_;
  std::string namespace_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CONFORMANCE_CONFORMANCE_H_
