// What muster-operator does before shared libraries are initialised: one of them starts OpenSSL
// then, whose memory must be arranged first. Only a program has such a section, no library.
#include "base/tls/tls_buffers.h"

namespace {

[[gnu::section(".preinit_array"), gnu::used]] void (*const install_tls_buffers)() = [] {
  muster::InstallTlsBuffers();
};

}  // namespace
