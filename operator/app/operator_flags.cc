#include "operator/app/operator_flags.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace muster::control {

const char kOperatorUsage[] =
    "usage: muster-operator [--kubeconfig=FILE[:FILE] [--context=NAME]] [FLAGS]\n"
    "       muster-operator --state-dir=FOLDER [FLAGS]\n"
    "  --kubeconfig      default $KUBECONFIG, else the configuration of the pod this runs in\n"
    "  --context         of the kubeconfig; default its current one\n"
    "  --state-dir       no cluster: an embedded API server with its state in this folder\n"
    "  --qps --burst     limits of requests to the API server; default 500 and 1000\n"
    "  --namespace       only jobs of this namespace; default all\n"
    "  --leader-elect    default true with a real API server, false with --state-dir\n"
    "  --lease-duration  default 15s; others wait this long for a dead leader\n"
    "  --renew-deadline  default 10s; a leader that cannot renew for this long ends\n"
    "  --retry-period    default 2s; between renewals\n"
    "  --lease-namespace default $POD_NAMESPACE, else muster-system\n"
    "  --identity        unique per process; default host name, pid and a random number\n"
    "  --coordinator     where agents dial: ADDRESS[,ADDRESS], unix:/path or host:port\n"
    "                    default 0.0.0.0:7443, unix:FOLDER/run/coordinator.sock with --state-dir\n"
    "  --advertise       this replica's coordinator as others reach it; default $POD_IP with the\n"
    "                    coordinator's port, else the first coordinator address\n"
    "  --pod-coordinator what pods dial: a Service's host:port or every replica's address\n"
    "                    default --advertise\n"
    "  --node-agents     NAMESPACE/SERVICEACCOUNT of the node agents that may report about their\n"
    "                    nodes; default none\n"
    "  --taint-unhealthy-nodes true: a node with a broken GPU, port or disk is tainted until it "
    "has\n"
    "                    been well for a while; default false\n"
    "  --http            metrics and JSON: host:port or unix:/path; empty for none. A port speaks\n"
    "                    TLS, and the API server authorizes callers; default 0.0.0.0:8443. With\n"
    "                    --state-dir the default is unix:FOLDER/run/http.sock; a port there must\n"
    "                    be of the loopback and requires the token in FOLDER/http.token\n"
    "  --http-cert-file --http-key-file\n"
    "                    PEM; default a certificate of the coordinator's own authority\n"
    "  --probes          health, without TLS: host:port; empty for none; default 0.0.0.0:8081,\n"
    "                    none with --state-dir\n"
    "  --worker-image    of jobs with a built-in trainer; default muster-agent\n"
    "  --agent-image     from which pods with an image of the user's get the agent; default none:\n"
    "                    those images have muster-agent in their PATH\n"
    "  --worker-image-pull-policy --agent-image-pull-policy\n"
    "                    Always, IfNotPresent or Never; default the API server's\n"
    "  --image-pull-secrets NAME[,NAME]: Secrets in the namespaces of jobs, for both images\n"
    "  --worker-env      NAME=VALUE, once for each variable that workers get unless their "
    "template\n"
    "                    sets it, as what NCCL has to know about the network\n"
    "  --job-network-policies true: each job gets a NetworkPolicy that admits its own workers, "
    "the\n"
    "                    operator and the port named metrics; default false\n"
    "  --workers         jobs reconciled at the same time; default 2\n"
    "  --binders         pods bound at the same time; default 16\n"
    "  --prepare-deadline default 60s; workers that have not answered a new round by then are\n"
    "                    replaced\n"
    "  --join-deadline   default 10m; workers that have not joined a round this long after it\n"
    "                    began are replaced\n"
    "  --max-savers-per-storage default 0, no limit; this many jobs write checkpoints to one\n"
    "                    volume or bucket at a time, those of interval mode Auto wait\n"
    "  --topology-levels KEY[,KEY]: the node labels that say where a node stands, broad to "
    "narrow;\n"
    "                    default: those of the cloud or tool that labels the nodes\n"
    "  --kueue-topology  NAME: those of this Kueue Topology object\n"
    "  --topology-links  LEVEL:GB_PER_S[:MICROSECONDS],...: bandwidth in one direction and "
    "latency\n"
    "                    (0 unless given) of levels, for the score; default those of "
    "docs/placement.md\n"
    "  --queue-half-life default 24h; past use of a queue counts half after this time\n"
    "  --queue-aging     default 1m; a waiting job's priority rises by one after each\n"
    "  --defragment      true: jobs that are cheap to move make room for large ones; default "
    "false\n"
    "  --alert-receivers a file with the receivers that alert rules of jobs may name; default "
    "none\n"
    "  --prices          a file with the prices and the power of nodes, by instance type; default "
    "none\n"
    "  --decision-log-dir where the input of each decision is kept, at most 256 MiB, for\n"
    "                    muster replay; default FOLDER/decisions with --state-dir, else none\n"
    "  --log-format      text or json; default text\n";

