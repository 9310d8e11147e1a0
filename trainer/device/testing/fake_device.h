#ifndef MUSTER_TRAINER_DEVICE_TESTING_FAKE_DEVICE_H_
#define MUSTER_TRAINER_DEVICE_TESTING_FAKE_DEVICE_H_

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "c10/core/Device.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {

// A fake device for tests that shows a host's mistakes as a GPU would. The addresses of its tensors
// are invalid on the host, so that a loop over them ends the process, and an operator that mixes
// its tensors with the CPU's fails. Operators are LibTorch's for the CPU, on copies. A non-blocking
// copy to pinned memory is complete only once an event recorded behind it has been waited for, and
// a copy on one stream of what another stream has not finished, because it does not wait for that
// stream's event, fails. It is the only device of LibTorch's type PrivateUse1; the first call
// registers it, with its implementation of trainer/kernels.
c10::Device FakeDevice();

// Returns its implementation of trainer/kernels.
const Kernels& KernelsOfFakeDevice();

// Limits the bytes of all tensors of the device; INT64_MAX, the default, is no limit.
void SetFakeDeviceMemory(int64_t bytes);
// Returns the bytes of all tensors of the device.
int64_t FakeDeviceMemoryInUse();

// Makes copies to and from it fail, as on a GPU after an illegal access, or work again.
void BreakFakeDevice(bool broken);

// Returns how often the host has read its memory; on a GPU each read would wait for the device.
int64_t FakeDeviceReads();

// Returns how often host memory that is not pinned was copied to it; on a GPU the host would first
// wait for the stream.
int64_t FakeDeviceWaits();

// Returns a host tensor over the memory of a contiguous tensor of the device.
at::Tensor HostViewOf(const at::Tensor& tensor);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DEVICE_TESTING_FAKE_DEVICE_H_
