// A library for LD_PRELOAD that shifts the wall clock of a process. The file named by
// MUSTER_TEST_CLOCK holds the offset in nanoseconds; writing to it steps the clock. Other clocks,
// and the kernel's, are not changed.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

constexpr int64_t kSecond = 1'000'000'000;

const std::atomic<int64_t>* MapOffset() {
  static const std::atomic<int64_t> none{0};
  const char* path = std::getenv("MUSTER_TEST_CLOCK");
  const int fd = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return &none;
  void* page = mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  return page == MAP_FAILED ? &none : static_cast<const std::atomic<int64_t>*>(page);
}

int64_t Offset() {
  static const std::atomic<int64_t>* const offset = MapOffset();
  return offset->load(std::memory_order_relaxed);
}

void Shift(timespec* time, int64_t by) {
  const int64_t nanoseconds = time->tv_nsec + by % kSecond + kSecond;
  time->tv_sec += by / kSecond - 1 + nanoseconds / kSecond;
  time->tv_nsec = nanoseconds % kSecond;
}

long Kernel(long number, long a, long b, long c, long d, long e, long f) {
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  long result;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  if (result < 0 && result > -4096) {
    errno = static_cast<int>(-result);
    return -1;
  }
  return result;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* time) noexcept {
  const long status = Kernel(SYS_clock_gettime, id, reinterpret_cast<long>(time), 0, 0, 0, 0);
  if (status == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) Shift(time, Offset());
  return static_cast<int>(status);
}

int gettimeofday(timeval* time, void*) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *time = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

time_t time(time_t* out) noexcept {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

// Converts the deadline of a futex wait from the shifted clock to the kernel's.
long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long at[6];
  for (long& argument : at) argument = va_arg(list, long);
  va_end(list);
  timespec until;
  if (number == SYS_futex && (at[1] & FUTEX_CLOCK_REALTIME) != 0 && at[3] != 0) {
    until = *reinterpret_cast<const timespec*>(at[3]);
    Shift(&until, -Offset());
    at[3] = reinterpret_cast<long>(&until);
  }
  return Kernel(number, at[0], at[1], at[2], at[3], at[4], at[5]);
}

}  // extern "C"
