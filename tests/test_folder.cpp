// SPDX-License-Identifier: Apache-2.0
#include "test_folder.hpp"

#include <cstdlib>

namespace quern {

std::filesystem::path test_folder() {
    const char* moved = std::getenv("QUERN_TEST_FOLDER");
    return moved != nullptr ? moved : QUERN_TEST_FOLDER;
}

}  // namespace quern
