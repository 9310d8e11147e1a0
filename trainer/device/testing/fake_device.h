#ifndef MUSTER_TRAINER_DEVICE_TESTING_FAKE_DEVICE_H_
#define MUSTER_TRAINER_DEVICE_TESTING_FAKE_DEVICE_H_

#include <cstdint>

#include "ATen/core/Tensor.h"
#include "c10/core/Device.h"
#include "trainer/kernels/kernels.h"

namespace muster::trainer {

// A device for tests, on which a host's mistakes show as on a GPU: the addresses of its tensors are
// none of the host's, so that a loop over them ends the process, and an operator that mixes its
// tensors with the CPU's fails. Operators are LibTorch's for the CPU, on copies. What is copied to
// pinned memory without blocking is there once an event behind the copy has been waited for, and a
// stream that copies what another has not finished, because it does not wait for that one's event,
// fails. It is LibTorch's PrivateUse1, and one device; the first call registers it, with its form
// of trainer/kernels.
c10::Device FakeDevice();

// Returns its form of trainer/kernels.
const Kernels& KernelsOfFakeDevice();

// Lets the device's tensors have this many bytes in all; INT64_MAX, as at first, is no limit.
void SetFakeDeviceMemory(int64_t bytes);
// Returns how many they have.
int64_t FakeDeviceMemoryInUse();

// Makes copies to and from it fail, as those of a card do after an illegal access, or work again.
void BreakFakeDevice(bool broken);

// Returns how often the host has read its memory, for which it would wait on a card.
int64_t FakeDeviceReads();

// Returns how often memory of the host that is not pinned was copied to it: on a card the host
// would first wait for what the stream has to do.
int64_t FakeDeviceWaits();

// Returns the tensor of the host whose memory a contiguous tensor of the device has.
at::Tensor HostViewOf(const at::Tensor& tensor);

}  // namespace muster::trainer

#endif  // MUSTER_TRAINER_DEVICE_TESTING_FAKE_DEVICE_H_
