#include "operator/nodes/authority_config.h"

#include <memory>
#include <utility>

#include "base/testing/manual_clock.h"
#include "gtest/gtest.h"
#include "operator/kube/memory/memory_api.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"

namespace muster::control {
namespace {

TEST(AuthorityConfigTest, IsMadeOnceAndFollowsTheAuthority) {
  ManualClock clock;
  kube::MemoryApiOptions options;
  options.random = [n = uint64_t{0}]() mutable { return ++n; };
  const auto api = *kube::MemoryApi::Open(clock, std::move(options));
  const kube::ObjectKey key{"muster-node-agents", kAuthorityConfigMap};
  const auto read = [&] { return *api->Get(kube::kConfigMaps, key); };
  ASSERT_TRUE(PublishAuthority(*api, key.name_space, "first").ok());
  EXPECT_EQ(kube::StringAt(read(), {"data", "ca.crt"}), "first");
  const std::string version = kube::ResourceVersionOf(read());
  ASSERT_TRUE(PublishAuthority(*api, key.name_space, "first").ok());
  EXPECT_EQ(kube::ResourceVersionOf(read()), version);
  ASSERT_TRUE(PublishAuthority(*api, key.name_space, "second").ok());
  EXPECT_EQ(kube::StringAt(read(), {"data", "ca.crt"}), "second");
}

}  // namespace
}  // namespace muster::control
