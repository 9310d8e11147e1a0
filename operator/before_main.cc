// Runs before shared libraries are initialized, because one of them starts OpenSSL, whose memory
// must be arranged first. Only a program can have a .preinit_array section, not a library.
#include "base/tls/tls_buffers.h"

namespace {

[[gnu::section(".preinit_array"), gnu::used]] void (*const install_tls_buffers)() = [] {
  muster::InstallTlsBuffers();
};

}  // namespace
