#include "base/tls/x509.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

CertificateProfile Profile(CertificateProfile::Use use) {
  CertificateProfile profile;
  profile.use = use;
  profile.common_name = "name";
  profile.not_before = kNow;
  profile.not_after = kNow + absl::Hours(1);
  return profile;
}

class X509Test : public testing::Test {
 protected:
  PrivateKey authority_key_ = *PrivateKey::Generate();
  Issuer authority_{*SelfSign(authority_key_, Profile(CertificateProfile::Use::kAuthority)),
                    authority_key_};
  PrivateKey key_ = *PrivateKey::Generate();
};

TEST_F(X509Test, KeysSurviveTheirText) {
  const auto again = PrivateKey::FromPem(key_.ToPem());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->ToPem(), key_.ToPem());
  EXPECT_NE(PrivateKey::Generate()->ToPem(), key_.ToPem());
}

TEST_F(X509Test, ACertificateSaysWhatItsProfileSays) {
  CertificateProfile profile = Profile(CertificateProfile::Use::kClient);
  profile.dns_names = {"a.b", "c, DNS:evil"};  // a name cannot smuggle in another
  profile.uris = {"spiffe://x/y"};
  const auto pem = SignKey(authority_, key_, profile);
  ASSERT_TRUE(pem.ok()) << pem.status();
  const auto info = ReadCertificate(*pem);
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->common_name, "name");
  EXPECT_THAT(info->dns_names, ElementsAre("a.b", "c, DNS:evil"));
  EXPECT_THAT(info->uris, ElementsAre("spiffe://x/y"));
  EXPECT_EQ(info->not_before, kNow);
  EXPECT_EQ(info->not_after, kNow + absl::Hours(1));
  EXPECT_FALSE(info->is_authority);
  EXPECT_TRUE(ReadCertificate(authority_.certificate_pem)->is_authority);
  EXPECT_TRUE(KeyMatches(key_, *pem));
  EXPECT_FALSE(KeyMatches(authority_key_, *pem));
}

TEST_F(X509Test, ARequestGivesItsKeyAndNothingElse) {
  const auto request = MakeSigningRequest(key_, "root of all");
  ASSERT_TRUE(request.ok());
  const auto pem = SignRequest(authority_, *request, Profile(CertificateProfile::Use::kClient));
  ASSERT_TRUE(pem.ok()) << pem.status();
  EXPECT_TRUE(KeyMatches(key_, *pem));
  EXPECT_EQ(ReadCertificate(*pem)->common_name, "name");
}

TEST_F(X509Test, ARequestThatWasChangedIsRefused) {
  std::string request = *MakeSigningRequest(key_, "name");
  int refused = 0;
  for (size_t i = 40; i + 40 < request.size(); i += 7) {
    std::string changed = request;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    if (changed == request) continue;
    const auto pem = SignRequest(authority_, changed, Profile(CertificateProfile::Use::kClient));
    EXPECT_TRUE(absl::IsInvalidArgument(pem.status())) << i;
    ++refused;
  }
  EXPECT_GT(refused, 20);
}

TEST_F(X509Test, OnlyP256IsTaken) {
  // Made by `openssl genpkey -algorithm ED25519`.
  const auto other = PrivateKey::FromPem(
      "-----BEGIN PRIVATE KEY-----\n"
      "MC4CAQAwBQYDK2VwBCIEIHJsrPtFjQ8b7oEMqB6ybKG4V9tbfVTlWyXJDN7jvK8A\n"
      "-----END PRIVATE KEY-----\n");
  EXPECT_TRUE(absl::IsInvalidArgument(other.status()));
  EXPECT_THAT(std::string(other.status().message()), HasSubstr("P-256"));
}

TEST_F(X509Test, MalformedAndOversizedInputIsRefused) {
  EXPECT_THAT(std::string(ReadCertificate("nonsense").status().message()),
              HasSubstr("not a PEM certificate"));
  EXPECT_THAT(std::string(PrivateKey::FromPem("nonsense").status().message()),
              HasSubstr("not a PEM private key"));
  EXPECT_THAT(std::string(ReadCertificate("").status().message()), HasSubstr("1 to 65536 bytes"));
  EXPECT_FALSE(ReadCertificate(std::string(1 << 20, 'x')).ok());
  EXPECT_FALSE(KeyMatches(key_, "nonsense"));
}

}  // namespace
}  // namespace muster
