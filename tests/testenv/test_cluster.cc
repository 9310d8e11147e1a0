#include "tests/testenv/test_cluster.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/clock.h"
#include "base/files/files.h"
#include "base/random_name.h"
#include "base/status_macros.h"
#include "operator/kube/credentials/kubeconfig.h"
#include "operator/kube/credentials/rest_config.h"
#include "operator/kube/object_meta.h"

namespace muster::tests {
namespace {

constexpr char kSharedName[] = "shared";
constexpr absl::Duration kComponentDeadline = absl::Minutes(3);
// An image with PyTorch has more than a gigabyte, which a busy disk takes minutes to write.
constexpr absl::Duration kLongestImport = absl::Minutes(5);

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

std::string TemporaryFolder() {
  const std::string folder = Variable("TEST_TMPDIR");
  return folder.empty() ? "/tmp" : folder;
}

// A temporary file that is deleted when its descriptor is closed.
class ScratchFile {
 public:
  ScratchFile() {
    std::string path = TemporaryFolder() + "/command.XXXXXX";
    fd_ = mkostemp(path.data(), O_CLOEXEC);
    if (fd_ >= 0) unlink(path.c_str());
  }
  ~ScratchFile() {
    if (fd_ >= 0) close(fd_);
  }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  int fd() const { return fd_; }

  bool Fill(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = write(fd_, text.data(), text.size());
      if (written < 0) return false;
      text.remove_prefix(static_cast<size_t>(written));
    }
    return lseek(fd_, 0, SEEK_SET) == 0;
  }

  std::string Contents() {
    std::string text;
    char block[65536];
    lseek(fd_, 0, SEEK_SET);
    for (ssize_t got = 0; (got = read(fd_, block, sizeof(block))) > 0;) {
      text.append(block, static_cast<size_t>(got));
    }
    return text;
  }

 private:
  int fd_ = -1;
};

absl::StatusOr<ExitStatus> WaitForEnd(Process& process, absl::Time deadline) {
  while (true) {
    MUSTER_ASSIGN_OR_RETURN(const std::optional<ExitStatus> ended, process.Poll());
    if (ended) return *ended;
    const absl::Duration left = deadline - Clock::Real().Monotonic();
    if (left <= absl::ZeroDuration()) return absl::DeadlineExceededError("it still runs");
    pollfd wait = {process.poll_fd(), POLLIN, 0};
    poll(&wait, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
  }
}

absl::Status Expect(const absl::StatusOr<CommandResult>& result, const std::string& what) {
  if (!result.ok()) return result.status();
  if (result->ok()) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat(what, ": ", DescribeExit(result->exit), ": ", result->err, result->out));
}

}  // namespace

absl::StatusOr<CommandResult> TestCluster::Run(const std::vector<std::string>& argv,
                                               std::string_view input, absl::Duration within) {
  ScratchFile in, out, err;
  if (in.fd() < 0 || out.fd() < 0 || err.fd() < 0 || !in.Fill(input)) {
    return absl::InternalError(absl::StrCat("cannot write to ", TemporaryFolder()));
  }
  ProcessSpec spec;
  spec.argv = argv;
  for (char** entry = environ; *entry != nullptr; ++entry) spec.env.emplace_back(*entry);
  spec.cwd = TemporaryFolder();
  spec.fds = {{in.fd(), 0}, {out.fd(), 1}, {err.fd(), 2}};
  MUSTER_ASSIGN_OR_RETURN(const auto process, ProcessLauncher::Real().Launch(spec));
  const auto exit = WaitForEnd(*process, Clock::Real().Monotonic() + within);
  if (!exit.ok()) {
    (void)process->Signal(SIGKILL);
    return absl::Status(exit.status().code(),
                        absl::StrCat(absl::StrJoin(argv, " "), ": ", exit.status().message(),
                                     " after ", absl::FormatDuration(within)));
  }
  return CommandResult{*exit, out.Contents(), err.Contents()};
}

