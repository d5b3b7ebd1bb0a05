// SPDX-License-Identifier: Apache-2.0
// An error that passes through a job which knows more to say of it.
#pragma once

#include <string>
#include <utility>

namespace quern {

/// Caught as `Error`, with another text.
template <class Error>
class told_otherwise : public Error {
  public:
    told_otherwise(const Error& thrown, std::string text) : Error(thrown), text_(std::move(text)) {}
    const char* what() const noexcept override { return text_.c_str(); }

  private:
    std::string text_;
};

/// Throws `thrown` with another text.
template <class Error>
[[noreturn]] void throw_told(const Error& thrown, std::string text) {
    throw told_otherwise<Error>(thrown, std::move(text));
}

}  // namespace quern
