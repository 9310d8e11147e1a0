#ifndef MUSTER_OPERATOR_KUBE_CACHE_REFLECTOR_FIXTURE_H_
#define MUSTER_OPERATOR_KUBE_CACHE_REFLECTOR_FIXTURE_H_

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/cache/cache.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "operator/kube/wrap/faulty_api.h"

namespace muster::kube {

// A reflector that fills a cache from an API server in memory, with a clock that the test moves and
// faults that it orders. The objects are ConfigMaps of one namespace, whose value is one key.
class ReflectorTest : public testing::Test {
 protected:
  struct Value {
    std::string name;
    std::string data;
  };
  static absl::StatusOr<Value> ParseValue(const Json& object) {
    const std::string data = StringAt(object, {"data", "key"});
    if (data == "bad") return absl::InvalidArgumentError("bad data");
    return Value{NameOf(object), data};
  }

  ReflectorTest() {
    cache_.OnChange([this](const ObjectKey& key, const auto& before, const auto& after) {
      changes_.push_back(
          absl::StrCat(before ? before->data : "-", ">", key.name, ">", after ? after->data : "-"));
    });
  }

  Json Create(const std::string& name, const std::string& data, const Labels& labels = {}) {
    Json object = NewObject(kConfigMaps, {"ns", name});
    object["data"] = {{"key", data}};
    for (const auto& [key, value] : labels) SetLabel(object, key, value);
    return *api_->Create(kConfigMaps, object);
  }
  void Set(const std::string& name, const std::string& data) {
    Json object = *api_->Get(kConfigMaps, {"ns", name});
    object["data"]["key"] = data;
    ASSERT_TRUE(api_->Update(kConfigMaps, object).ok());
  }
  int Run() { return reflector_.RunOnce(absl::ZeroDuration()); }
  std::string Data(const std::string& name) {
    const auto value = cache_.Get({"ns", name});
    return value == nullptr ? "" : value->data;
  }

  ManualClock clock_;
  std::mt19937_64 random_{5};
  MemoryApiOptions options_{.random = [this] { return random_(); }};
  std::unique_ptr<MemoryApi> api_ = *MemoryApi::Open(clock_, options_);
  FaultyApi faulty_{*api_, {}};
  Cache<Value> cache_{ParseValue, {.indexed_labels = {"job"}}};
  Reflector reflector_{faulty_, kConfigMaps, {.page_size = 2}, cache_, clock_};
  std::vector<std::string> changes_;
};

}  // namespace muster::kube

#endif  // MUSTER_OPERATOR_KUBE_CACHE_REFLECTOR_FIXTURE_H_
