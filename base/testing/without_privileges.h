#ifndef MUSTER_BASE_TESTING_WITHOUT_PRIVILEGES_H_
#define MUSTER_BASE_TESTING_WITHOUT_PRIVILEGES_H_

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <thread>

namespace muster {

// Runs `work` on a thread that has no capabilities, so that the modes of files hold for it even if
// the tests run as root. Capabilities are a thread's own.
inline void WithoutPrivileges(const std::function<void()>& work) {
  std::thread thread([&work] {
    __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    const __user_cap_data_struct none[2] = {};
    if (syscall(SYS_capset, &header, none) != 0) std::abort();
    work();
  });
  thread.join();
}

}  // namespace muster

#endif  // MUSTER_BASE_TESTING_WITHOUT_PRIVILEGES_H_
