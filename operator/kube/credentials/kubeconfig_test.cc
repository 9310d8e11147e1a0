#include "operator/kube/credentials/kubeconfig.h"

#include <cstdlib>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/testing/memory_files.h"
#include "gtest/gtest.h"

namespace muster::kube {
namespace {

constexpr char kPem[] = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

constexpr char kConfig[] = R"(apiVersion: v1
kind: Config
clusters:
- name: c
  cluster: {server: "https://example.test:6443/k8s", certificate-authority: pki/ca.crt}
- name: d
  cluster: {server: "https://other.test", tls-server-name: api}
users:
- name: u
  user: {client-certificate: /abs/u.crt, client-key: u.key}
- name: t
  user: {tokenFile: t.token}
contexts:
- name: x
  context: {cluster: c, user: u, namespace: here}
- name: y
  context: {cluster: d, user: t}
current-context: x
)";

class KubeconfigTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) {
    ASSERT_TRUE(files_.MakeDirectories(ParentPath(path)).ok());
    ASSERT_TRUE(WriteFileAtomically(files_, path, text).ok());
  }
  // Returns the error for kConfig with `from` replaced.
  std::string ErrorWith(const std::string& from, const std::string& to) {
    const std::string text = absl::StrReplaceAll(kConfig, {{from, to}});
    EXPECT_NE(text, kConfig) << from;
    Write("/k/config", text);
    const auto config = LoadKubeconfig({"/k/config"}, "", files_);
    EXPECT_FALSE(config.ok());
    return std::string(config.status().message());
  }
  MemoryFiles files_;
};

TEST_F(KubeconfigTest, AProxyIsTheClustersOrElseTheEnvironments) {
  const auto proxy = [this](const std::string& cluster) {
    Write("/k/config",
          absl::StrReplaceAll(kConfig, {{"certificate-authority: pki/ca.crt", cluster}}));
    const auto config = LoadKubeconfig({"/k/config"}, "", files_);
    EXPECT_TRUE(config.ok()) << config.status();
    return config.ok() ? config->proxy : "";
  };
  EXPECT_EQ(proxy("tls-server-name: x"), "");
  setenv("HTTPS_PROXY", "http://env:3128", 1);
  EXPECT_EQ(proxy("tls-server-name: x"), "http://env:3128");
  EXPECT_EQ(proxy("proxy-url: \"http://own:3128\""), "http://own:3128");
  setenv("NO_PROXY", "example.test", 1);
  EXPECT_EQ(proxy("tls-server-name: x"), "");
  EXPECT_EQ(proxy("proxy-url: \"http://own:3128\""), "http://own:3128");
  unsetenv("NO_PROXY");
  setenv("HTTPS_PROXY", "socks5://u:secret@p", 1);
  EXPECT_EQ(LoadKubeconfig({"/k/config"}, "y", files_).status().message(),
            "HTTPS_PROXY: a proxy URL must start with http://; want "
            "http://[user:password@]host:port");
  unsetenv("HTTPS_PROXY");
}

TEST_F(KubeconfigTest, AnswersAreAskedForAsGzipUnlessItSaysOtherwise) {
  Write("/k/config", kConfig);
  EXPECT_TRUE(LoadKubeconfig({"/k/config"}, "", files_)->gzip);
  Write("/k/config", absl::StrReplaceAll(kConfig, {{"certificate-authority: pki/ca.crt",
                                                    "disable-compression: true"}}));
  EXPECT_FALSE(LoadKubeconfig({"/k/config"}, "", files_)->gzip);
}

TEST_F(KubeconfigTest, TheCurrentContextWithPathsRelativeToTheFile) {
  Write("/k/config", kConfig);
  const auto config = LoadKubeconfig({"/k/config"}, "", files_);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://example.test:6443/k8s");
  EXPECT_EQ(config->ca.file, "/k/pki/ca.crt");
  EXPECT_EQ(config->client_certificate.file, "/abs/u.crt");
  EXPECT_EQ(config->client_key.file, "/k/u.key");
  EXPECT_EQ(config->name_space, "here");
}

TEST_F(KubeconfigTest, AnotherContextCanBeAskedFor) {
  Write("/k/config", kConfig);
  const auto config = LoadKubeconfig({"/k/config"}, "y", files_);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://other.test");
  EXPECT_EQ(config->tls_server_name, "api");
  EXPECT_EQ(config->token_file, "/k/t.token");
  EXPECT_EQ(config->name_space, "default");
  EXPECT_EQ(LoadKubeconfig({"/k/config"}, "z", files_).status().message(),
            "/k/config: contexts: there is no context \"z\"");
}

TEST_F(KubeconfigTest, DataInTheFileWinsOverPaths) {
  const std::string data = absl::Base64Escape(kPem);
  Write("/k/config", absl::StrReplaceAll(kConfig, {{"certificate-authority: pki/ca.crt",
                                                    "certificate-authority: pki/ca.crt, "
                                                    "certificate-authority-data: " +
                                                        data}}));
  const auto config = LoadKubeconfig({"/k/config"}, "", files_);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ca.pem, kPem);
  EXPECT_EQ(config->ca.file, "");
}

