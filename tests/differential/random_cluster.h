#ifndef MUSTER_TESTS_DIFFERENTIAL_RANDOM_CLUSTER_H_
#define MUSTER_TESTS_DIFFERENTIAL_RANDOM_CLUSTER_H_

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

#include "base/json.h"

namespace muster::control {

// Random numbers that are the same with every standard library.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  int Below(int end) { return static_cast<int>(engine_() % static_cast<uint64_t>(end)); }
  bool Chance(int percent) { return Below(100) < percent; }
  template <typename T>
  T Pick(std::initializer_list<T> of) {
    return *(of.begin() + Below(static_cast<int>(of.size())));
  }
  template <typename T>
  const T& Pick(const std::vector<T>& of) {
    return of[static_cast<size_t>(Below(static_cast<int>(of.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

// Random Kubernetes objects as an API server would store them: a few nodes, pods bound or nominated
// to them, volumes, and pending pods. They use every feature that affects where a pod may run.
// Equal seeds give equal clusters.
class RandomCluster {
 public:
  explicit RandomCluster(uint64_t seed);

  // The objects in lists by kind, with the fields that tests/testenv/modules/controlplane/filters
  // reads.
  const Json& objects() const { return objects_; }

 private:
  void AddNode(int index);
  void AddNamespaces();
  void AddClasses();
  void AddClaims();
  void AddClaim(const std::string& ns, int index);
  void AddVolume(const std::string& name, const Json& claim_ref, const std::string& storage_class);
  void AddCsiNode(const std::string& node);
  void AddPodsOn(const std::string& node);

  Json Meta(const std::string& name, const std::string& ns);
  Json Pod(const std::string& name, int richness);
  Json Containers(const char* prefix, int count, bool can_restart, int richness);
  Json Amounts(bool large);
  Json Ports();
  Json Tolerations();
  Json Requirement(bool node);
  Json Selector();
  Json NodeAffinity();
  Json AffinityTerms(bool anti);
  Json Affinity(int richness);
  Json Spread();
  Json Volumes(const std::string& ns, int richness);
  void AddEphemeralClaim(const std::string& name, const std::string& ns, const std::string& uid);
  void AddStatuses(Json& pod);

  Dice dice_;
  bool has_nominated_;
  Json objects_;
  std::vector<std::string> nodes_;
  int serial_ = 0;
};

// Returns a string that may or may not be a valid Kubernetes quantity.
std::string RandomQuantity(Dice& dice);

}  // namespace muster::control

#endif  // MUSTER_TESTS_DIFFERENTIAL_RANDOM_CLUSTER_H_
