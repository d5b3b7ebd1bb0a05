// SPDX-License-Identifier: Apache-2.0
// A byte source in any encoding, read as UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "io/byte_source.hpp"

namespace quern::io {

/// Reads XML text and converts it to UTF-8. The encoding is detected as in XML: by a byte-order mark, by zeros around
/// the first '<', or by the XML declaration. UTF-8 passes unchecked; in other encodings, invalid sequences become
/// U+FFFD.
class utf8_input {
  public:
    explicit utf8_input(std::unique_ptr<byte_source> source);
    ~utf8_input();

    /// Appends more text to `out`; false at the end. Damage of the underlying bytes (a truncated archive) ends the
    /// input and is reported by damage(). Throws io_error.
    bool read_more(std::string& out);

    /// The damage that ended the input early.
    const std::optional<std::string>& damage() const { return damage_; }
    /// A note about the encoding, if any: the first call returns and clears it.
    std::optional<std::string> take_note();

    const byte_source& source() const { return *source_; }

  private:
    struct converter;
    bool fetch();
    void detect();
    void use_encoding(const char* name);

    std::unique_ptr<byte_source> source_;
    std::unique_ptr<converter> converter_;  // none: UTF-8
    std::string raw_;
    bool started_ = false;
    bool ended_ = false;
    bool replacement_reported_ = false;
    std::optional<std::string> damage_;
    std::optional<std::string> note_;
};

}  // namespace quern::io
