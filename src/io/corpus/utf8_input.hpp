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

/// Reads XML text and turns it into UTF-8. The encoding is told as XML does it: by a byte order mark, by
/// zeros around the first '<', or by the encoding that the XML declaration names. UTF-8 passes through
/// unchecked; in other encodings, sequences that mean nothing become U+FFFD.
class utf8_input {
  public:
    explicit utf8_input(std::unique_ptr<byte_source> source);
    ~utf8_input();

    /// Appends more text to `out`; false at the end. Damage of the bytes below (a cut-off archive) ends the
    /// input and is told by damage(). Throws io_error.
    bool read_more(std::string& out);

    /// What has ended the input early.
    const std::optional<std::string>& damage() const { return damage_; }
    /// Something to say about the encoding, once: taken by the call.
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
    bool replaced_told_ = false;
    std::optional<std::string> damage_;
    std::optional<std::string> note_;
};

}  // namespace quern::io
