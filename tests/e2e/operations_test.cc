// Runs the commands of docs/operator-process.md and docs/operations.md in their order, from
// installing to removing, and compares the page of flags.
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files/files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "operator/kube/resource_type.h"
#include "tests/e2e/e2e_world.h"
#include "tests/testenv/page_blocks.h"
#include "tests/testenv/test_cluster.h"

namespace muster::tests {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

std::string Page(const std::string& name) {
  return ReadFile(FileSystem(), absl::StrCat(std::getenv("TEST_SRCDIR"), "/",
                                             std::getenv("TEST_WORKSPACE"), "/docs/", name))
      .value_or("");
}

TEST(OperationsTest, EveryCommandOfThePageWorksFromInstallingToRemoving) {
  // Create() runs the blocks "install" and "kubeconfig".
  auto world = E2eWorld::Create();
  ASSERT_TRUE(world.ok()) << world.status();
  std::set<std::string> done = {"install", "kubeconfig", "operator"};
  auto run = [&](const std::string& block, const std::vector<std::string>& env = {}) {
    done.insert(block);
    const auto out = (*world)->RunDocumented(block, env);
    EXPECT_TRUE(out.ok()) << out.status();
    return out.value_or("");
  };
  EXPECT_EQ(run("rights"), "yes\nno\nno\n");
  ASSERT_TRUE((*world)->StartNode("alpha").ok());
  ASSERT_TRUE((*world)->StartNode("beta").ok());
  const absl::Status started = (*world)->StartOperator();
  ASSERT_TRUE(started.ok()) << started;
  EXPECT_THAT(run("look"), HasSubstr("muster_"));

  const std::string manifest = (*world)->Manifest("first", 2, 700);
  ASSERT_TRUE(WriteFileAtomically(FileSystem(), (*world)->folder() + "/job.yaml", manifest).ok());
  EXPECT_THAT(run("job"), HasSubstr("RoundActive"));
  run("taint", {"NODE=alpha"});
  run("upgrade");
  run("remove");
  EXPECT_FALSE((*world)->cluster().Get(kube::kNamespaces, "muster-system").ok());
  EXPECT_FALSE((*world)->cluster().List(kube::kTrainingJobs).ok());

  std::vector<std::string> marked;
  for (const char* page : {"operator-process.md", "operations.md"}) {
    for (const char* mark : {"run", "run in background"}) {
      const std::vector<std::string> names = BlockNames(Page(page), mark);
      marked.insert(marked.end(), names.begin(), names.end());
    }
  }
  EXPECT_THAT(marked, UnorderedElementsAreArray(done)) << "this test runs each marked block";
}

TEST(OperationsTest, TheTableHasEveryFlag) {
  const std::string program = absl::StrCat(
      std::getenv("TEST_SRCDIR"), "/", std::getenv("TEST_WORKSPACE"), "/operator/muster-operator");
  const auto usage = TestCluster::Run({program, "--nonsense=1"});
  ASSERT_TRUE(usage.ok()) << usage.status();
  EXPECT_EQ(usage->exit.code, 2);
  const std::string page = Page("operator-flags.md");
  int flags = 0;
  const std::vector<std::string> lines = absl::StrSplit(usage->err, '\n');
  for (const std::string& line : lines) {
    if (line.compare(0, 4, "  --") != 0) continue;
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    for (const std::string& word : words) {
      if (word.compare(0, 2, "--") != 0) break;
      EXPECT_THAT(page, HasSubstr(absl::StrCat("`", word, "`"))) << line;
      ++flags;
    }
  }
  EXPECT_GT(flags, 15);
}

}  // namespace
}  // namespace muster::tests
