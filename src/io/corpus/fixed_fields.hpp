// SPDX-License-Identifier: Apache-2.0
// document::fields for forms whose records have fields of fixed names, such as the date of a mail.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "quern/base/document_fields.hpp"

namespace quern::io {

class fixed_fields {
  public:
    /// `fields` must outlive the object.
    explicit fixed_fields(const document_fields& fields) : fields_(fields) {}

    /// The record has this field; an empty value means that it has not. Bytes that are not UTF-8 become U+FFFD.
    void add(std::string_view name, std::string_view value);
    void add_number(std::string_view name, unsigned value);
    /// The fields to keep: all in the order of the additions, or those named in the order of the names. Marks in `named`
    /// what the record has. The last call.
    std::string finish(named_members& named);
    /// Whether a field of this name is to be kept.
    bool keeps(std::string_view name) const;

  private:
    const document_fields& fields_;
    std::vector<std::pair<std::string, std::string>>
        found_;  ///< names, and values in JSON (none of those not kept)
};

}  // namespace quern::io
