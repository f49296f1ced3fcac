#pragma once

// Who works on what in a shared folder. A lease is a file that is made atomically, touched again and again
// while its owner lives, and taken over when that has stopped. Nothing is locked: a machine that dies leaves
// nothing that outlives the lease. Two owners of one asset, which a machine that was paused can bring about,
// do double work and no harm.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

#include "heatskin/base/result.h"

namespace heatskin::batch {

/// What a lease says.
struct LeaseInfo {
  std::string name;          ///< of the output
  std::string nonce;         ///< of this attempt; no two are equal
  std::string host, system;  ///< `system` tells boots and containers of one host name apart
  long pid = 0;
  unsigned long long pid_start = 0;  ///< of the process, so that a reused number is not taken for it
  std::string job;                   ///< of the engine: "slurm 17_3"; empty: none
  std::string since;                 ///< when it was made, UTC
  int takeovers = 0;                 ///< how often its owners have vanished without progress
};

/// A lease that is in a folder.
struct FoundLease {
  LeaseInfo info;
  double age_s = 0;   ///< since its last sign of life, by the clock of the file system
  bool dead = false;  ///< its process was on this machine and is gone
};

/// This process, as leases name it.
LeaseInfo thisProcess();

/// Random digits.
std::string newNonce();

/// Seconds between the clock of a folder's file system and the modification of a file; negative if it cannot
/// be told. Clocks of machines may differ; that of the file server is one.
class FileClock {
 public:
  explicit FileClock(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// The present time there, in seconds; nothing if the folder takes no files.
  std::optional<double> now() const;

 private:
  std::filesystem::path folder_;
};

/// When a file was modified, in seconds; nothing if it is not there.
std::optional<double> modified(const std::filesystem::path& file);

class Lease {
 public:
  Lease() = default;
  Lease(Lease&& other) noexcept { *this = std::move(other); }
  Lease& operator=(Lease&& other) noexcept;
  Lease(const Lease&) = delete;
  ~Lease() { release(); }

  struct Attempt;

  /// Takes the lease of an output. Nothing in `lease` if another one has it; `previous` is set when one was
  /// taken over. `stale_s`: without a sign of life for so long, an owner is gone.
  static Result<Attempt> acquire(const std::filesystem::path& folder, const std::string& name,
                                 double stale_s);

  /// A sign of life; false if the lease is no longer ours.
  bool refresh();

  /// Removes it, if it is still ours.
  void release();

  /// The number that the next owner will see, if this one vanishes: progress was made.
  void clearTakeovers();

  bool held() const { return !file_.empty(); }
  const LeaseInfo& info() const { return info_; }

 private:
  bool ours() const;

  std::filesystem::path file_;
  LeaseInfo info_;
};

struct Lease::Attempt {
  std::optional<Lease> lease;
  std::optional<LeaseInfo> previous;
};

/// The lease of an output, if there is one.
std::optional<FoundLease> findLease(const std::filesystem::path& folder, const std::string& name);

/// The file name, without folder, of what belongs to an output: a hash, because names have folders.
std::string leaseKey(const std::string& name);

/// What the text of a lease file says; nothing if it is not one.
std::optional<LeaseInfo> parseLease(const std::string& text);

/// Leases of a folder, whoever has them. The names of their files end with ".lease".
std::vector<FoundLease> allLeases(const std::filesystem::path& folder);

}  // namespace heatskin::batch
