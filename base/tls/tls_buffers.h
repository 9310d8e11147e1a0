#ifndef MUSTER_BASE_TLS_TLS_BUFFERS_H_
#define MUSTER_BASE_TLS_TLS_BUFFERS_H_

namespace muster {

// Reduces the memory of programs with thousands of TLS connections. OpenSSL keeps four buffers of
// about 17 KB per connection, sized for the largest record. Messages of a few hundred bytes touch
// only one page of each, but memory from the heap has usually been touched before. After this call
// such buffers are mapped from the kernel and returned to it when freed, so that only the used
// pages are resident.
//
// Returns false, and changes nothing, if OpenSSL has allocated already. Libraries do that in their
// initializers, so call it from .preinit_array.
bool InstallTlsBuffers();

}  // namespace muster

#endif  // MUSTER_BASE_TLS_TLS_BUFFERS_H_
