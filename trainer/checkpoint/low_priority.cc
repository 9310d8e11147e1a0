#include "trainer/checkpoint/low_priority.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace muster::trainer {
namespace {

// The lowest level of the best-effort class (in the kernel's encoding; C libraries have no name for
// it).
constexpr int kLowestIoPriority = (2 << 13) | 7;

}  // namespace

void LowerPriority(int cpu) {
  const sched_param none{};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 10);
  syscall(SYS_ioprio_set, /*IOPRIO_WHO_PROCESS*/ 1, gettid(), kLowestIoPriority);
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace muster::trainer
