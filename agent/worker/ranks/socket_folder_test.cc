#include "agent/worker/ranks/socket_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace muster::agent {
namespace {

bool Exists(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0;
}

TEST(SocketFolderTest, AShortFolderIsUsedAndStays) {
  std::string folder = "/tmp/muster-folder-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    EXPECT_EQ(SocketFolder(folder, "").path(), folder);
  }
  EXPECT_TRUE(Exists(folder));
  rmdir(folder.c_str());
}

TEST(SocketFolderTest, ALongOrRelativeFolderIsReplacedByAPrivateOneThatGoes) {
  for (const std::string& preferred : {"/" + std::string(100, 'a'), std::string("logs")}) {
    std::string path;
    {
      const SocketFolder folder(preferred, "/" + std::string(200, 't'));
      path = folder.path();
      EXPECT_TRUE(absl::StartsWith(path, "/tmp/muster-agent-")) << path;
      struct stat info;
      ASSERT_EQ(stat(path.c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 07777, 0700u);
    }
    EXPECT_FALSE(Exists(path));
  }
}

TEST(SocketFolderTest, WithoutAPlaceThereIsNone) {
  EXPECT_EQ(SocketFolder("", "/no/such/folder").path(), "");
}

}  // namespace
}  // namespace muster::agent
