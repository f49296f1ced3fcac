#include "heatskin/study/kept_fits.h"

#include <array>
#include <string>
#include <system_error>

#include "heatskin/base/files.h"
#include "heatskin/base/fingerprint.h"
#include "heatskin/study/runner.h"

namespace heatskin::study {
namespace {

std::string digestOf(std::span<const std::uint8_t> bytes) {
  Fingerprint fingerprint;
  fingerprint.add(bytes);
  return hexadecimal(fingerprint);
}

}  // namespace

KeptFits::KeptFits(const RunContext& context, const Json& identity) : fresh_(context.fresh) {
  if (context.fits.empty()) return;
  const std::string key = runFingerprint("fit", identity, context.version);
  product_ = context.fits / (key + ".glb");
  record_ = context.fits / (key + ".json");
}

std::optional<KeptFit> KeptFits::find() const {
  if (product_.empty() || fresh_) return {};
  const auto record = readFile(record_);
  auto product = readFile(product_);
  if (!record || !product) return {};
  const Json json = Json::parse(record->begin(), record->end(), nullptr, false);
  if (!json.is_object() || !json.contains("timing") || !json["timing"].is_object()) return {};
  // The two are written one after the other: a record of another product is as good as none.
  if (!json.contains("digest") || json["digest"] != digestOf(*product)) return {};
  return KeptFit{std::move(*product), json["timing"]};
}

void KeptFits::keep(const KeptFit& fit) const {
  if (product_.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(product_.parent_path(), ignored);
  const std::string record = Json{{"digest", digestOf(fit.product)}, {"timing", fit.timing}}.dump(1) + "\n";
  const std::array<FileContent, 2> files = {
      FileContent{product_, fit.product},
      FileContent{record_, {reinterpret_cast<const std::uint8_t*>(record.data()), record.size()}}};
  (void)writeFilesAtomically(files);
}

}  // namespace heatskin::study