namespace {

using Problem = std::optional<std::string>;  // what a valid value would be
using Setter = std::function<Problem(const std::string& value)>;

Setter Text(std::string& to) {
  return [&to](const std::string& value) {
    to = value;
    return Problem();
  };
}

Setter List(std::vector<std::string>& to, char separator) {
  return [&to, separator](const std::string& value) -> Problem {
    to = absl::StrSplit(value, separator, absl::SkipEmpty());
    return to.empty() ? Problem("is empty") : Problem();
  };
}

Setter Time(absl::Duration& to) {
  return [&to](const std::string& value) -> Problem {
    absl::Duration parsed;
    if (!absl::ParseDuration(value, &parsed) || parsed <= absl::ZeroDuration()) {
      return "wants a duration above zero, as 15s";
    }
    to = parsed;
    return std::nullopt;
  };
}

Setter Whole(int& to) {
  return [&to](const std::string& value) -> Problem {
    int parsed = 0;
    if (!absl::SimpleAtoi(value, &parsed) || parsed < 1) return "wants a whole number above zero";
    to = parsed;
    return std::nullopt;
  };
}

Setter Limit(int& to) {
  return [&to](const std::string& value) -> Problem {
    int parsed = 0;
    if (!absl::SimpleAtoi(value, &parsed) || parsed < 0) {
      return "wants a whole number; 0 is no limit";
    }
    to = parsed;
    return std::nullopt;
  };
}

Setter Number(double& to) {
  return [&to](const std::string& value) -> Problem {
    double parsed = 0;
    if (!absl::SimpleAtod(value, &parsed) || !(parsed > 0)) return "wants a number above zero";
    to = parsed;
    return std::nullopt;
  };
}

Setter Bool(bool& to) {
  return [&to](const std::string& value) -> Problem {
    return absl::SimpleAtob(value, &to) ? Problem() : Problem("wants true or false");
  };
}

std::optional<std::pair<std::string, Link>> ParseLink(absl::string_view text) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  Link link;
  if (parts.size() < 2 || parts.size() > 3 || parts[0].empty()) return std::nullopt;
  if (!absl::SimpleAtod(parts[1], &link.gigabytes_per_second)) return std::nullopt;
  if (parts.size() == 3 && !absl::SimpleAtod(parts[2], &link.latency_us)) return std::nullopt;
  const bool sound = std::isfinite(link.gigabytes_per_second) && link.gigabytes_per_second > 0 &&
                     std::isfinite(link.latency_us) && link.latency_us >= 0;
  if (!sound) return std::nullopt;
  return std::pair(parts[0], link);
}

Setter Account(NodeAgentAccount& to) {
  return [&to](const std::string& value) -> Problem {
    absl::StatusOr<NodeAgentAccount> account = ParseNodeAgentAccount(value);
    if (!account.ok()) return std::string(account.status().message());
    to = *std::move(account);
    return std::nullopt;
  };
}

Setter Links(std::map<std::string, Link>& to) {
  return [&to](const std::string& value) -> Problem {
    for (const absl::string_view text : absl::StrSplit(value, ',')) {
      const auto link = ParseLink(text);
      if (!link) return "wants LEVEL:GB_PER_S[:MICROSECONDS], as leaf:50:5,spine:25";
      if (!to.insert(*link).second) return absl::StrCat("names ", link->first, " twice");
    }
    return std::nullopt;
  };
}

Setter PullPolicy(std::string& to) {
  return [&to](const std::string& value) -> Problem {
    if (value != "Always" && value != "IfNotPresent" && value != "Never") {
      return "wants Always, IfNotPresent or Never";
    }
    to = value;
    return std::nullopt;
  };
}

Setter Variables(std::vector<std::pair<std::string, std::string>>& to) {
  return [&to](const std::string& value) -> Problem {
    const std::vector<std::string> parts = absl::StrSplit(value, absl::MaxSplits('=', 1));
    const std::string& name = parts[0];
    const bool sound = std::all_of(name.begin(), name.end(), [](char c) {
      return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
    });
    if (parts.size() != 2 || name.empty() || !sound || absl::ascii_isdigit(name[0])) {
      return "wants NAME=VALUE, as NCCL_SOCKET_IFNAME=eth0";
    }
    if (absl::StartsWith(name, "MUSTER_")) return "is one of the variables that muster sets";
    std::erase_if(to, [&](const auto& known) { return known.first == name; });
    to.emplace_back(name, parts[1]);
    return std::nullopt;
  };
}

