#include "operator/web/not_found.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "operator/api/schema.h"

namespace muster::control {
namespace {

// The most names that are compared.
constexpr size_t kMostNames = 10'000;

std::string Meant(const std::string& name, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(name, known);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

}  // namespace

absl::Status NoSuchJob(const JobCache& jobs, const kube::ObjectKey& key) {
  std::vector<std::string> names;
  for (const JobCache::Object& job : jobs.ListNamespace(key.name_space)) {
    if (names.size() < kMostNames) names.push_back(job->name);
  }
  return absl::NotFoundError(
      absl::StrCat("there is no job ", kube::ToString(key), Meant(key.name, names)));
}

absl::Status NoSuchQueue(const std::string& name, const std::vector<std::string>& known) {
  return absl::NotFoundError(absl::StrCat("there is no queue ", name, Meant(name, known)));
}

}  // namespace muster::control
