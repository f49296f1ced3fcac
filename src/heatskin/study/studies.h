#pragma once

// The studies there are, one file each. A further one is a file and a line in studies.cpp.

#include <memory>

#include "heatskin/study/study.h"

namespace heatskin::study {

std::unique_ptr<Study> makeQualityStudy();
std::unique_ptr<Study> makeEfficiencyStudy();
std::unique_ptr<Study> makeAblationStudy();
std::unique_ptr<Study> makeCoverageStudy();
std::unique_ptr<Study> makeScalingStudy();
std::unique_ptr<Study> makeGeometryStudy();
std::unique_ptr<Study> makeSpectralStudy();
std::unique_ptr<Study> makeThermalStudy();
std::unique_ptr<Study> makeLocalityStudy();
std::unique_ptr<Study> makeFoldsStudy();
std::unique_ptr<Study> makeGalleryStudy();

}  // namespace heatskin::study
