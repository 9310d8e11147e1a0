#ifndef MUSTER_TRAINER_CUDA_FAKE_NCCL_H_
#define MUSTER_TRAINER_CUDA_FAKE_NCCL_H_

#include "trainer/cuda/nccl_api.h"

namespace muster::trainer::cuda {

// A fake of NCCL whose ranks are threads of this process, on host memory. It keeps the contracts
// that are easy to break: operations on a stream run in order, so that a message that is not
// received blocks those behind it; a call may still be in progress when it returns; a lost rank
// shows as an asynchronous error of the others; a stuck operation hangs until its communicator is
// aborted; use of a communicator after its end aborts the process.
NcclApi FakeNccl();

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_FAKE_NCCL_H_
