#include "trainer/comm/store_wire.h"

#include <string>

#include "gtest/gtest.h"

namespace muster::trainer {
namespace {

TEST(StoreWireTest, WhoKnowsOnlyTheNoncesKnowsNoKey) {
  const StoreKeys keys = DeriveStoreKeys("secret", "server", "client");
  EXPECT_NE(keys.client_proof, DeriveStoreKeys("", "server", "client").client_proof);
  EXPECT_NE(keys.client_proof, keys.server_proof);
  EXPECT_NE(keys.to_server, keys.to_client);
  EXPECT_NE(keys.client_proof, DeriveStoreKeys("secret", "another", "client").client_proof);
}

TEST(StoreWireTest, MessagesThatArriveInPartsAreOpenedInOrder) {
  StoreSeal seal("key"), open("key");
  const std::string both = seal.Seal("one") + seal.Seal("");
  for (size_t size = 0; size < both.size(); ++size) {
    StoreSeal part("key");
    std::string_view in = std::string_view(both).substr(0, size);
    const auto first = part.Open(in);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(first->has_value(), size >= 4 + 3 + kSealBytes);
  }
  std::string_view in = both;
  EXPECT_EQ(**open.Open(in), "one");
  EXPECT_EQ(**open.Open(in), "");
  EXPECT_TRUE(in.empty());
}

// Somebody between the two ends changes, repeats, drops or adds bytes.
TEST(StoreWireTest, WhatWasDoneToMessagesOnTheWayIsFound) {
  const auto opens = [](std::string_view in) {
    StoreSeal open("key");
    while (!in.empty()) {
      const auto message = open.Open(in);
      if (!message.ok()) return false;
      if (!message->has_value()) return true;
    }
    return true;
  };
  StoreSeal seal("key");
  const std::string one = seal.Seal("one"), two = seal.Seal("two");
  EXPECT_TRUE(opens(one + two));
  EXPECT_FALSE(opens(one + one)) << "repeated";
  EXPECT_FALSE(opens(two)) << "dropped";
  EXPECT_FALSE(opens(StoreSeal("another").Seal("one")));
  for (size_t i = 4; i < one.size(); ++i) {
    std::string changed = one;
    changed[i] ^= 1;
    EXPECT_FALSE(opens(changed)) << "byte " << i;
  }
  EXPECT_FALSE(opens("\xff\xff\xff\xff"));
}

TEST(StoreWireTest, AMalformedRequestIsRefused) {
  const std::string good = Encode(StoreRequest{StoreOperation::kSet, "key", "value"});
  ASSERT_TRUE(DecodeStoreRequest(good).has_value());
  EXPECT_EQ(DecodeStoreRequest(good)->key, "key");
  EXPECT_EQ(DecodeStoreRequest(good)->value, "value");
  for (size_t size = 0; size < 8; ++size) {
    EXPECT_FALSE(DecodeStoreRequest(good.substr(0, size)).has_value()) << size;
  }
  std::string unknown = good, long_key = good;
  unknown[0] = 9;
  long_key[4] = '\x7f';
  EXPECT_FALSE(DecodeStoreRequest(unknown).has_value());
  EXPECT_FALSE(DecodeStoreRequest(long_key).has_value());
  EXPECT_FALSE(DecodeStoreAnswer("").has_value());
}

}  // namespace
}  // namespace muster::trainer
