#include "base/byte_text.h"

#include <cstddef>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace muster {

std::string ByteText(int64_t bytes) {
  const char* const names[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < std::size(names)) {
    value /= 1024.0;
    ++unit;
  }
  return unit == 0 ? absl::StrCat(bytes, " bytes") : absl::StrFormat("%.1f %s", value, names[unit]);
}

}  // namespace muster
