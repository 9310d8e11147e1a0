#include "agent/hardware/kernel_clock.h"

#include <sys/timex.h>

namespace muster::agent {

std::optional<ClockReading> ReadKernelClock() {
  timex clock = {};
  const int state = ::adjtimex(&clock);
  if (state == -1) return std::nullopt;
  return ClockReading{.synchronized = state != TIME_ERROR && (clock.status & STA_UNSYNC) == 0,
                      .max_error_seconds = static_cast<double>(clock.maxerror) * 1e-6};
}

}  // namespace muster::agent