// The kubelet leaves $(NAME) in a flag as it is if there is no such variable, and no worker could
// dial that.
Setter Address(std::string& to) {
  return [&to](const std::string& value) -> Problem {
    if (absl::StrContains(value, "$(")) {
      return "has a variable that is not set in this pod: a Service's is set if the Service was "
             "there before the pod and enableServiceLinks is true";
    }
    to = value;
    return std::nullopt;
  };
}

Setter OneOf(bool& second, const std::string& a, const std::string& b) {
  return [&second, a, b](const std::string& value) -> Problem {
    if (value != a && value != b) return absl::StrCat("wants ", a, " or ", b);
    second = value == b;
    return std::nullopt;
  };
}

std::map<std::string, Setter> SettersOf(OperatorFlags& flags) {
  return {{"state-dir", Text(flags.state_dir)},
          {"kubeconfig", List(flags.kubeconfig, ':')},
          {"context", Text(flags.context)},
          {"qps", Number(flags.qps)},
          {"burst", Whole(flags.burst)},
          {"namespace", Text(flags.name_space)},
          {"leader-elect", Bool(flags.leader_elect)},
          {"lease-duration", Time(flags.lease_duration)},
          {"renew-deadline", Time(flags.renew_deadline)},
          {"retry-period", Time(flags.retry_period)},
          {"lease-namespace", Text(flags.lease_namespace)},
          {"identity", Text(flags.identity)},
          {"coordinator", List(flags.coordinator, ',')},
          {"advertise", Address(flags.advertise)},
          {"pod-coordinator", Address(flags.pod_coordinator)},
          {"node-agents", Account(flags.node_agents)},
          {"taint-unhealthy-nodes", Bool(flags.taint_unhealthy_nodes)},
          {"http", Text(flags.http)},
          {"http-cert-file", Text(flags.http_certificate)},
          {"http-key-file", Text(flags.http_key)},
          {"probes", Text(flags.probes)},
          {"worker-image", Text(flags.worker_image)},
          {"agent-image", Text(flags.agent_image)},
          {"worker-image-pull-policy", PullPolicy(flags.worker_pull_policy)},
          {"agent-image-pull-policy", PullPolicy(flags.agent_pull_policy)},
          {"image-pull-secrets", List(flags.pull_secrets, ',')},
          {"worker-env", Variables(flags.worker_env)},
          {"job-network-policies", Bool(flags.job_network_policies)},
          {"workers", Whole(flags.workers)},
          {"binders", Whole(flags.binders)},
          {"prepare-deadline", Time(flags.prepare_deadline)},
          {"join-deadline", Time(flags.join_deadline)},
          {"max-savers-per-storage", Limit(flags.max_savers_per_storage)},
          {"topology-levels", List(flags.topology_levels, ',')},
          {"kueue-topology", Text(flags.kueue_topology)},
          {"topology-links", Links(flags.topology_links)},
          {"queue-half-life", Time(flags.queue_half_life)},
          {"queue-aging", Time(flags.queue_aging)},
          {"defragment", Bool(flags.defragment)},
          {"alert-receivers", Text(flags.alert_receivers)},
          {"prices", Text(flags.prices)},
          {"decision-log-dir", Text(flags.decision_log_dir)},
          {"log-format", OneOf(flags.log_json, "text", "json")}};
}

// Returns the names of the flags given; appends to `problems`.
std::set<std::string> Read(const std::vector<std::string>& args, OperatorFlags& flags,
                           std::vector<std::string>& problems) {
  const std::map<std::string, Setter> setters = SettersOf(flags);
  std::set<std::string> given;
  for (const std::string& argument : args) {
    if (!absl::StartsWith(argument, "--")) {
      problems.push_back(absl::StrCat(argument, ": flags are --NAME=VALUE"));
      continue;
    }
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const auto setter = setters.find(name);
    if (setter == setters.end()) {
      problems.push_back(absl::StrCat("--", name, ": no such flag"));
    } else if (equals == std::string::npos && name != "leader-elect") {
      problems.push_back(absl::StrCat("--", name, ": wants --", name, "=VALUE"));
    } else {
      const std::string value = equals == std::string::npos ? "true" : argument.substr(equals + 1);
      const Problem problem = setter->second(value);
      if (problem) problems.push_back(absl::StrCat("--", name, "=", value, ": ", *problem));
      given.insert(name);
    }
  }
  return given;
}

