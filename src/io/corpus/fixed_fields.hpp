// SPDX-License-Identifier: Apache-2.0
// The fields of a record that are kept with its document, for forms whose fields have fixed names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quern::io {

class fixed_fields {
  public:
    /// `names`: document_fields::kept; must outlive the object.
    explicit fixed_fields(const std::vector<std::string>& names) : names_(names) {}

    /// Adds a field if it is wanted and not empty. Bytes that are not UTF-8 become U+FFFD.
    void add(std::string_view name, std::string_view value);
    /// The same for a number.
    void add_number(std::string_view name, unsigned value);
    /// document::fields: a JSON object in the order of the additions; empty if there were none.
    std::string take();

  private:
    bool begin(std::string_view name);

    const std::vector<std::string>& names_;
    std::string json_;
};

}  // namespace quern::io
