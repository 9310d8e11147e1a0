#include "operator/kube/credentials/kubeconfig.h"

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/host_port.h"
#include "base/json.h"
#include "base/status_macros.h"
#include "base/yaml/yaml_adapter.h"
#include "operator/kube/http/proxy.h"
#include "operator/kube/http/server_url.h"

namespace muster::kube {
namespace {

constexpr size_t kMaxFile = size_t{1} << 20;

// A map in a kubeconfig and its position, for error messages.
struct Place {
  std::string file;
  std::string field;
  const Json* json = nullptr;

  absl::Status Bad(const std::string& name, const std::string& what) const {
    const std::string dot = field.empty() || name.empty() ? "" : ".";
    return absl::InvalidArgumentError(absl::StrCat(file, ": ", field, dot, name, ": ", what));
  }
  bool Has(const char* name) const { return json->contains(name) && !(*json)[name].is_null(); }
  absl::StatusOr<std::string> Text(const char* name) const {
    if (!Has(name)) return std::string();
    const Json& value = (*json)[name];
    if (!value.is_string()) return Bad(name, "must be a string");
    return value.get<std::string>();
  }
  absl::StatusOr<bool> Flag(const char* name) const {
    if (!Has(name)) return false;
    const Json& value = (*json)[name];
    if (!value.is_boolean()) return Bad(name, "must be true or false");
    return value.get<bool>();
  }
  // Returns a path, which is relative to the file's directory.
  absl::StatusOr<std::string> Path(const char* name) const {
    absl::StatusOr<std::string> path = Text(name);
    if (!path.ok() || path->empty() || path->front() == '/') return path;
    return JoinPath(ParentPath(file), *path);
  }
  absl::StatusOr<PemSource> Pem(const char* name) const {
    PemSource source;
    MUSTER_ASSIGN_OR_RETURN(source.file, Path(name));
    const std::string data = absl::StrCat(name, "-data");
    MUSTER_ASSIGN_OR_RETURN(const std::string encoded, Text(data.c_str()));
    if (encoded.empty()) return source;
    if (!absl::Base64Unescape(encoded, &source.pem)) return Bad(data, "is not base64");
    if (source.pem.find("-----BEGIN ") == std::string::npos) return Bad(data, "contains no PEM");
    source.file.clear();
    return source;
  }
  absl::Status Refuse(std::initializer_list<const char*> names, const std::string& why) const {
    for (const char* name : names) {
      if (Has(name)) return Bad(name, why);
    }
    return absl::OkStatus();
  }
};

using Entries = std::map<std::string, Place>;

// The merged files of a list; the first to name an entry wins.
struct Merged {
  std::vector<Json> documents;
  std::string current_context;
  std::string current_context_file;
  Entries clusters;
  Entries users;
  Entries contexts;
};

absl::Status ReadEntries(const Place& root, const char* list, const char* item, Entries& into) {
  if (!root.Has(list)) return absl::OkStatus();
  const Json& entries = (*root.json)[list];
  if (!entries.is_array()) return root.Bad(list, "must be a list");
  for (size_t i = 0; i < entries.size(); ++i) {
    const Place entry{root.file, absl::StrCat(list, "[", i, "]"), &entries[i]};
    if (!entries[i].is_object()) return entry.Bad("", "must be a map");
    MUSTER_ASSIGN_OR_RETURN(const std::string name, entry.Text("name"));
    if (name.empty()) return entry.Bad("name", "is missing");
    static const Json& nothing = *new Json(Json::object());
    const Json& value = entry.Has(item) ? entries[i][item] : nothing;
    const Place place{root.file, absl::StrCat(entry.field, ".", item), &value};
    if (!value.is_object()) return place.Bad("", "must be a map");
    into.emplace(name, place);
  }
  return absl::OkStatus();
}

absl::Status ReadDocument(const std::string& file, const std::string& text, Merged& merged) {
  YamlDocument document = ParseYaml(text);
  if (!document.errors.empty() || !document.readable) {
    const std::string what =
        document.errors.empty() ? "not valid YAML" : document.errors[0].message;
    const int line = document.errors.empty() ? 1 : document.errors[0].line;
    return absl::InvalidArgumentError(absl::StrCat(file, ":", line, ": ", what));
  }
  if (document.json.is_null()) return absl::OkStatus();
  merged.documents.push_back(std::move(document.json));
  const Place root{file, "", &merged.documents.back()};
  if (!root.json->is_object()) return absl::InvalidArgumentError(file + ": is not a kubeconfig");
  MUSTER_ASSIGN_OR_RETURN(const std::string kind, root.Text("kind"));
  if (!kind.empty() && kind != "Config") return root.Bad("kind", "must be Config");
  MUSTER_RETURN_IF_ERROR(ReadEntries(root, "clusters", "cluster", merged.clusters));
  MUSTER_RETURN_IF_ERROR(ReadEntries(root, "users", "user", merged.users));
  MUSTER_RETURN_IF_ERROR(ReadEntries(root, "contexts", "context", merged.contexts));
  MUSTER_ASSIGN_OR_RETURN(const std::string current, root.Text("current-context"));
  if (merged.current_context.empty() && !current.empty()) {
    merged.current_context = current;
    merged.current_context_file = file;
  }
  return absl::OkStatus();
}

absl::StatusOr<Merged> ReadAll(const std::vector<std::string>& paths, Files& files) {
  Merged merged;
  merged.documents.reserve(paths.size());  // Place holds pointers into it
  bool found = false;
  for (const std::string& path : paths) {
    if (path.empty()) continue;
    const absl::StatusOr<std::string> text = ReadFile(files, path, kMaxFile);
    if (absl::IsNotFound(text.status())) continue;
    if (!text.ok()) return text.status();
    found = true;
    MUSTER_RETURN_IF_ERROR(ReadDocument(path, *text, merged));
  }
  if (found) return merged;
  return absl::NotFoundError(
      absl::StrCat("there is no kubeconfig: ", absl::StrJoin(paths, ", "), " does not exist"));
}

absl::Status ReadCluster(const Place& cluster, RestConfig& config) {
  MUSTER_ASSIGN_OR_RETURN(const bool insecure, cluster.Flag("insecure-skip-tls-verify"));
  if (insecure) {
    return cluster.Bad("insecure-skip-tls-verify",
                       "is refused: the server's certificate is always verified; name its "
                       "authority in certificate-authority");
  }
  MUSTER_ASSIGN_OR_RETURN(config.server, cluster.Text("server"));
  if (config.server.empty()) return cluster.Bad("server", "is missing");
  if (absl::Status url = ParseServerUrl(config.server).status(); !url.ok()) {
    return cluster.Bad("server", std::string(url.message()));
  }
  MUSTER_ASSIGN_OR_RETURN(config.proxy, cluster.Text("proxy-url"));
  if (!config.proxy.empty()) {
    const absl::Status proxy = ParseProxyUrl(config.proxy).status();
    if (!proxy.ok()) return cluster.Bad("proxy-url", std::string(proxy.message()));
  }
  MUSTER_ASSIGN_OR_RETURN(const bool plain, cluster.Flag("disable-compression"));
  config.gzip = !plain;
  MUSTER_ASSIGN_OR_RETURN(config.tls_server_name, cluster.Text("tls-server-name"));
  MUSTER_ASSIGN_OR_RETURN(config.ca, cluster.Pem("certificate-authority"));
  return absl::OkStatus();
}

absl::Status ReadExecEnv(const Place& exec, ExecPlugin& plugin) {
  if (!exec.Has("env")) return absl::OkStatus();
  const Json& entries = (*exec.json)["env"];
  if (!entries.is_array()) return exec.Bad("env", "must be a list");
  for (size_t i = 0; i < entries.size(); ++i) {
    const Place entry{exec.file, absl::StrCat(exec.field, ".env[", i, "]"), &entries[i]};
    if (!entries[i].is_object()) return entry.Bad("", "must be a map");
    MUSTER_ASSIGN_OR_RETURN(const std::string name, entry.Text("name"));
    MUSTER_ASSIGN_OR_RETURN(const std::string value, entry.Text("value"));
    if (name.empty()) return entry.Bad("name", "is missing");
    plugin.env.emplace_back(name, value);
  }
  return absl::OkStatus();
}

absl::Status ReadExec(const Place& user, RestConfig& config) {
  if (!user.Has("exec")) return absl::OkStatus();
  const Place exec{user.file, user.field + ".exec", &(*user.json)["exec"]};
  if (!exec.json->is_object()) return exec.Bad("", "must be a map");
  ExecPlugin plugin;
  MUSTER_ASSIGN_OR_RETURN(plugin.api_version, exec.Text("apiVersion"));
  if (plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    return exec.Bad("apiVersion", "must be client.authentication.k8s.io/v1");
  }
  MUSTER_ASSIGN_OR_RETURN(std::string command, exec.Text("command"));
  if (command.empty()) return exec.Bad("command", "is missing");
  if (command.front() != '/' && command.find('/') != std::string::npos) {
    command = JoinPath(ParentPath(user.file), command);
  }
  plugin.argv = {std::move(command)};
  if (exec.Has("args")) {
    const Json& args = (*exec.json)["args"];
    if (!args.is_array()) return exec.Bad("args", "must be a list");
    for (const Json& argument : args) {
      if (!argument.is_string()) return exec.Bad("args", "must be a list of strings");
      plugin.argv.push_back(argument.get<std::string>());
    }
  }
  MUSTER_RETURN_IF_ERROR(ReadExecEnv(exec, plugin));
  MUSTER_ASSIGN_OR_RETURN(const std::string mode, exec.Text("interactiveMode"));
  if (mode == "Always") {
    return exec.Bad("interactiveMode",
                    "Always is not supported: a plugin cannot ask for input here");
  }
  MUSTER_ASSIGN_OR_RETURN(plugin.install_hint, exec.Text("installHint"));
  MUSTER_ASSIGN_OR_RETURN(plugin.provide_cluster_info, exec.Flag("provideClusterInfo"));
  config.exec = std::move(plugin);
  return absl::OkStatus();
}

absl::Status ReadUser(const Place& user, RestConfig& config) {
  MUSTER_RETURN_IF_ERROR(user.Refuse({"username", "password"},
                                     "API servers take no passwords; use a certificate, a token "
                                     "or an exec plugin"));
  MUSTER_RETURN_IF_ERROR(user.Refuse({"auth-provider"}, "was removed from Kubernetes; use exec"));
  MUSTER_RETURN_IF_ERROR(user.Refuse({"as", "as-uid", "as-groups", "as-user-extra"},
                                     "impersonation is not supported"));
  MUSTER_ASSIGN_OR_RETURN(config.client_certificate, user.Pem("client-certificate"));
  MUSTER_ASSIGN_OR_RETURN(config.client_key, user.Pem("client-key"));
  if (config.client_certificate.empty() != config.client_key.empty()) {
    return user.Bad(config.client_key.empty() ? "client-key" : "client-certificate",
                    "is missing: a client certificate needs both");
  }
  MUSTER_ASSIGN_OR_RETURN(config.token, user.Text("token"));
  MUSTER_ASSIGN_OR_RETURN(config.token_file, user.Path("tokenFile"));
  return ReadExec(user, config);
}

absl::Status ReadEnvironment(RestConfig& config) {
  if (!config.proxy.empty()) return absl::OkStatus();
  MUSTER_ASSIGN_OR_RETURN(const ServerUrl server, ParseServerUrl(config.server));
  config.proxy = ProxyFromEnvironment(server, [](const std::string& name) -> std::string {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  });
  if (config.proxy.empty()) return absl::OkStatus();
  const absl::Status proxy = ParseProxyUrl(config.proxy).status();
  if (proxy.ok()) return proxy;
  return absl::InvalidArgumentError(absl::StrCat("HTTPS_PROXY: ", proxy.message()));
}

// Returns the entry that a context refers to.
absl::StatusOr<Place> Referred(const Place& context, const char* field, const Entries& entries) {
  MUSTER_ASSIGN_OR_RETURN(const std::string name, context.Text(field));
  if (name.empty()) return context.Bad(field, "is missing");
  const auto found = entries.find(name);
  if (found != entries.end()) return found->second;
  return context.Bad(field, absl::StrCat("there is no ", field, " \"", name, "\""));
}

}  // namespace

absl::StatusOr<RestConfig> LoadKubeconfig(const std::vector<std::string>& paths,
                                          const std::string& context, Files& files) {
  MUSTER_ASSIGN_OR_RETURN(const Merged merged, ReadAll(paths, files));
  const std::string& wanted = context.empty() ? merged.current_context : context;
  const std::string all = absl::StrJoin(paths, ":");
  if (wanted.empty()) {
    return absl::InvalidArgumentError(all +
                                      ": current-context: is missing, and no context was given");
  }
  const auto found = merged.contexts.find(wanted);
  if (found == merged.contexts.end()) {
    const std::string where =
        context.empty() ? merged.current_context_file + ": current-context" : all + ": contexts";
    return absl::InvalidArgumentError(
        absl::StrCat(where, ": there is no context \"", wanted, "\""));
  }
  RestConfig config;
  MUSTER_ASSIGN_OR_RETURN(const Place cluster, Referred(found->second, "cluster", merged.clusters));
  MUSTER_RETURN_IF_ERROR(ReadCluster(cluster, config));
  MUSTER_RETURN_IF_ERROR(ReadEnvironment(config));
  MUSTER_ASSIGN_OR_RETURN(const Place user, Referred(found->second, "user", merged.users));
  MUSTER_RETURN_IF_ERROR(ReadUser(user, config));
  MUSTER_ASSIGN_OR_RETURN(config.user, found->second.Text("user"));
  MUSTER_ASSIGN_OR_RETURN(config.name_space, found->second.Text("namespace"));
  if (config.name_space.empty()) config.name_space = "default";
  return config;
}

std::vector<std::string> KubeconfigPaths(const std::string& flag) {
  if (!flag.empty()) return {flag};
  const char* list = std::getenv("KUBECONFIG");
  if (list != nullptr && *list != '\0') return absl::StrSplit(list, ':', absl::SkipEmpty());
  const char* home = std::getenv("HOME");
  return {JoinPath(home == nullptr ? "/" : home, ".kube/config")};
}

absl::StatusOr<RestConfig> InClusterConfig(const std::string& directory, Files& files) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0' || *port == '\0') {
    return absl::FailedPreconditionError(
        "not inside a Kubernetes pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not "
        "set; name a kubeconfig");
  }
  RestConfig config;
  config.server = absl::StrCat("https://", HostAndPort(host, port));
  MUSTER_RETURN_IF_ERROR(ReadEnvironment(config));
  config.token_file = JoinPath(directory, "token");
  config.ca.file = JoinPath(directory, "ca.crt");
  for (const std::string& file : {config.token_file, config.ca.file}) {
    MUSTER_RETURN_IF_ERROR(ReadFile(files, file, kMaxFile).status());
  }
  const absl::StatusOr<std::string> name_space =
      ReadFile(files, JoinPath(directory, "namespace"), kMaxFile);
  if (name_space.ok()) config.name_space = std::string(absl::StripAsciiWhitespace(*name_space));
  if (config.name_space.empty()) config.name_space = "default";
  return config;
}

}  // namespace muster::kube