absl::StatusOr<std::unique_ptr<TestCluster>> TestCluster::Create(const std::string& prefix) {
  auto cluster = std::unique_ptr<TestCluster>(new TestCluster);
  cluster->name_ = Variable("MUSTER_TESTENV_NAME");
  cluster->kubeconfig_ = Variable("KUBECONFIG");
  cluster->server_ = Variable("MUSTER_TESTENV_SERVER");
  cluster->ca_file_ = Variable("MUSTER_TESTENV_CA");
  cluster->bin_ = Variable("MUSTER_TESTENV_BIN");
  cluster->tool_ = Variable("MUSTER_TESTENV_TOOL");
  if (cluster->name_.empty() || cluster->kubeconfig_.empty()) {
    return absl::FailedPreconditionError(
        "no control plane in the environment: make the target with cluster_test, or start it with "
        "tools/testenv exec");
  }
  MUSTER_ASSIGN_OR_RETURN(kube::RestConfig config, kube::LoadKubeconfig({cluster->kubeconfig_}));
  MUSTER_ASSIGN_OR_RETURN(cluster->api_, kube::RestApi::Create(std::move(config)));
  cluster->unique_ = RandomName();
  const std::string name = cluster->Unique(prefix);
  const Json wanted = kube::NewObject(kube::kNamespaces, {"", name});
  MUSTER_RETURN_IF_ERROR(cluster->api_->Create(kube::kNamespaces, wanted).status());
  cluster->name_space_ = name;
  return cluster;
}

TestCluster::~TestCluster() {
  if (name_space_.empty()) return;
  // The control plane deletes the namespace's contents later.
  (void)api_->Delete(kube::kNamespaces, {"", name_space_});
}

std::string TestCluster::Program(const std::string& name) const {
  return absl::StrCat(bin_, "/", name);
}

std::string TestCluster::Unique(const std::string& name) const {
  return absl::StrCat(name, "-", unique_);
}

absl::StatusOr<CommandResult> TestCluster::Kubectl(const std::vector<std::string>& arguments,
                                                   std::string_view input,
                                                   absl::Duration within) const {
  std::vector<std::string> argv = {Program("kubectl"), "--kubeconfig=" + kubeconfig_};
  if (!name_space_.empty()) argv.push_back("--namespace=" + name_space_);
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return Run(argv, input, within);
}

absl::StatusOr<Json> TestCluster::Get(const kube::ResourceType& type,
                                      const std::string& name) const {
  return api_->Get(type, {type.namespaced ? name_space_ : "", name});
}

absl::StatusOr<std::vector<Json>> TestCluster::List(const kube::ResourceType& type,
                                                    const std::string& label_selector) const {
  kube::ListOptions options;
  if (type.namespaced) options.name_space = name_space_;
  options.label_selector = label_selector;
  MUSTER_ASSIGN_OR_RETURN(kube::ObjectList list, api_->List(type, options));
  return std::move(list.items);
}

absl::Status TestCluster::Apply(const std::string& documents) const {
  return Expect(Kubectl({"apply", "--server-side", "--force-conflicts", "--filename=-"}, documents),
                "kubectl apply");
}

absl::Status TestCluster::InstallCrd() const {
  for (const char* plural : {"trainingjobs", "trainingqueues"}) {
    const std::string file = absl::StrCat(Variable("TEST_SRCDIR"), "/", Variable("TEST_WORKSPACE"),
                                          "/deploy/crd/muster.dev_", plural, ".yaml");
    MUSTER_ASSIGN_OR_RETURN(const std::string text, ReadFile(FileSystem(), file));
    MUSTER_RETURN_IF_ERROR(Apply(text));
  }
  // `kubectl wait` fails on a definition that has no conditions yet, and the conditions become true
  // before the server serves it.
  const absl::Time deadline = Clock::Real().Monotonic() + kComponentDeadline;
  absl::Status served = absl::UnknownError("not asked yet");
  while (!served.ok() && Clock::Real().Monotonic() < deadline) {
    served = Expect(Kubectl({"get", "trainingjobs,trainingqueues"}),
                    "wait for the CustomResourceDefinitions");
  }
  return served;
}

