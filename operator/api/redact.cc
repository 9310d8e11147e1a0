#include "operator/api/redact.h"

namespace muster::control {
namespace {

// Redacts `env` at any depth: containers come in several lists, and Kubernetes may add more.
void RedactBelow(Json& node) {
  if (node.is_array()) {
    for (Json& element : node) RedactBelow(element);
  }
  if (!node.is_object()) return;
  for (auto& [name, value] : node.items()) {
    if (name != "env" || !value.is_array()) {
      RedactBelow(value);
      continue;
    }
    for (Json& variable : value) {
      if (variable.is_object() && variable.contains("value")) variable["value"] = kRedacted;
    }
  }
}

}  // namespace

void RedactEnvironment(Json& job) {
  if (!job.is_object() || !job.contains("spec") || !job["spec"].is_object()) return;
  if (job["spec"].contains("template")) RedactBelow(job["spec"]["template"]);
}

}  // namespace muster::control
