#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trainer/checkpoint/data_type.h"
#include "trainer/checkpoint/safetensors.h"

// An accepted header must describe tensors that lie inside the file, one after the other.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto header = muster::trainer::ParseSafetensorsHeader(bytes, size);
  if (!header.ok()) return 0;
  uint64_t end = 0;
  for (const auto& tensor : header->tensors) {
    const auto count = muster::trainer::ElementCount(tensor.shape);
    const bool sound = count.has_value() && tensor.offset >= end && tensor.offset <= size &&
                       tensor.bytes <= size - tensor.offset &&
                       *count * muster::trainer::ElementBytes(tensor.type) == tensor.bytes;
    if (!sound) std::abort();
    end = tensor.offset + tensor.bytes;
  }
  return 0;
}
