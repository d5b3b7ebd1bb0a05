// SPDX-License-Identifier: Apache-2.0
// What is refused, in words.
#pragma once

#include <exception>
#include <string>

namespace quern::testing {

/// The message of the Error that work() throws; another exception, or none, in words.
template <class Error, class Work>
std::string refused(const Work& work) {
    try {
        work();
    } catch (const Error& e) {
        return e.what();
    } catch (const std::exception& e) {
        return std::string("another error: ") + e.what();
    }
    return "nothing was refused";
}

}  // namespace quern::testing
