#include "tests/faults/api_proxy.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/random_name.h"
#include "base/status_macros.h"
#include "httplib.h"

namespace muster::tests {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::InternalError("cannot make a pipe");
  return Pipe{ends[0], ends[1]};
}

std::string ReadLine(int fd) {
  std::string line;
  char c = 0;
  while (read(fd, &c, 1) == 1 && c != '\n') line.push_back(c);
  return line;
}

std::vector<std::string> Command(const TestCluster& cluster) {
  const std::string pki = std::filesystem::path(cluster.ca_file()).parent_path();
  return {"/usr/bin/python3",
          "tests/faults/api_proxy.py",
          absl::StrCat("--upstream=", std::string(absl::StripPrefix(cluster.server(), "https://"))),
          absl::StrCat("--upstream-ca=", cluster.ca_file()),
          absl::StrCat("--client-certificate=", pki, "/admin.crt"),
          absl::StrCat("--client-key=", pki, "/admin.key"),
          absl::StrCat("--certificate=", pki, "/kube-apiserver.crt"),
          absl::StrCat("--key=", pki, "/kube-apiserver.key")};
}

absl::StatusOr<std::string> WriteKubeconfig(const TestCluster& cluster, const std::string& server) {
  std::ifstream in(cluster.kubeconfig());
  std::stringstream text;
  text << in.rdbuf();
  const char* folder = getenv("TEST_TMPDIR");
  const std::string path =
      absl::StrCat(folder == nullptr ? "/tmp" : folder, "/proxy-", RandomName(), ".kubeconfig");
  std::ofstream out(path);
  out << absl::StrReplaceAll(text.str(), {{cluster.server(), server}});
  out.close();
  if (!out) return absl::InternalError(absl::StrCat("cannot write ", path));
  return path;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ApiProxy>> ApiProxy::Start(const TestCluster& cluster) {
  MUSTER_ASSIGN_OR_RETURN(const Pipe in, MakePipe());
  MUSTER_ASSIGN_OR_RETURN(const Pipe out, MakePipe());
  ProcessSpec spec;
  spec.argv = Command(cluster);
  spec.env = {"PATH=/usr/bin:/bin"};
  spec.fds = {{in.read, 0}, {out.write, 1}, {2, 2}};
  MUSTER_ASSIGN_OR_RETURN(std::unique_ptr<Process> process, ProcessLauncher::Real().Launch(spec));
  close(in.read);
  close(out.write);
  std::istringstream line(ReadLine(out.read));
  close(out.read);

  std::unique_ptr<ApiProxy> proxy(new ApiProxy());
  proxy->process_ = std::move(process);
  proxy->stdin_ = in.write;
  std::string word, address;
  line >> word >> address >> proxy->control_port_;
  if (word != "listening") return absl::UnavailableError("the proxy did not start");
  proxy->server_ = absl::StrCat("https://", address);
  MUSTER_ASSIGN_OR_RETURN(proxy->kubeconfig_, WriteKubeconfig(cluster, proxy->server_));
  return proxy;
}

ApiProxy::~ApiProxy() {
  close(stdin_);
  (void)process_->Signal(SIGKILL);
  (void)process_->Poll();
}

absl::Status ApiProxy::Tell(const std::string& path, const Json& body) {
  httplib::Client client("127.0.0.1", control_port_);
  const httplib::Result result = client.Put(path, DumpJson(body), "application/json");
  if (!result || result->status != 200) {
    return absl::UnavailableError(absl::StrCat("the proxy refused ", path));
  }
  return absl::OkStatus();
}

absl::Status ApiProxy::SetRules(const Json& rules) { return Tell("/rules", rules); }

absl::Status ApiProxy::CutAll() { return Tell("/cut", Json::object()); }

absl::Status ApiProxy::ServeCertificate(const std::string& certificate, const std::string& key) {
  return Tell("/certificate", {{"certificate", certificate}, {"key", key}});
}

absl::StatusOr<std::vector<ProxiedRequest>> ApiProxy::Log() const {
  httplib::Client client("127.0.0.1", control_port_);
  const httplib::Result result = client.Get("/log");
  if (!result || result->status != 200) return absl::UnavailableError("the proxy has no log");
  MUSTER_ASSIGN_OR_RETURN(const Json log, ParseJson(result->body));
  std::vector<ProxiedRequest> requests;
  for (const Json& entry : log) {
    requests.push_back({entry[0].get<std::string>(), entry[1].get<std::string>(),
                        entry[2].get<std::string>(), entry[3].get<int>(),
                        entry[4].get<std::string>(), entry[5].get<double>()});
  }
  return requests;
}

}  // namespace muster::tests
