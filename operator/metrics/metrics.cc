#include "operator/metrics/metrics.h"

namespace muster::control {

Metrics::Metrics() {
  for (const char* result : {"success", "conflict", "error", "terminal"}) {
    reconciles_.With({result});
  }
  for (const char* kind : {"decision", "progress"}) status_writes_.With({kind});
  leader_transitions_.With({});
}

}  // namespace muster::control
