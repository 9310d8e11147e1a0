#include "operator/kube/rest/rest_api.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/testing/patience.h"
#include "gtest/gtest.h"
#include "operator/kube/api_error.h"
#include "operator/kube/cache/reflector.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/kube/rest_api_cluster.h"
#include "tests/testenv/test_cluster.h"

// Tests behaviour of a real server beyond the conformance suite.
namespace muster::kube {
namespace {

TEST_F(RestApiClusterTest, ATokenForAnAudienceIsMadeAndReviewed) {
  ASSERT_TRUE(api_->Create(kServiceAccounts, NewObject(kServiceAccounts, Key("worker"))).ok());
  const Json request = {
      {"apiVersion", "authentication.k8s.io/v1"},
      {"kind", "TokenRequest"},
      {"spec", {{"audiences", {"muster.dev/coordinator"}}, {"expirationSeconds", 600}}}};
  const auto made = api_->CreateSubresource(kServiceAccounts, Key("worker"), "token", request);
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string token = StringAt(*made, {"status", "token"});
  const auto review = [&](const std::string& audience) {
    Json asked = {{"spec", {{"token", token}, {"audiences", {audience}}}}};
    const auto answer = api_->Create(kTokenReviews, asked);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? *answer : Json::object();
  };
  const Json good = review("muster.dev/coordinator");
  const Json* authenticated = Find(good, {"status", "authenticated"});
  EXPECT_TRUE(authenticated != nullptr && *authenticated == true) << good;
  EXPECT_EQ(StringAt(good, {"status", "user", "username"}),
            absl::StrCat("system:serviceaccount:", cluster_->name_space(), ":worker"));
  const Json* other = Find(review("another"), {"status", "authenticated"});
  EXPECT_TRUE(other == nullptr || *other == false);
}

TEST_F(RestApiClusterTest, AnAccountWithoutRightsIsForbiddenAndABadTokenUnauthorized) {
  const auto path = cluster_->ServiceAccountKubeconfig("nobody");
  ASSERT_TRUE(path.ok()) << path.status();
  RestConfig config = *LoadKubeconfig({*path});
  const auto nobody = RestApi::Create(config);
  ASSERT_TRUE(nobody.ok()) << nobody.status();
  EXPECT_EQ(ReasonOf((*nobody)->Get(kSecrets, Key("a")).status()), Reason::kForbidden);
  EXPECT_EQ(ReasonOf((*nobody)->Watch(kSecrets, {}).status()), Reason::kForbidden);
  config.token = "invalid";
  config.token_file.clear();
  EXPECT_EQ(ReasonOf((*RestApi::Create(config))->Get(kSecrets, Key("a")).status()),
            Reason::kUnauthorized);
}

TEST_F(RestApiClusterTest, ABookmarkComesBeforeTheServerEndsAQuietWatch) {
  WatchOptions options;
  options.name_space = cluster_->name_space();
  options.resource_version = api_->List(kSecrets, {})->resource_version;
  options.server_timeout = absl::Seconds(5);
  const auto watcher = api_->Watch(kSecrets, options);
  ASSERT_TRUE(watcher.ok()) << watcher.status();
  // The server sends a bookmark only if the resourceVersion has changed.
  const ObjectKey other{"default", cluster_->Unique("elsewhere")};
  ASSERT_TRUE(api_->Create(kSecrets, NewObject(kSecrets, other)).ok());
  EXPECT_TRUE(api_->Delete(kSecrets, other).ok());
  int bookmarks = 0;
  auto event = (*watcher)->Next(kPatience);
  for (; event.ok() && event->has_value(); event = (*watcher)->Next(kPatience)) {
    EXPECT_EQ((*event)->type, WatchEvent::Type::kBookmark);
    ++bookmarks;
  }
  EXPECT_GE(bookmarks, 1);
  EXPECT_EQ(ReasonOf(event.status()), Reason::kWatchClosed);
}

TEST_F(RestApiClusterTest, AnObjectOfOneMegabyteAndOneThatIsTooLarge) {
  Json object = ConfigMap("big");
  object["data"]["key"] = std::string(1'000'000, 'x');
  ASSERT_TRUE(api_->Create(kConfigMaps, object).ok());
  EXPECT_EQ(StringAt(*api_->Get(kConfigMaps, Key("big")), {"data", "key"}).size(), 1'000'000u);
  object = ConfigMap("bigger");
  object["data"]["key"] = std::string(1'400'000, 'x');
  EXPECT_EQ(api_->Create(kConfigMaps, object).status().code(), absl::StatusCode::kInvalidArgument);
  object["data"]["key"] = std::string(4'000'000, 'x');
  EXPECT_EQ(ReasonOf(api_->Create(kConfigMaps, object).status()), Reason::kTooLarge);
}

TEST_F(RestApiClusterTest, SixteenWritersSideBySide) {
  constexpr int kThreads = 16;
  constexpr int kEach = 20;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string name = absl::StrCat("c-", t, "-", i);
        if (!api_->Create(kConfigMaps, ConfigMap(name), {.timeout = absl::Seconds(60)}).ok()) {
          ++failed;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  ListOptions pages{.name_space = cluster_->name_space(), .limit = 50};
  std::set<std::string> names;
  do {
    const auto page = api_->List(kConfigMaps, pages);
    ASSERT_TRUE(page.ok()) << page.status();
    for (const Json& item : page->items) names.insert(NameOf(item));
    pages.continue_token = page->continue_token;
  } while (!pages.continue_token.empty());
  EXPECT_GE(names.size(), size_t{kThreads * kEach});
}

// Records what a reflector delivers.
class Seen final : public ReflectorSink {
 public:
  void BeginList() override { names.clear(); }
  void Listed(Json object) override { names.insert(NameOf(object)); }
  void EndList(uint64_t) override { ++replaced; }
  void Upsert(Json object, uint64_t) override { names.insert(NameOf(object)); }
  void Remove(const ObjectKey& key, uint64_t) override { names.erase(key.name); }
  void Advance(uint64_t) override {}

  std::set<std::string> names;
  int replaced = 0;
};

TEST_F(RestApiClusterTest, AReflectorStreamsItsList) {
  ASSERT_TRUE(api_->Create(kSecrets, NewObject(kSecrets, Key("a"))).ok());
  Seen seen;
  ReflectorOptions options;
  options.name_space = cluster_->name_space();
  options.stream_list = true;
  options.on_error = [](const absl::Status& error) { ADD_FAILURE() << error; };
  Reflector reflector(*api_, kSecrets, options, seen, Clock::Real());
  reflector.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(seen.replaced, 1);
  EXPECT_EQ(seen.names, (std::set<std::string>{"a"}));
  EXPECT_TRUE(reflector.streams());
  ASSERT_TRUE(api_->Create(kSecrets, NewObject(kSecrets, Key("b"))).ok());
  const absl::Time deadline = absl::Now() + kPatience;
  while (seen.names.size() < 2 && absl::Now() < deadline) reflector.RunOnce(absl::Seconds(1));
  EXPECT_EQ(seen.names, (std::set<std::string>{"a", "b"}));
  EXPECT_EQ(seen.replaced, 1);
}

}  // namespace
}  // namespace muster::kube
