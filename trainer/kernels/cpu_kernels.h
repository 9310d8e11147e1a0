#ifndef MUSTER_TRAINER_KERNELS_CPU_KERNELS_H_
#define MUSTER_TRAINER_KERNELS_CPU_KERNELS_H_

#include "trainer/kernels/kernels.h"

namespace muster::trainer {

// The form for CPUs. It lives as long as the process.
const Kernels& CpuKernels();

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_KERNELS_CPU_KERNELS_H_
