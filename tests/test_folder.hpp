// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace quern {

/// The folder tests/ with the files that tests read: of the sources, or what the environment's QUERN_TEST_FOLDER
/// names, for test programs that have travelled to another machine.
std::filesystem::path test_folder();

}  // namespace quern
