#include "base/secrets.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

TEST(SecretsTest, EachIsAnother) {
  const std::string secret = RandomSecret();
  EXPECT_EQ(secret.size(), kSecretBytes);
  EXPECT_NE(secret, RandomSecret());
}

// RFC 4231, test case 2.
TEST(SecretsTest, HmacIsThatOfTheRfc) {
  EXPECT_EQ(absl::BytesToHexString(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_NE(HmacSha256("", "text"), HmacSha256("key", "text"));
}

TEST(SecretsTest, OnlyEqualSecretsAreEqual) {
  EXPECT_TRUE(SecretsEqual("abc", "abc"));
  EXPECT_TRUE(SecretsEqual("", ""));
  EXPECT_FALSE(SecretsEqual("abc", "abd"));
  EXPECT_FALSE(SecretsEqual("abc", "ab"));
}

}  // namespace
}  // namespace muster
