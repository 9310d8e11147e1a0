#include "cli/placement/placement_text.h"

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/json_fields.h"

namespace muster::cli {
namespace {

// Returns "1 node" or "2 nodes".
std::string Counted(int64_t number, const char* what) {
  return absl::StrCat(number, " ", what, number == 1 ? "" : "s");
}

// Prints the victims that would make room, and why each is needed.
void PrintVictims(const Json& victims) {
  for (const Json& victim : victims) {
    const int64_t workers = NumberField(victim, "workers");
    const int64_t keeps = NumberField(victim, "keeps");
    const std::string becomes = keeps == 0
                                    ? absl::StrCat("stops with its ", Counted(workers, "worker"))
                                    : absl::StrCat("shrinks from ", workers, " to ", keeps);
    std::printf("  %s %s, %.0f GPU-seconds lost: %s\n", StringField(victim, "job").c_str(),
                becomes.c_str(), victim.value("gpuSecondsLost", 0.0),
                StringField(victim, "why").c_str());
  }
}

// Omits warnings that the sentence already contains.
void PrintWarnings(const Json& page) {
  for (const std::string& text : StringsField(page, "warnings")) {
    if (!absl::StrContains(StringField(page, "sentence"), text)) {
      std::printf("  warning: %s\n", text.c_str());
    }
  }
}

void PrintScore(const Json& page) {
  const double score = page.value("score", 0.0);
  if (score <= 0) return;
  const std::string level = StringField(page, "level");
  std::printf("  score %.4g", score);
  if (!level.empty()) {
    std::printf(", all within %s %s", level.c_str(), StringField(page, "domain").c_str());
  }
  std::printf("\n");
}

void PrintSize(const Json& page) {
  const std::string spares = StringField(page, "spares");
  if (!spares.empty()) std::printf("  spares: %s\n", spares.c_str());
  const Json& size = ObjectField(page, "size");
  const std::string sentence = StringField(size, "sentence");
  if (sentence.empty()) return;
  std::printf("  size %ld, %s: %s\n", NumberField(size, "workers"),
              StringField(size, "reason").c_str(), sentence.c_str());
  const std::string resized = StringField(size, "resized");
  if (!resized.empty()) std::printf("  resized %s\n", resized.c_str());
}

}  // namespace

void PrintGang(const Json& page) {
  const Json& asked = ObjectField(page, "asked");
  const int64_t workers = NumberField(asked, "workers");
  std::printf("%s: %s", StringField(page, "job").c_str(), Counted(workers, "worker").c_str());
  const std::string require = StringField(asked, "require");
  if (!require.empty()) std::printf(" in one %s", require.c_str());
  const int64_t on_spot = IntegerField(asked, "mostOnSpot").value_or(workers);
  if (on_spot < workers) std::printf(", at most %ld on spot nodes", on_spot);
  std::printf("\n");
  PrintWarnings(page);
  const std::string reason = StringField(page, "reason");
  if (!reason.empty()) {
    std::printf("  %s: %s\n", reason.c_str(), StringField(page, "sentence").c_str());
    if (page.contains("start")) {
      std::printf("  %s\n", StringField(ObjectField(page, "start"), "sentence").c_str());
    }
    PrintVictims(ArrayField(page, "victims"));
    std::printf("  fits now as it is: %ld of %ld\n", NumberField(page, "fitsNow"), workers);
    for (const Json& one : ArrayField(page, "relaxations")) {
      std::printf("  %s: %ld\n", StringField(one, "change").c_str(), NumberField(one, "workers"));
    }
  }
  PrintSize(page);
  PrintScore(page);
  if (const int64_t decision = NumberField(page, "decision"); decision > 0) {
    std::printf("  decided in %ld: muster replay %ld\n", decision, decision);
  }
  for (const Json& worker : ArrayField(page, "workers")) {
    const std::string path = StringField(worker, "path");
    const std::string node = StringField(worker, "node");
    const std::string mesh = StringField(worker, "mesh");
    std::printf("  worker %-4ld %s%s%s\n", NumberField(worker, "index"),
                node.empty()   ? "-"
                : path.empty() ? node.c_str()
                               : path.c_str(),
                mesh.empty() ? "" : "  ", mesh.c_str());
  }
}

namespace {

std::string Share(const Json& domain, const char* name, double unit, const char* what) {
  const double all =
      static_cast<double>(NumberField(ObjectField(domain, "allocatable"), name)) / unit;
  if (all == 0) return "";
  const double free = static_cast<double>(NumberField(ObjectField(domain, "free"), name)) / unit;
  return absl::StrFormat("  %.6g of %.6g %s free", free, all, what);
}

// Without GPUs, CPUs show what is in use; pods that ask for none, as those of `muster run`, do not.
std::string PodsWithoutCpus(const Json& domain) {
  const Json& all = ObjectField(domain, "allocatable");
  const Json& free = ObjectField(domain, "free");
  const int64_t pods = NumberField(all, "pods") - NumberField(free, "pods");
  const bool idle = NumberField(free, "cpuMillis") == NumberField(all, "cpuMillis");
  if (NumberField(all, "gpus") > 0 || pods <= 0 || !idle) return "";
  return absl::StrCat("  ", Counted(pods, "pod"), pods == 1 ? " asks" : " ask", " for no CPU");
}

// Hosts of a larger cluster are only counted, unless --depth shows them.
constexpr int64_t kMostHosts = 128;

// Counts the usable hosts below a domain whose GPUs are all free (their CPUs if they have no GPUs).
int64_t Unused(const Json& domain) {
  if (StringField(domain, "level") == "host") {
    const Json& allocatable = ObjectField(domain, "allocatable");
    const char* what = NumberField(allocatable, "gpus") > 0 ? "gpus" : "cpuMillis";
    const bool all =
        NumberField(ObjectField(domain, "free"), what) == NumberField(allocatable, what);
    return all && NumberField(domain, "usable") > 0 ? 1 : 0;
  }
  int64_t unused = 0;
  for (const Json& child : ArrayField(domain, "children")) unused += Unused(child);
  return unused;
}

std::string WordOf(const std::string& reason) {
  if (reason == "NodeFaulty") return "faulty";
  if (reason == "NodeLeaving") return "about to go";
  if (reason == "NodeNotReady") return "not Ready";
  return reason == "NodeUnschedulable" ? "cordoned" : reason;
}

// Returns, for example, ", 30 usable (1 cordoned, 1 not Ready)".
std::string UsableOf(const Json& domain) {
  std::vector<std::string> causes;
  for (const auto& [reason, nodes] : ObjectField(domain, "notUsable").items()) {
    causes.push_back(absl::StrCat(nodes.get<int64_t>(), " ", WordOf(reason)));
  }
  return absl::StrCat(", ", NumberField(domain, "usable"), " usable",
                      causes.empty() ? "" : absl::StrCat(" (", absl::StrJoin(causes, ", "), ")"));
}

// Returns, for example, "  not usable: cordoned", or just a taint that not all tolerate: "  taint
// team=a:NoSchedule".
std::string HealthOf(const Json& host) {
  std::vector<std::string> causes;
  for (const Json& trouble : ArrayField(host, "health")) {
    causes.push_back(StringField(trouble, "sentence"));
  }
  const std::string why = absl::StrJoin(causes, "; ");
  if (NumberField(host, "usable") > 0) return why.empty() ? "" : absl::StrCat("  ", why);
  return absl::StrCat("  not usable", why.empty() ? "" : ": ", why);
}

// Selects the output below a domain: the hosts, or only the number of unused ones.
enum class Hosts { kPrinted, kCounted };

void PrintDomain(const Json& domain, int depth, Hosts hosts) {
  const std::string level = StringField(domain, "level");
  const std::string name = StringField(domain, "name");
  std::printf("%*s%s%s%s", depth * 2, "", level.empty() ? "cluster" : level.c_str(),
              name.empty() ? "" : " ", name.c_str());
  const int64_t nodes = NumberField(domain, "nodes");
  const int64_t usable = NumberField(domain, "usable");
  if (level == "host") {
    std::printf("%s", HealthOf(domain).c_str());
  } else {
    std::printf("  %s%s", Counted(nodes, "node").c_str(),
                usable < nodes ? UsableOf(domain).c_str() : "");
  }
  if (hosts == Hosts::kCounted) std::printf(", %ld unused", Unused(domain));
  std::printf("%s%s%s\n", Share(domain, "gpus", 1, "GPUs").c_str(),
              Share(domain, "cpuMillis", 1000, "CPUs").c_str(), PodsWithoutCpus(domain).c_str());
  for (const Json& child : ArrayField(domain, "children")) {
    const bool counted = hosts == Hosts::kCounted && StringField(child, "level") == "host";
    if (!counted) PrintDomain(child, depth + 1, hosts);
  }
}

}  // namespace

void PrintAllHosts(const Json& tree) { PrintDomain(tree, 0, Hosts::kPrinted); }

void PrintTree(const Json& tree) {
  const bool large = NumberField(tree, "nodes") > kMostHosts;
  PrintDomain(tree, 0, large ? Hosts::kCounted : Hosts::kPrinted);
}

namespace {

std::string Amounts(const Json& amounts) {
  std::string text;
  for (const auto& [resource, amount] : amounts.items()) {
    const bool cpu = resource == "cpu";
    const double shown = amount.get<double>() / (cpu ? 1000 : 1);
    absl::StrAppend(&text, text.empty() ? "" : ", ", absl::StrFormat("%.10g ", shown), resource);
  }
  return text.empty() ? "nothing" : text;
}

}  // namespace

void PrintQueues(const Json& page) {
  for (const Json& queue : ArrayField(page, "items")) {
    std::printf("%s%s: %ld running, %ld waiting, share %.4g%s\n",
                StringField(queue, "name").c_str(), queue.value("cohort", false) ? " (cohort)" : "",
                NumberField(queue, "running"), NumberField(queue, "waiting"),
                queue.value("share", 0.0), queue.value("borrowing", false) ? ", borrows" : "");
    if (queue.value("broken", false)) std::printf("  its parents form a circle: nothing starts\n");
    if (const std::string complaint = StringField(queue, "complaint"); !complaint.empty()) {
      std::printf("  %s\n", complaint.c_str());
    }
    if (const Json& nominal = ObjectField(queue, "nominal"); !nominal.empty()) {
      std::printf("  uses %s of %s nominal\n", Amounts(ObjectField(queue, "used")).c_str(),
                  Amounts(nominal).c_str());
    }
    int place = 0;
    for (const Json& job : ArrayField(queue, "jobs")) {
      std::printf("  %3d. %-30s priority %-6ld waits %-9s %s: %s\n", ++place,
                  StringField(job, "job").c_str(), NumberField(job, "priority"),
                  absl::FormatDuration(absl::Seconds(NumberField(job, "waitedSeconds"))).c_str(),
                  StringField(job, "reason").c_str(), StringField(job, "sentence").c_str());
    }
    const int64_t more = NumberField(queue, "waiting") - place;
    if (more > 0 && place > 0) std::printf("       and %ld more: --limit\n", more);
  }
}

}  // namespace muster::cli
