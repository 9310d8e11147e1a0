#ifndef MUSTER_TRAINER_CUDA_NCCL_PARTS_H_
#define MUSTER_TRAINER_CUDA_NCCL_PARTS_H_

#include <memory>

#include "ATen/core/Tensor.h"
#include "trainer/comm/communicator.h"
#include "trainer/cuda/nccl_check.h"
#include "trainer/cuda/nccl_group.h"

namespace muster::trainer::cuda {

// A formed group, as NcclConnector hands it to the communicator.
struct NcclParts {
  std::shared_ptr<NcclGroup> group;
  std::unique_ptr<OperationCheck> check;  // null: fingerprints are not compared
  int rank = 0;
  int size = 1;
  at::Tensor barrier;  // one element on the device
};

std::unique_ptr<Communicator> MakeNcclCommunicator(NcclParts parts);

}  // namespace muster::trainer::cuda

#endif  // MUSTER_TRAINER_CUDA_NCCL_PARTS_H_
