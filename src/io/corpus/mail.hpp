// SPDX-License-Identifier: Apache-2.0
// One message of mail (RFC 5322, MIME) to a document.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/corpus/corpus.hpp"
#include "io/corpus/header_fields.hpp"
#include "quern/base/document.hpp"

namespace quern::io {

/// A field's value in UTF-8: unfolded, encoded words (RFC 2047) decoded.
std::string decode_mail_words(std::string_view value);

/// The ids of messages between "<" and ">" in a field's value, in order; UTF-8.
std::vector<std::string> message_ids(std::string_view value);

struct mail_message {
    document made;         ///< without id if it has no Message-ID
    std::string repaired;  ///< the repair of its text; empty for most
    std::string cut;       ///< why a part of the text is missing, if it is
};

/// The document of a message. The text is that of its parts that are text, of alternatives plain text if there is one; other
/// parts are counted in `counts` by type, "part of mail: application/pdf". Time is linear in the bytes times the depth of
/// the parts, at most 50. `is_quoted`: the message is from an mbox, where ">From " stands for "From ". Throws
/// out_of_memory if a part that is a web page needs more than `budget`.
mail_message read_mail(std::string_view bytes, bool is_quoted, const document_fields& kept,
                       const reading_budget& budget, reading_counts& counts, named_members& named);

/// The Message-ID without "<" and ">"; empty if there is none.
std::string message_id(const header_fields& fields);

/// Whether a line, without its end, separates the messages of an mbox: "From ", and a time, "12:34", in it.
bool is_from_line(std::string_view line);
inline constexpr std::size_t longest_from_line = 512;

/// Whether `head` begins with a line "From …" of an mbox and fields of mail.
bool opens_as_mbox(std::string_view head);
/// Whether `head` begins with fields of mail, among them one that a mail server writes; `named`: the file's name says that
/// it is mail, and any field of mail suffices.
bool opens_as_mail(std::string_view head, bool named);

}  // namespace quern::io
