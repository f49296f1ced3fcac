#include "heatskin/batch/lease.h"

#include <atomic>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/temporary_folder.h"

namespace heatskin::batch {
namespace {

namespace fs = std::filesystem;
using heatskin::testing::TemporaryFolder;

constexpr double kStale = 100;

class Leases : public ::testing::Test {
 protected:
  Lease::Attempt acquire(const std::string& name, double stale_s = kStale) {
    auto attempt = Lease::acquire(folder_.path(), name, stale_s);
    EXPECT_TRUE(attempt) << attempt.error().message;
    return attempt ? std::move(*attempt) : Lease::Attempt();
  }
  fs::path file(const std::string& name) { return folder_.path() / (leaseKey(name) + ".lease"); }

  /// As if nobody had touched it for so long.
  void age(const std::string& name, long seconds) {
    struct stat info {};
    ASSERT_EQ(::stat(file(name).c_str(), &info), 0);
    timespec times[2] = {info.st_atim, info.st_mtim};
    times[1].tv_sec -= seconds;
    ASSERT_EQ(::utimensat(AT_FDCWD, file(name).c_str(), times, 0), 0);
  }
  /// As if another machine had it.
  void moveElsewhere(const std::string& name) {
    std::string text = folder_.read(file(name).filename().string());
    const std::string host = "\"host\":\"" + thisProcess().host + "\"";
    const std::size_t at = text.find(host);
    ASSERT_NE(at, std::string::npos) << text;
    text.replace(at, host.size(), "\"host\":\"elsewhere\"");
    std::ofstream(file(name), std::ios::trunc) << text;
  }

  TemporaryFolder folder_;
};

TEST_F(Leases, HaveOneOwner) {
  auto first = acquire("a/b");
  ASSERT_TRUE(first.lease);
  EXPECT_FALSE(first.previous);
  EXPECT_FALSE(acquire("a/b").lease);
  EXPECT_TRUE(acquire("a/c").lease);
  EXPECT_TRUE(first.lease->refresh());
  const auto found = findLease(folder_.path(), "a/b");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->info.name, "a/b");
  EXPECT_EQ(found->info.pid, static_cast<long>(::getpid()));
  EXPECT_FALSE(found->dead);
  first.lease->release();
  EXPECT_TRUE(acquire("a/b").lease);
  EXPECT_TRUE(folder_.names().empty()) << "released leases leave nothing";
}

TEST_F(Leases, OfAMachineThatIsSilentAreTakenOver) {
  auto first = acquire("x");
  moveElsewhere("x");
  EXPECT_FALSE(acquire("x").lease) << "it has just shown a sign of life";
  age("x", 90);
  EXPECT_FALSE(acquire("x").lease);
  ASSERT_TRUE(first.lease->refresh());
  age("x", 90);
  EXPECT_FALSE(acquire("x").lease) << "the sign of life counted";
  age("x", 90);
  auto second = acquire("x");
  ASSERT_TRUE(second.lease);
  ASSERT_TRUE(second.previous);
  EXPECT_EQ(second.previous->host, "elsewhere");
  EXPECT_EQ(second.lease->info().takeovers, 1);
  // The first one was only paused: it notices, and does not take the lease of the second along.
  EXPECT_FALSE(first.lease->refresh());
  first.lease->release();
  EXPECT_TRUE(second.lease->refresh());
  age("x", 200);
  auto third = acquire("x");
  ASSERT_TRUE(third.lease);
  EXPECT_EQ(third.lease->info().takeovers, 2);
  third.lease->clearTakeovers();
  age("x", 200);
  EXPECT_EQ(acquire("x").lease->info().takeovers, 1);
}

// A process of this machine that is gone need not be waited for.
TEST_F(Leases, OfADeadProcessAreFree) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto attempt = Lease::acquire(folder_.path(), "x", kStale);
    ::_exit(attempt && attempt->lease ? 0 : 1);  // without destructors: it is killed, so to speak
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const auto found = findLease(folder_.path(), "x");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->dead);
  const auto attempt = acquire("x");
  EXPECT_TRUE(attempt.lease);
  EXPECT_TRUE(attempt.previous);
}

TEST_F(Leases, ThatAreNoLeasesCountByTheirAge) {
  for (const char* text : {"", "{", "{\"nonce\": 3}", "\xff\xfe", "[]"}) {
    std::ofstream(file("x"), std::ios::trunc) << text;
    EXPECT_FALSE(acquire("x").lease) << "it may be about to be written";
    age("x", 200);
    EXPECT_TRUE(acquire("x").lease) << text;
  }
}

// Many at once, again and again: never two owners, and each round somebody gets it.
TEST_F(Leases, GoToOneOfMany) {
  std::vector<Lease> abandoned;
  for (int round = 0; round < 20; ++round) {
    const std::string name = "r" + std::to_string(round);
    if (round % 2 == 1) {
      abandoned.push_back(std::move(*acquire(name).lease));
      age(name, 200);
    }
    std::atomic<int> owners = 0;
    std::vector<Lease> kept(8);
    std::vector<std::thread> threads;
    for (Lease& mine : kept) {
      threads.emplace_back([&] {
        auto attempt = Lease::acquire(folder_.path(), name, kStale);
        if (!attempt || !attempt->lease) return;
        mine = std::move(*attempt->lease);
        ++owners;
      });
    }
    for (std::thread& thread : threads)
      thread.join();
    int valid = 0;
    for (Lease& lease : kept)
      valid += lease.held() && lease.refresh() ? 1 : 0;
    EXPECT_LE(valid, 1) << round;
    EXPECT_GE(owners, round % 2 == 1 ? 0 : 1) << round;
  }
}

TEST_F(Leases, InAFolderThatIsNotThereAreAnError) {
  EXPECT_FALSE(Lease::acquire(folder_.path() / "missing", "x", kStale));
  EXPECT_FALSE(FileClock(folder_.path() / "missing").now());
}

}  // namespace
}  // namespace heatskin::batch
