#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "operator/kube/conformance/conformance.h"
#include "operator/kube/field_mask.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

// Conformance tests of lists, pages and selectors.
namespace muster::kube {
namespace {

using Strings = std::vector<std::string>;

ObjectList MustList(Api& api, const ResourceType& type, const ListOptions& options) {
  const absl::StatusOr<ObjectList> list = api.List(type, options);
  EXPECT_TRUE(list.ok()) << list.status();
  return list.ok() ? *list : ObjectList();
}

TEST_P(ConformanceTest, ListIsSortedAndOfOneNamespace) {
  MadePod("c");
  MadePod("a");
  MadePod("b");
  EXPECT_EQ(Names(kPods, ""), (Strings{"a", "b", "c"}));
  ListOptions elsewhere;
  elsewhere.name_space = environment().Namespace();
  EXPECT_TRUE(MustList(api(), kPods, elsewhere).items.empty());
}

TEST_P(ConformanceTest, ListOfAllNamespacesHasThisOne) {
  MadePod("a");
  std::set<std::string> found;
  for (const Json& item : MustList(api(), kPods, {}).items) found.insert(ToString(KeyOf(item)));
  EXPECT_EQ(found.count(name_space() + "/a"), 1u);
}

TEST_P(ConformanceTest, AnEmptyListHasAVersion) {
  EXPECT_FALSE(ListVersion(kPods).empty());
  EXPECT_NE(ListVersion(kPods), "0");
}

TEST_P(ConformanceTest, TheVersionOfAListIsNotBeforeItsItems) {
  const Json made = MadePod("a");
  EXPECT_GE(*ParseResourceVersion(ListVersion(kPods)),
            *ParseResourceVersion(ResourceVersionOf(made)));
}

TEST_P(ConformanceTest, PagesCoverEverythingOnceAtOneVersion) {
  for (const char* name : {"a", "b", "c", "d", "e"}) MadePod(name);
  ListOptions options;
  options.name_space = name_space();
  options.limit = 2;
  Strings names;
  std::set<std::string> versions;
  int pages = 0;
  do {
    const ObjectList page = MustList(api(), kPods, options);
    EXPECT_LE(page.items.size(), 2u);
    for (const Json& item : page.items) names.push_back(NameOf(item));
    versions.insert(page.resource_version);
    options.continue_token = page.continue_token;
  } while (!options.continue_token.empty() && ++pages < 10);
  EXPECT_EQ(names, (Strings{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(versions.size(), 1u);
}

TEST_P(ConformanceTest, LaterPagesDoNotSeeLaterWrites) {
  for (const char* name : {"a", "b", "c"}) MadePod(name);
  ListOptions options;
  options.name_space = name_space();
  options.limit = 1;
  options.continue_token = MustList(api(), kPods, options).continue_token;
  ASSERT_FALSE(options.continue_token.empty());
  MadePod("bb");
  ASSERT_TRUE(api().Delete(kPods, Key("c")).ok());
  ASSERT_TRUE(api().PatchMetadata(kPods, Key("b"), {{"labels", {{"x", "y"}}}}).ok());
  options.limit = 0;
  const ObjectList rest = MustList(api(), kPods, options);
  ASSERT_EQ(rest.items.size(), 2u);
  EXPECT_EQ(NameOf(rest.items[0]), "b");
  EXPECT_EQ(LabelOf(rest.items[0], "x"), "");
  EXPECT_EQ(NameOf(rest.items[1]), "c");
}

TEST_P(ConformanceTest, AnOldContinueTokenIsExpired) {
  for (const char* name : {"a", "b"}) MadePod(name);
  ListOptions options;
  options.name_space = name_space();
  options.limit = 1;
  options.continue_token = MustList(api(), kPods, options).continue_token;
  MadePod("c");
  if (!environment().ExpireHistory()) GTEST_SKIP() << "this server cannot be made to forget";
  const absl::Status status = api().List(kPods, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(ReasonOf(status), Reason::kExpired);
}

TEST_P(ConformanceTest, AForeignContinueTokenIsABadRequest) {
  ListOptions options;
  options.name_space = name_space();
  options.limit = 1;
  options.continue_token = "nonsense";
  EXPECT_EQ(ReasonOf(api().List(kPods, options).status()), Reason::kBadRequest);
}

TEST_P(ConformanceTest, PagesAreOfTheSelection) {
  for (const char* name : {"a", "b", "c", "d"}) {
    Json pod = Pod(name);
    SetLabel(pod, "odd", std::string(name) == "a" || std::string(name) == "c" ? "yes" : "no");
    Made(kPods, pod);
  }
  ListOptions options;
  options.name_space = name_space();
  options.label_selector = "odd=yes";
  options.limit = 1;
  std::vector<std::string> names;
  do {
    const ObjectList page = MustList(api(), kPods, options);
    EXPECT_LE(page.items.size(), 1u);  // the last one may be empty
    for (const Json& item : page.items) names.push_back(NameOf(item));
    options.continue_token = page.continue_token;
  } while (!options.continue_token.empty());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "c"}));
}

TEST_P(ConformanceTest, ListedObjectsSayWhatTheyAre) {
  MadePod("a");
  ListOptions options;
  options.name_space = name_space();
  const ObjectList list = MustList(api(), kPods, options);
  ASSERT_EQ(list.items.size(), 1u);
  EXPECT_EQ(list.items[0], Stored(kPods, "a"));
}

TEST_P(ConformanceTest, LabelSelectors) {
  const auto make = [&](const std::string& name, const Labels& labels) {
    Json object = ConfigMap(name);
    for (const auto& [key, value] : labels) SetLabel(object, key, value);
    Made(kConfigMaps, object);
  };
  make("both", {{"tier", "front"}, {"env", "prod"}});
  make("env", {{"env", "test"}});
  make("none", {});
  make("tier", {{"tier", "back"}});
  EXPECT_EQ(Names(kConfigMaps, "tier=front"), (Strings{"both"}));
  EXPECT_EQ(Names(kConfigMaps, "tier==front"), (Strings{"both"}));
  EXPECT_EQ(Names(kConfigMaps, "tier!=front"), (Strings{"env", "none", "tier"}));
  EXPECT_EQ(Names(kConfigMaps, "tier in (front, back)"), (Strings{"both", "tier"}));
  EXPECT_EQ(Names(kConfigMaps, "tier notin (front)"), (Strings{"env", "none", "tier"}));
  EXPECT_EQ(Names(kConfigMaps, "tier"), (Strings{"both", "tier"}));
  EXPECT_EQ(Names(kConfigMaps, "!tier"), (Strings{"env", "none"}));
  EXPECT_EQ(Names(kConfigMaps, "tier,env in (prod,test)"), (Strings{"both"}));
  EXPECT_EQ(Names(kConfigMaps, "tier,!env"), (Strings{"tier"}));
}

TEST_P(ConformanceTest, AMalformedLabelSelectorIsABadRequest) {
  for (const char* selector : {"a in b", "=x", "a in (b", "a,,b", "a!b=c,"}) {
    ListOptions options;
    options.name_space = name_space();
    options.label_selector = selector;
    EXPECT_EQ(ReasonOf(api().List(kPods, options).status()), Reason::kBadRequest) << selector;
  }
}

TEST_P(ConformanceTest, FieldSelectors) {
  MadePod("a");
  MadePod("b");
  ASSERT_TRUE(api().Bind({Key("b"), "node-of-b", {}, {}}).ok());
  EXPECT_EQ(Names(kPods, "", "metadata.name=a"), (Strings{"a"}));
  EXPECT_EQ(Names(kPods, "", "metadata.namespace=" + name_space()), (Strings{"a", "b"}));
  EXPECT_EQ(Names(kPods, "", "spec.nodeName=node-of-b"), (Strings{"b"}));
  EXPECT_EQ(Names(kPods, "", "spec.nodeName="), (Strings{"a"}));
  EXPECT_EQ(Names(kPods, "", "spec.nodeName!=,status.phase=Pending"), (Strings{"b"}));
  EXPECT_EQ(Names(kPods, "", "status.phase=Running"), Strings{});
}

TEST_P(ConformanceTest, AnUnsupportedFieldIsABadRequest) {
  ListOptions options;
  options.name_space = name_space();
  options.field_selector = "spec.containers=x";
  EXPECT_EQ(ReasonOf(api().List(kPods, options).status()), Reason::kBadRequest);
}

TEST_P(ConformanceTest, ItemsAreHandedOutInPlaceOfKept) {
  for (const char* name : {"a", "b", "c"}) MadePod(name);
  Strings names;
  ListOptions options{.name_space = name_space(), .limit = 2};
  options.on_item = [&](const Json& item) { names.push_back(NameOf(item)); };
  const ObjectList first = MustList(api(), kPods, options);
  EXPECT_TRUE(first.items.empty());
  EXPECT_EQ(names, (Strings{"a", "b"}));
  EXPECT_FALSE(first.resource_version.empty());
  options.continue_token = first.continue_token;
  EXPECT_EQ(MustList(api(), kPods, options).continue_token, "");
  EXPECT_EQ(names, (Strings{"a", "b", "c"}));
}

// A mask works with JSON and, if the server has it, with protobuf.
TEST_P(ConformanceTest, FieldsThatAreAskedForAreThere) {
  Json pod = Pod("a");
  pod["metadata"]["labels"] = {{"app", "x"}, {"tier", "y"}};
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1500m"}}}};
  pod["metadata"]["annotations"] = {{"note", "é😀"}};
  Made(kPods, pod);
  Made(kConfigMaps, ConfigMap("a"));
  const FieldMask some({"metadata.labels[app]", "metadata.annotations[note]",
                        "metadata.creationTimestamp", "spec.containers.name",
                        "spec.containers.resources", "spec.schedulerName", "status.phase"});
  const FieldMask other({"metadata.labels", "spec.volumes", "data"});  // not read of protobuf
  for (const FieldMask* fields : {&some, &other, &IdentityFields()}) {
    for (const ResourceType& type : {kPods, kConfigMaps}) {
      const Json whole = Stored(type, "a");
      const CallOptions call{.fields = fields};
      EXPECT_EQ(fields->Select(*api().Get(type, Key("a"), call)), fields->Select(whole));
      const auto list = api().List(type, {.name_space = name_space()}, call);
      ASSERT_TRUE(list.ok() && !list->items.empty()) << list.status();
      EXPECT_EQ(fields->Select(list->items[0]),
                fields->Select(Stored(type, NameOf(list->items[0]))));
      const auto watcher = api().Watch(type, {.name_space = name_space()}, call);
      ASSERT_TRUE(watcher.ok()) << watcher.status();
      const auto event = (*watcher)->Next(environment().Patience());
      ASSERT_TRUE(event.ok() && event->has_value()) << event.status();
      EXPECT_EQ(fields->Select((*event)->object),
                fields->Select(Stored(type, NameOf((*event)->object))));
    }
  }
}

}  // namespace
}  // namespace muster::kube