TEST_F(KubeconfigTest, TheFirstFileToNameSomethingCounts) {
  Write("/a/config", R"(
clusters: [{name: c, cluster: {server: "https://first.test"}}]
users: [{name: mine, user: {token: secret-1}}]
)");
  Write("/k/config", kConfig);
  const auto config = LoadKubeconfig({"/a/config", "/absent", "/k/config"}, "", files_);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://first.test");
  EXPECT_TRUE(config->ca.empty());  // entries are not merged into each other
  EXPECT_EQ(config->client_key.file, "/k/u.key");
  EXPECT_EQ(LoadKubeconfig({"/absent"}, "", files_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(KubeconfigTest, UnsafeAndUnsupportedFieldsAreRefused) {
  EXPECT_EQ(ErrorWith("tls-server-name: api}", "tls-server-name: api}\n- {}"),
            "/k/config: clusters[2].name: is missing");
  EXPECT_EQ(ErrorWith("certificate-authority: pki/ca.crt", "insecure-skip-tls-verify: true"),
            "/k/config: clusters[0].cluster.insecure-skip-tls-verify: is refused: the server's "
            "certificate is always verified; name its authority in certificate-authority");
  EXPECT_EQ(ErrorWith("certificate-authority: pki/ca.crt", "proxy-url: \"socks5://u:secret@p\""),
            "/k/config: clusters[0].cluster.proxy-url: a proxy URL must start with http://; want "
            "http://[user:password@]host:port");
  EXPECT_EQ(ErrorWith("https://example.test:6443/k8s", "http://example.test"),
            "/k/config: clusters[0].cluster.server: \"http://example.test\" must start with "
            "https://: connections are always encrypted and verified");
  EXPECT_EQ(ErrorWith("client-key: u.key", "as: root, client-key: u.key"),
            "/k/config: users[0].user.as: impersonation is not supported");
  EXPECT_EQ(ErrorWith("client-key: u.key", "password: hunter2, client-key: u.key"),
            "/k/config: users[0].user.password: API servers take no passwords; use a certificate, "
            "a token or an exec plugin");
}

TEST_F(KubeconfigTest, ErrorsNameTheFileAndTheField) {
  EXPECT_EQ(ErrorWith(", client-key: u.key", ""),
            "/k/config: users[0].user.client-key: is missing: a client certificate needs both");
  EXPECT_EQ(ErrorWith("cluster: c, user", "cluster: e, user"),
            "/k/config: contexts[0].context.cluster: there is no cluster \"e\"");
  EXPECT_EQ(ErrorWith("current-context: x", "current-context: w"),
            "/k/config: current-context: there is no context \"w\"");
  EXPECT_EQ(ErrorWith("current-context: x", ""),
            "/k/config: current-context: is missing, and no context was given");
  EXPECT_EQ(ErrorWith("kind: Config", "kind: Pod"), "/k/config: kind: must be Config");
  EXPECT_EQ(ErrorWith("pki/ca.crt", "[1]"),
            "/k/config: clusters[0].cluster.certificate-authority: must be a string");
  EXPECT_EQ(ErrorWith("certificate-authority: pki/ca.crt", "certificate-authority-data: \"%\""),
            "/k/config: clusters[0].cluster.certificate-authority-data: is not base64");
  EXPECT_EQ(ErrorWith("certificate-authority: pki/ca.crt", "certificate-authority-data: YWJj"),
            "/k/config: clusters[0].cluster.certificate-authority-data: contains no PEM");
  EXPECT_EQ(ErrorWith("users:", "users: {").substr(0, 10), "/k/config:");
}

TEST_F(KubeconfigTest, ExecPlugins) {
  Write("/k/config",
        absl::StrReplaceAll(kConfig, {{"{client-certificate: /abs/u.crt, client-key: u.key}", R"(
      exec:
        apiVersion: client.authentication.k8s.io/v1
        command: ./bin/login
        args: [get, token]
        env: [{name: REGION, value: here}]
        installHint: get it from there
        provideClusterInfo: true
        interactiveMode: Never)"}}));
  const auto config = LoadKubeconfig({"/k/config"}, "", files_);
  ASSERT_TRUE(config.ok()) << config.status();
  ASSERT_TRUE(config->exec.has_value());
  EXPECT_EQ(config->exec->argv, (std::vector<std::string>{"/k/./bin/login", "get", "token"}));
  EXPECT_EQ(config->exec->env[0].second, "here");
  EXPECT_TRUE(config->exec->provide_cluster_info);
  EXPECT_EQ(
      ErrorWith("{client-certificate: /abs/u.crt, client-key: u.key}", "{exec: {command: a}}"),
      "/k/config: users[0].user.exec.apiVersion: must be client.authentication.k8s.io/v1");
}

TEST_F(KubeconfigTest, InAPod) {
  Write("/sa/token", "t");
  Write("/sa/ca.crt", kPem);
  Write("/sa/namespace", "mine\n");
  unsetenv("KUBERNETES_SERVICE_HOST");
  EXPECT_EQ(InClusterConfig("/sa", files_).status().code(), absl::StatusCode::kFailedPrecondition);
  setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1);
  setenv("KUBERNETES_SERVICE_PORT", "443", 1);
  const auto config = InClusterConfig("/sa", files_);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://[fd00::1]:443");
  EXPECT_EQ(config->token_file, "/sa/token");
  EXPECT_EQ(config->ca.file, "/sa/ca.crt");
  EXPECT_EQ(config->name_space, "mine");
  EXPECT_EQ(InClusterConfig("/none", files_).status().code(), absl::StatusCode::kNotFound);
}

TEST(KubeconfigPathsTest, TheFlagThenTheVariable) {
  setenv("KUBECONFIG", "/a:/b::", 1);
  EXPECT_EQ(KubeconfigPaths("/flag"), (std::vector<std::string>{"/flag"}));
  EXPECT_EQ(KubeconfigPaths(""), (std::vector<std::string>{"/a", "/b"}));
  unsetenv("KUBECONFIG");
  setenv("HOME", "/h", 1);
  EXPECT_EQ(KubeconfigPaths(""), (std::vector<std::string>{"/h/.kube/config"}));
}

}  // namespace
}  // namespace muster::kube
