// SPDX-License-Identifier: Apache-2.0
// The date of a message (RFC 5322, section 3.3, and the obsolete forms of 4.3) in the form of ISO 8601, which has an order
// and is a type of kept fields.
#pragma once

#include <string>
#include <string_view>

namespace quern::io {

/// "Mon, 2 Nov 2026 10:00:00 +0100" is "2026-11-02T10:00:00+01:00". A word in front, the day of the week, and comments
/// in parentheses are ignored. Years of two digits are 1950 to 2049. A zone that is missing, -0000, or a name other than UT, UTC, GMT, Z and
/// those of the United States means UTC, as RFC 5322 asks. The C library's form, "Mon Nov  2 10:00:00 2026", is read too.
/// Empty if the value is not a date.
std::string iso_date_of_mail(std::string_view value);

}  // namespace quern::io
