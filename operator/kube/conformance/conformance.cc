#include "operator/kube/conformance/conformance.h"

#include <utility>

namespace muster::kube {

Json ConformanceTest::ConfigMap(const std::string& name) const {
  Json object = NewObject(kConfigMaps, Key(name));
  object["data"] = {{"key", "value"}};
  return object;
}

Json ConformanceTest::Pod(const std::string& name) const {
  Json object = NewObject(kPods, Key(name));
  // The name of a scheduler that does not exist keeps a real cluster's scheduler away from the pod.
  object["spec"] = {{"schedulerName", "conformance"},
                    {"containers", {{{"name", "main"}, {"image", "example.invalid/none"}}}}};
  return object;
}

Json ConformanceTest::Job(const std::string& name) const {
  Json object = NewObject(kTrainingJobs, Key(name));
  const Json container = {{"name", "worker"}, {"image", "none"}, {"command", {"true"}}};
  object["spec"] = {{"workers", {{"count", 2}}},
                    {"template", {{"spec", {{"containers", Json::array({container})}}}}}};
  return object;
}

Json ConformanceTest::Made(const ResourceType& type, const Json& object) {
  const absl::StatusOr<Json> made = api().Create(type, object);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *made : object;
}

Json ConformanceTest::BoundPod(const std::string& name) {
  const Json pod = MadePod(name);
  const absl::Status bound = api().Bind({Key(name), "node-" + environment().Unique(), {}, {}});
  EXPECT_TRUE(bound.ok()) << bound;
  return Stored(kPods, name);
}

Json ConformanceTest::Stored(const ResourceType& type, const std::string& name) {
  const absl::StatusOr<Json> found = api().Get(type, Key(name));
  EXPECT_TRUE(found.ok()) << found.status();
  return found.ok() ? *found : Json::object();
}

bool ConformanceTest::Exists(const ResourceType& type, const std::string& name) {
  const absl::Status found = api().Get(type, Key(name)).status();
  EXPECT_TRUE(found.ok() || absl::IsNotFound(found)) << found;
  return found.ok();
}

bool ConformanceTest::Soon(const std::function<bool()>& condition) {
  do {
    if (condition()) return true;
  } while (environment().Wait());
  return condition();
}

bool ConformanceTest::GoneSoon(const ResourceType& type, const std::string& name) {
  return Soon([&] { return !Exists(type, name); });
}

std::string ConformanceTest::ListVersion(const ResourceType& type) {
  ListOptions options;
  options.name_space = name_space();
  const absl::StatusOr<ObjectList> list = api().List(type, options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? list->resource_version : "";
}

std::vector<std::string> ConformanceTest::Names(const ResourceType& type, const std::string& labels,
                                                const std::string& fields) {
  ListOptions options;
  options.name_space = name_space();
  options.label_selector = labels;
  options.field_selector = fields;
  const absl::StatusOr<ObjectList> list = api().List(type, options);
  EXPECT_TRUE(list.ok()) << list.status();
  std::vector<std::string> names;
  if (!list.ok()) return names;
  for (const Json& item : list->items) {
    // A real cluster puts this one into every namespace.
    if (NameOf(item) != "kube-root-ca.crt") names.push_back(NameOf(item));
  }
  return names;
}

std::unique_ptr<Watcher> ConformanceTest::Watching(const ResourceType& type,
                                                   const std::string& version,
                                                   const std::string& labels) {
  WatchOptions options;
  options.name_space = name_space();
  options.resource_version = version;
  options.label_selector = labels;
  absl::StatusOr<std::unique_ptr<Watcher>> watcher = api().Watch(type, options);
  EXPECT_TRUE(watcher.ok()) << watcher.status();
  return watcher.ok() ? *std::move(watcher) : nullptr;
}

std::string ConformanceTest::NextEvent(Watcher& watcher) {
  while (true) {
    const absl::StatusOr<std::optional<WatchEvent>> event = watcher.Next(environment().Patience());
    if (!event.ok()) return std::string(Name(ReasonOf(event.status())));
    if (!event->has_value()) return "";
    const std::string name = NameOf((*event)->object);
    if (name == "kube-root-ca.crt") continue;
    switch ((*event)->type) {
      case WatchEvent::Type::kAdded:
        return "ADDED " + name;
      case WatchEvent::Type::kModified:
        return "MODIFIED " + name;
      case WatchEvent::Type::kDeleted:
        return "DELETED " + name;
      case WatchEvent::Type::kBookmark:
        continue;
    }
  }
}

}  // namespace muster::kube
