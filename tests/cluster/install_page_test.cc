// The commands of docs/install.md that need nodes, on real kubelets: Prometheus and Alertmanager of
// deploy/monitoring/standalone, a job to its end, and an alert that arrives in a mailbox.
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/files/files.h"
#include "base/process/process.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cluster/installed_operator.h"
#include "tests/testenv/page_blocks.h"

namespace muster::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

constexpr char kMailPort[] = "2525";

class InstallPageTest : public testing::Test {
 protected:
  void SetUp() override {
    page_ = ReadFile(FileSystem(), DataPath("docs/install.md")).value_or("");
    at_.Shell(absl::StrCat("mkdir examples docs mails && cp -L ", DataPath("docs/install.md"),
                           " docs && cp -rL ", DataPath("examples/cluster"), " examples"));
    for (const char* image : {"prometheus", "alertmanager"}) at_.ImportOwnImage(image);
    at_.Shell(
        "sed -i 's,newName: prom/,newName: muster.test/,; s/newTag: .*}/newTag: own}/' "
        "deploy/monitoring/standalone/kustomization.yaml");
    MakeVolume();
    StartMailServer();
    WriteAlertmanagerConfig();
  }
  void TearDown() override {
    at_.Shell("kubectl delete namespace monitoring");
    if (mail_server_ != nullptr) EXPECT_TRUE(mail_server_->Signal(SIGKILL).ok());
  }

  // Runs a block of the page.
  std::string Documented(const std::string& block) {
    done_.insert(block);
    const std::string commands = BlockAfter(page_, absl::StrCat("run on nodes: ", block));
    EXPECT_NE(commands, "") << block;
    return at_.Shell(commands);
  }

  // Makes what the page's claim is bound to: no provisioner of volumes runs here.
  void MakeVolume() {
    const std::string path = at_.shared_folder() + "/page";
    at_.Shell(absl::StrCat("mkdir ", path, " && chmod 0777 ", path));
    at_.ApplyYaml(absl::StrCat(R"(
apiVersion: v1
kind: PersistentVolume
metadata: {name: page}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteMany]
  storageClassName: shared
  claimRef: {namespace: default, name: checkpoints}
  hostPath: {path: )",
                               path, "}\n"));
  }

  // Pods reach this machine where they reach the API server.
  void StartMailServer() {
    address_ = at_.Shell(
        "kubectl get endpoints kubernetes --namespace=default"
        " --output=jsonpath='{.subsets[0].addresses[0].ip}' 2>/dev/null");
    ProcessSpec spec;
    spec.argv = {"/usr/bin/python3", DataPath("tests/monitoring/mail_server.py"), address_,
                 kMailPort, at_.folder() + "/mails"};
    spec.cwd = at_.folder();
    spec.die_with_parent = true;
    auto server = ProcessLauncher::Real().Launch(spec);
    ASSERT_TRUE(server.ok()) << server.status();
    mail_server_ = *std::move(server);
  }
  // Writes docs/monitoring.md's configuration, with the mail server of the test, and told at once.
  void WriteAlertmanagerConfig() {
    const auto page = ReadFile(FileSystem(), DataPath("docs/monitoring.md"));
    ASSERT_TRUE(page.ok()) << page.status();
    const std::string config =
        absl::StrReplaceAll(BlockAfter(*page, "alertmanager"),
                            {{"smtp.example.com:587", absl::StrCat(address_, ":", kMailPort)},
                             {"smtp_require_tls: true", "smtp_require_tls: false"},
                             {"group_wait: 30s", "group_wait: 0s"}});
    ASSERT_TRUE(WriteFileAtomically(FileSystem(), at_.folder() + "/alertmanager.yml", config).ok());
  }

  // Repeats a command until its output has `words`, and returns the output.
  std::string AwaitOutput(const std::string& command, const std::string& words) {
    return at_.Shell(absl::StrCat("until out=$(", command, ") && grep --quiet --fixed-strings '",
                                  words, "' <<<\"$out\"; do sleep 0.2; done; echo \"$out\""));
  }

  InstalledOperator& at_ = InstalledOperator::Get();
  std::string page_;
  std::string address_;
  std::set<std::string> done_;
  std::unique_ptr<Process> mail_server_;
};

TEST_F(InstallPageTest, LeadsToAFinishedJobItsNumbersAndAnAlertInAMailbox) {
  Documented("monitoring");
  EXPECT_THAT(Documented("first-job"), AllOf(HasSubstr("Succeeded"), HasSubstr("joined round=1")));
  EXPECT_THAT(Documented("query"), HasSubstr(R"("training_job":"default/first")"));
  EXPECT_THAT(Documented("alert"), HasSubstr("/nowhere/text.txt"));
  const std::string mail = AwaitOutput("cat mails/*.txt", "The job default/fails has failed.");
  EXPECT_THAT(mail, AllOf(HasSubstr("oncall@example.com"), HasSubstr("MusterJobFailed"),
                          HasSubstr("docs/operations.md#musterjobfailed")));
  EXPECT_THAT(mail, Not(HasSubstr("MusterOperatorDown"))) << "all replicas are scraped";
  Documented("tidy");
  EXPECT_THAT(BlockNames(page_, "run on nodes"), UnorderedElementsAreArray(done_))
      << "a block of the page is run by nobody";
}

}  // namespace
}  // namespace muster::tests
