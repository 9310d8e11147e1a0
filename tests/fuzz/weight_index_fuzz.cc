#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "trainer/checkpoint/weight_index.h"

// An accepted index must name a tensor, and no file outside its directory.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto index = muster::trainer::ParseWeightIndex({reinterpret_cast<const char*>(data), size});
  if (!index.ok()) return 0;
  if (index->empty()) std::abort();
  for (const auto& [tensor, file] : *index) {
    const bool plain = !file.empty() && file != "." && file != ".." &&
                       file.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
    if (!plain) std::abort();
  }
  return 0;
}
