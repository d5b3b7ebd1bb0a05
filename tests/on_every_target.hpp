// SPDX-License-Identifier: Apache-2.0
// Forces each instruction set that this processor and this build have, one after the other.
#pragma once

#include <gtest/gtest.h>

#include "hwy/targets.h"

namespace quern {

template <class Body>
void on_every_target(const Body& body) {
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
        SCOPED_TRACE(hwy::TargetName(target));
        hwy::SetSupportedTargetsForTest(target);
        hwy::GetChosenTarget().Update(hwy::SupportedTargets());
        body();
    }
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace quern
