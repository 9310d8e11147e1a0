// Runs a job on a real control plane, with real tokens and keys, and looks for them in every log.
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "base/files/files.h"
#include "base/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/object_meta.h"
#include "operator/kube/resource_type.h"
#include "tests/e2e/e2e_world.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kPassword[] = "pa55word-of-the-template";

// Returns the files below `folder` whose path ends with `suffix`.
std::map<std::string, std::string> FilesBelow(const std::string& folder,
                                              const std::string& suffix) {
  std::map<std::string, std::string> found;
  const auto options = std::filesystem::directory_options::skip_permission_denied;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, options, error), end;
       !error && it != end; it.increment(error)) {
    const std::string path = it->path();
    if (!absl::EndsWith(path, suffix) || !it->is_regular_file(error)) continue;
    found[path] = ReadFile(FileSystem(), path).value_or("");
  }
  return found;
}

// Returns the first line of a key's own bytes.
std::string KeyMaterial(const std::string& pem) {
  const std::vector<std::string> lines = absl::StrSplit(pem, '\n');
  return lines.size() > 1 ? lines[1] : "";
}

class LogsTest : public testing::Test {
 protected:
  void SetUp() override {
    auto world = E2eWorld::Create();
    ASSERT_TRUE(world.ok()) << world.status();
    world_ = *std::move(world);
    for (const char* node : {"n1", "n2"}) ASSERT_TRUE(world_->StartNode(node).ok());
    const absl::Status started = world_->StartOperator();
    ASSERT_TRUE(started.ok()) << started;
  }

  void Train() {
    const std::string manifest = absl::StrReplaceAll(
        world_->Manifest("quiet", 2, 100),
        {{"{name: worker,",
          absl::StrCat("{name: worker, env: [{name: API_KEY, value: ", kPassword, "}],")}});
    ASSERT_THAT(manifest, HasSubstr(kPassword));
    const auto applied = world_->cluster().Kubectl({"apply", "--filename=-"}, manifest);
    ASSERT_TRUE(applied.ok()) << applied.status();
    ASSERT_TRUE(applied->ok()) << applied->err;
    const auto running = world_->WaitForRound("quiet", 2);
    ASSERT_TRUE(running.ok()) << running.status();
    for (const auto& [path, token] : FilesBelow(world_->folder(), "/token")) {
      secrets_[path] = token;
    }
    const auto done = world_->WaitForJob("quiet", "it succeeded", [](const Json& job) {
      return absl::StartsWith(ConditionOf(job, "Succeeded"), "True");
    });
    ASSERT_TRUE(done.ok()) << done.status();
  }

  // Collects what was there to be told: the authority's key and the operator's own token.
  void CollectKeys() {
    const auto secret =
        world_->cluster().api().Get(kube::kSecrets, {"muster-system", "muster-coordinator-ca"});
    ASSERT_TRUE(secret.ok()) << secret.status();
    std::string key;
    ASSERT_TRUE(absl::Base64Unescape(kube::StringAt(*secret, {"data", "tls.key"}), &key));
    secrets_["the authority's key"] = KeyMaterial(key);
    const std::string kubeconfig =
        ReadFile(FileSystem(), world_->folder() + "/operator.kubeconfig").value_or("");
    const std::vector<std::string> words =
        absl::StrSplit(kubeconfig, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "token:") secrets_["the operator's token"] = words[i + 1];
    }
  }

  std::unique_ptr<E2eWorld> world_;
  std::map<std::string, std::string> secrets_ = {{"the template's variable", kPassword},
                                                 {"a private key", "PRIVATE KEY"},
                                                 {"a token of the API server", "eyJhbGciOi"}};
};

TEST_F(LogsTest, NoLogOfOperatorAgentOrTrainerHoldsATokenOrAKey) {
  ASSERT_NO_FATAL_FAILURE(Train());
  ASSERT_NO_FATAL_FAILURE(CollectKeys());
  // An administrator reads with a token of their own.
  const auto looked = world_->RunDocumented("look");
  EXPECT_TRUE(looked.ok()) << looked.status();
  ASSERT_GE(secrets_.size(), 7u) << "two workers' tokens, too";
  for (const auto& [name, secret] : secrets_) EXPECT_GT(secret.size(), 9u) << name;

  const std::map<std::string, std::string> logs = FilesBelow(world_->folder(), ".log");
  std::string all;
  for (const auto& [path, text] : logs) {
    absl::StrAppend(&all, text);
    for (const auto& [name, secret] : secrets_) {
      EXPECT_THAT(text, Not(HasSubstr(secret))) << path << " holds " << name;
    }
  }
  // Everybody who had a secret has written what is searched.
  EXPECT_THAT(all, HasSubstr("pod created")) << "the operator";
  EXPECT_THAT(all, HasSubstr("agent ends")) << "an agent";
  EXPECT_THAT(all, HasSubstr("joined round=1")) << "a trainer";
}

}  // namespace
}  // namespace muster::tests