void CheckTogether(const OperatorFlags& flags, const std::set<std::string>& given,
                   std::vector<std::string>& problems) {
  const bool embedded = !flags.state_dir.empty();
  if (embedded && flags.state_dir[0] != '/') {
    problems.push_back(absl::StrCat("--state-dir=", flags.state_dir, ": wants an absolute path"));
  }
  for (const char* name : {"kubeconfig", "context", "qps", "burst"}) {
    if (embedded && given.count(name) > 0) {
      problems.push_back(absl::StrCat("--", name, ": is for a real API server, not --state-dir"));
    }
  }
  for (const char* name : {"http-cert-file", "http-key-file"}) {
    if (embedded && given.count(name) > 0) {
      problems.push_back(absl::StrCat("--", name, ": is for a cluster; --state-dir serves no TLS"));
    }
  }
  if (flags.http_certificate.empty() != flags.http_key.empty()) {
    problems.push_back("--http-cert-file: goes with --http-key-file; give both");
  }
  if (given.count("topology-levels") > 0 && given.count("kueue-topology") > 0) {
    problems.push_back("--kueue-topology: sets the same as --topology-levels; give only one");
  }
  if (flags.lease_duration <= flags.renew_deadline) {
    problems.push_back("--renew-deadline: must be shorter than --lease-duration");
  }
  if (flags.lease_duration < absl::Seconds(1) ||
      absl::Trunc(flags.lease_duration, absl::Seconds(1)) != flags.lease_duration) {
    problems.push_back("--lease-duration: a Lease counts whole seconds");
  }
  if (flags.renew_deadline <= flags.retry_period) {
    problems.push_back("--retry-period: must be shorter than --renew-deadline");
  }
}

void FillIn(const std::set<std::string>& given,
            const std::function<std::string(const std::string&)>& environment,
            OperatorFlags& flags) {
  const bool embedded = !flags.state_dir.empty();
  if (given.count("leader-elect") == 0) flags.leader_elect = !embedded;
  if (given.count("http") == 0) {
    flags.http =
        embedded ? absl::StrCat("unix:", flags.state_dir, "/run/http.sock") : "0.0.0.0:8443";
  }
  if (embedded) flags.http_token_file = absl::StrCat(flags.state_dir, "/http.token");
  if (given.count("probes") == 0 && !embedded) flags.probes = "0.0.0.0:8081";
  if (flags.coordinator.empty()) {
    flags.coordinator = {embedded ? absl::StrCat("unix:", flags.state_dir, "/run/coordinator.sock")
                                  : "0.0.0.0:7443"};
  }
  if (embedded && given.count("decision-log-dir") == 0) {
    flags.decision_log_dir = absl::StrCat(flags.state_dir, "/decisions");
  }
  if (!embedded && flags.kubeconfig.empty()) {
    flags.kubeconfig = absl::StrSplit(environment("KUBECONFIG"), ':', absl::SkipEmpty());
  }
  if (flags.lease_namespace.empty()) flags.lease_namespace = environment("POD_NAMESPACE");
  if (flags.lease_namespace.empty()) flags.lease_namespace = "muster-system";
  const std::string ip = environment("POD_IP");
  const std::string& first = flags.coordinator.front();
  if (flags.advertise.empty() && !ip.empty() && !absl::StartsWith(first, "unix:")) {
    const std::string port = first.substr(first.rfind(':') + 1);
    const bool v6 = ip.find(':') != std::string::npos;
    if (port != "0") flags.advertise = absl::StrCat(v6 ? "[" : "", ip, v6 ? "]:" : ":", port);
  }
}

}  // namespace

absl::StatusOr<OperatorFlags> ParseOperatorFlags(
    const std::vector<std::string>& args,
    const std::function<std::string(const std::string& name)>& environment) {
  OperatorFlags flags;
  std::vector<std::string> problems;
  const std::set<std::string> given = Read(args, flags, problems);
  CheckTogether(flags, given, problems);
  if (!problems.empty()) return absl::InvalidArgumentError(absl::StrJoin(problems, "\n"));
  FillIn(given, environment, flags);
  return flags;
}

std::vector<std::string> OperatorFlagNames() {
  OperatorFlags flags;
  std::vector<std::string> names;
  for (const auto& [name, setter] : SettersOf(flags)) names.push_back(name);
  return names;
}

}  // namespace muster::control
