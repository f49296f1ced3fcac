#include "heatskin/base/files.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace heatskin {
namespace {

namespace fs = std::filesystem;

/// An empty folder that disappears with the test.
class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heatskin_files_XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

std::string text(const std::vector<std::uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

TEST_F(Files, WhatIsWrittenIsRead) {
  const fs::path path = folder_ / "näme with blanks.bin";
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("first")));
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("second, longer")));
  const auto bytes = readFile(path);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(text(*bytes), "second, longer");
  EXPECT_EQ(entries(), 1u) << "no temporary file is left";
}

TEST_F(Files, PermissionsOfAnExistingFileAreKept) {
  const fs::path path = folder_ / "private";
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("a")));
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("b")));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, FailedWritesLeaveNothingBehind) {
  const Result<void> missing = writeFileAtomically(folder_ / "no" / "such" / "folder", std::string_view("x"));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::kFailed);
  EXPECT_FALSE(writeFileAtomically(folder_, std::string_view("x"))) << "a folder is not a file";
  EXPECT_EQ(entries(), 0u);
}

TEST_F(Files, OnlyRegularFilesAreRead) {
  for (const fs::path& path : {folder_, fs::path("/dev/zero"), folder_ / "absent"}) {
    const auto bytes = readFile(path);
    ASSERT_FALSE(bytes) << path;
    EXPECT_EQ(bytes.error().kind, ErrorKind::kInput);
    EXPECT_NE(bytes.error().message.find(path.string()), std::string::npos);
  }
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(readFile(pipe)) << "and opening a pipe without a writer does not hang";
}

TEST_F(Files, TheLimitIsChecked) {
  const fs::path path = folder_ / "big";
  ASSERT_TRUE(writeFileAtomically(path, std::string_view("0123456789")));
  EXPECT_TRUE(readFile(path, 10));
  EXPECT_FALSE(readFile(path, 9));
}

TEST_F(Files, SpecialFilesAreWrittenInPlace) {
  ASSERT_TRUE(writeFileAtomically("/dev/null", std::string_view("gone")));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace heatskin
