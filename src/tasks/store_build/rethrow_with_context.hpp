// SPDX-License-Identifier: Apache-2.0
// Rethrows an error with extra context.
#pragma once

#include <string>
#include <utility>

namespace quern {

/// Caught as `Error`, with another text.
template <class Error>
class error_with_context : public Error {
  public:
    error_with_context(const Error& thrown, std::string text) : Error(thrown), text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    std::string text_;
};

/// Throws `thrown` with another text.
template <class Error>
[[noreturn]] void rethrow_with_context(const Error& thrown, std::string text) {
    throw error_with_context<Error>(thrown, std::move(text));
}

}  // namespace quern
