#include "heatskin/study/studies.h"

#include <array>

namespace heatskin::study {

std::span<const std::unique_ptr<Study>> studies() {
  static const std::array kStudies = {makeLocalityStudy(),   makeGeometryStudy(), makeQualityStudy(),
                                      makeEfficiencyStudy(), makeScalingStudy(),  makeThermalStudy(),
                                      makeSpectralStudy(),   makeAblationStudy(), makeCoverageStudy(),
                                      makeFoldsStudy(),      makeGalleryStudy()};
  return kStudies;
}

const Study* studyNamed(std::string_view name) {
  for (const auto& study : studies()) {
    if (study->name() == name) return study.get();
  }
  return nullptr;
}

}  // namespace heatskin::study