absl::StatusOr<std::string> TestCluster::ServiceAccountToken(const std::string& name) const {
  if (!Get(kube::kServiceAccounts, name).ok()) {
    MUSTER_RETURN_IF_ERROR(
        Expect(Kubectl({"create", "serviceaccount", name}), "create a ServiceAccount"));
  }
  const auto token = Kubectl({"create", "token", name});
  MUSTER_RETURN_IF_ERROR(Expect(token, "create a token"));
  return std::string(absl::StripTrailingAsciiWhitespace(token->out));
}

absl::StatusOr<std::string> TestCluster::ServiceAccountKubeconfig(const std::string& name) const {
  MUSTER_ASSIGN_OR_RETURN(const std::string token, ServiceAccountToken(name));
  const Json config = {
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters",
       {{{"name", "testenv"},
         {"cluster", {{"server", server_}, {"certificate-authority", ca_file_}}}}}},
      {"users", {{{"name", name}, {"user", {{"token", token}}}}}},
      {"contexts",
       {{{"name", "testenv"},
         {"context", {{"cluster", "testenv"}, {"user", name}, {"namespace", name_space_}}}}}},
      {"current-context", "testenv"}};
  const std::string path = absl::StrCat(TemporaryFolder(), "/", Unique(name), ".kubeconfig");
  MUSTER_RETURN_IF_ERROR(WriteFileAtomically(FileSystem(), path, config.dump(2)));
  return path;
}

absl::StatusOr<std::string> TestCluster::UserKubeconfig(
    const std::string& user, const std::vector<std::string>& groups) const {
  std::string subject;
  for (const std::string& group : groups) absl::StrAppend(&subject, "/O=", group);
  absl::StrAppend(&subject, "/CN=", user);
  const std::string path = absl::StrCat(TemporaryFolder(), "/", Unique("user"), "-",
                                        absl::Hex(absl::HashOf(subject)), ".kubeconfig");
  MUSTER_RETURN_IF_ERROR(Expect(Run({tool_, "kubeconfig", "--name=" + name_, subject, path}),
                                "make a client certificate"));
  return path;
}

absl::Status TestCluster::ImportImage(const std::string& node, const std::string& archive) const {
  return Expect(Run({tool_, "image", "--name=" + name_, node, archive}, "", kLongestImport),
                "import " + archive);
}

absl::StatusOr<CommandResult> TestCluster::OnNode(const std::string& node,
                                                  const std::vector<std::string>& argv) const {
  std::vector<std::string> command = {tool_, "node", "--name=" + name_, node, "--"};
  command.insert(command.end(), argv.begin(), argv.end());
  return Run(command);
}

bool TestCluster::is_private() const { return name_ != kSharedName; }

absl::Status TestCluster::Control(const std::string& command, const std::string& component) const {
  if (!is_private()) {
    return absl::FailedPreconditionError(
        "other tests use this control plane: declare the test with private = True");
  }
  return Expect(Run({tool_, command, "--name=" + name_, component}, "", kComponentDeadline),
                command + " " + component);
}

absl::Status TestCluster::Kill(const std::string& component) const {
  return Control("kill", component);
}
absl::Status TestCluster::Stop(const std::string& component) const {
  return Control("stop", component);
}
absl::Status TestCluster::Start(const std::string& component) const {
  return Control("start", component);
}
absl::Status TestCluster::Freeze(const std::string& component) const {
  return Control("freeze", component);
}
absl::Status TestCluster::Thaw(const std::string& component) const {
  return Control("thaw", component);
}

}  // namespace muster::tests
