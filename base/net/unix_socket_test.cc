#include "base/net/unix_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

class UnixSocketTest : public testing::Test {
 protected:
  UnixSocketTest() {
    char folder[] = "/tmp/muster-unix-XXXXXX";
    folder_ = ::mkdtemp(folder);
  }
  ~UnixSocketTest() override {
    ::unlink((folder_ + "/run/x.sock").c_str());
    ::rmdir((folder_ + "/run").c_str());
    ::rmdir(folder_.c_str());
  }
  static unsigned ModeOf(const std::string& path) {
    struct stat info = {};
    ::stat(path.c_str(), &info);
    return info.st_mode & 07777;
  }

  std::string folder_;
};

TEST_F(UnixSocketTest, AFolderThatIsMissingIsMadePrivate) {
  const mode_t before = ::umask(0);
  EXPECT_TRUE(PrepareSocket(folder_ + "/run/x.sock", "operator").ok());
  ::umask(before);
  EXPECT_EQ(ModeOf(folder_ + "/run"), 0700u);
}

// A shared folder like /tmp, which root would otherwise have been able to make private.
TEST_F(UnixSocketTest, ASharedFolderIsRefusedAndNotChanged) {
  ASSERT_EQ(::mkdir((folder_ + "/run").c_str(), 0700), 0);
  ASSERT_EQ(::chmod((folder_ + "/run").c_str(), 01777), 0);
  const absl::Status status = PrepareSocket(folder_ + "/run/x.sock", "operator");
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/run has mode 1777"));
  EXPECT_EQ(ModeOf(folder_ + "/run"), 01777u);
}

TEST_F(UnixSocketTest, APrivateFolderIsTakenAsItIs) {
  ASSERT_EQ(::mkdir((folder_ + "/run").c_str(), 0500), 0);
  EXPECT_TRUE(MakePrivateFolder(folder_ + "/run").ok());
  EXPECT_EQ(ModeOf(folder_ + "/run"), 0500u);
}

TEST_F(UnixSocketTest, ALivingSocketIsRefusedAndADeadOneRemoved) {
  const std::string path = folder_ + "/run/x.sock";
  ASSERT_TRUE(PrepareSocket(path, "operator").ok());
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(fd, 1), 0);
  EXPECT_EQ(PrepareSocket(path, "operator").code(), absl::StatusCode::kAlreadyExists);
  ::close(fd);
  EXPECT_TRUE(PrepareSocket(path, "operator").ok());
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

TEST_F(UnixSocketTest, APathThatIsNotAbsoluteIsRefused) {
  for (const char* path : {"", "x.sock", "/x.sock"}) {
    EXPECT_EQ(PrepareSocket(path, "operator").code(), absl::StatusCode::kInvalidArgument) << path;
  }
}

}  // namespace
}  // namespace muster
