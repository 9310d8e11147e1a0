#ifndef GLOO_TRANSPORT_DEVICE_H_
#define GLOO_TRANSPORT_DEVICE_H_

// Only named, behind pointers that libtorch_cpu makes and destroys.
namespace gloo::transport {
class Device;
class UnboundBuffer;
}  // namespace gloo::transport

#endif  // GLOO_TRANSPORT_DEVICE_H_
