#ifndef MUSTER_BASE_TLS_TLS_BUFFERS_H_
#define MUSTER_BASE_TLS_TLS_BUFFERS_H_

namespace muster {

// For programs with thousands of TLS connections. OpenSSL keeps four buffers of about 17 KB for
// each, sized for the largest record; messages of a few hundred bytes touch one page of each, but
// what comes from the heap was touched before. From here on such buffers come page by page from the
// kernel and go back there when they are freed, so that only what is used is resident.
//
// False when OpenSSL has allocated already, and nothing is changed then. Libraries do that in their
// initialisers, so that it is to be called from .preinit_array.
bool InstallTlsBuffers();

}  // namespace muster

#endif  // MUSTER_BASE_TLS_TLS_BUFFERS_H_
