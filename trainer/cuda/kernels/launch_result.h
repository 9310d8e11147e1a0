#ifndef MUSTER_TRAINER_CUDA_KERNELS_LAUNCH_RESULT_H_
#define MUSTER_TRAINER_CUDA_KERNELS_LAUNCH_RESULT_H_

// The same pointer as CUDA's cudaStream_t, so that users of kernels need none of CUDA's headers.
struct CUstream_st;

namespace muster::trainer::cuda {

using Stream = CUstream_st*;

// The outcome of enqueueing work on a stream: a cudaError_t, 0 if all went well. An error of the
// kernel itself shows in a later call, as everywhere in CUDA. ToStatus() makes a Status of it.
struct [[nodiscard]] LaunchResult {
  int code = 0;

  bool ok() const { return code == 0; }
};

// The types of elements that kernels read and write; they compute in float.
enum class Element { kFloat, kBfloat16 };

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_KERNELS_LAUNCH_RESULT_H_
