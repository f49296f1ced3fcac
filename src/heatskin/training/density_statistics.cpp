#include "heatskin/training/density_statistics.h"

#include "heatskin/base/permute.h"

namespace heatskin {

void DensityStatistics::reset(std::size_t count) {
  hits.assign(count, 0);
  contributions.assign(count, 0);
  errors.assign(count, 0);
  costs.assign(count, 0);
}

void DensityStatistics::add(std::size_t kernel, const KernelUse& use, bool count_use) {
  if (count_use) {
    hits[kernel] += use.hits;
    contributions[kernel] += use.contribution;
  }
  errors[kernel] += use.error;
  costs[kernel] += use.cost;
}

void DensityStatistics::select(const std::vector<std::uint32_t>& kept) {
  for (std::vector<double>* values : {&hits, &contributions, &errors, &costs}) {
    for (std::size_t k = 0; k < kept.size(); ++k)
      (*values)[k] = (*values)[kept[k]];
    values->resize(kept.size());
  }
}

void DensityStatistics::permute(std::span<const std::uint32_t> order) {
  for (std::vector<double>* of : {&hits, &contributions, &errors, &costs})
    permuteEntries(*of, order);
}

void DensityStatistics::appendUseOf(std::size_t i) {
  hits.push_back(hits[i]);
  contributions.push_back(contributions[i]);
  errors.push_back(0);
  costs.push_back(0);
}

}  // namespace heatskin
