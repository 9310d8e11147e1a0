#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "trainer/checkpoint/manifest.h"

// An accepted checkpoint manifest must be written back as an accepted and equal one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(muster::trainer::ParseSidecar(text));
  const auto manifest = muster::trainer::ParseManifest(text);
  if (!manifest.ok()) return 0;
  const std::string written = muster::trainer::FormatManifest(*manifest);
  const auto again = muster::trainer::ParseManifest(written);
  if (!again.ok() || muster::trainer::FormatManifest(*again) != written) std::abort();
  return 0;
}
