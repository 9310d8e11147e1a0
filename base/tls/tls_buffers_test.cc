#include "base/tls/tls_buffers.h"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "base/tls/x509.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

constexpr size_t kBuffer = 17 << 10;

class TlsBuffersTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(InstallTlsBuffers()); }

  static int ResidentPages(void* p) {
    std::vector<unsigned char> pages(5);
    EXPECT_EQ(mincore(p, pages.size() * getpagesize(), pages.data()), 0);
    int resident = 0;
    for (const unsigned char page : pages) resident += page & 1;
    return resident;
  }
};

TEST_F(TlsBuffersTest, ALargeBufferIsResidentOnlyWhereItWasTouched) {
  char* buffer = static_cast<char*>(OPENSSL_malloc(kBuffer));
  ASSERT_EQ(reinterpret_cast<uintptr_t>(buffer) % getpagesize(), 0u);
  EXPECT_EQ(ResidentPages(buffer), 0);
  buffer[100] = 1;
  EXPECT_EQ(ResidentPages(buffer), 1);
  std::memset(buffer, 1, kBuffer);
  EXPECT_EQ(ResidentPages(buffer), 5);
  OPENSSL_free(buffer);
  char* again = static_cast<char*>(OPENSSL_malloc(kBuffer));
  EXPECT_EQ(again, buffer);
  EXPECT_EQ(ResidentPages(again), 0) << "it went back to the kernel in between";
  OPENSSL_free(again);
}

TEST_F(TlsBuffersTest, BuffersKeepTheirBytesWhenTheyGrowAndShrink) {
  char* buffer = static_cast<char*>(OPENSSL_malloc(kBuffer));
  std::memset(buffer, 'x', kBuffer);
  buffer = static_cast<char*>(OPENSSL_realloc(buffer, 100'000));
  EXPECT_EQ(std::string(buffer, kBuffer), std::string(kBuffer, 'x'));
  buffer = static_cast<char*>(OPENSSL_realloc(buffer, kBuffer));
  buffer = static_cast<char*>(OPENSSL_realloc(buffer, 10));
  EXPECT_EQ(std::string(buffer, 10), std::string(10, 'x'));
  OPENSSL_free(buffer);
}

TEST_F(TlsBuffersTest, OpenSslWorksWithIt) {
  const auto key = PrivateKey::Generate();
  ASSERT_TRUE(key.ok()) << key.status();
  EXPECT_TRUE(MakeSigningRequest(*key, "name").ok());
}

}  // namespace
}  // namespace muster
