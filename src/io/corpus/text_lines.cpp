// SPDX-License-Identifier: Apache-2.0
// A document on each line of plain text. Ids are made from positions. Blank lines are skipped.
#include "base/ascii.hpp"
#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"
#include "io/corpus/record_text.hpp"

namespace quern::io {
namespace {

class text_lines final : public line_form {
    void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                    parsed_unit& out) const override {
        if (line.find_first_not_of(ascii_space) == std::string_view::npos) return pass_over(out);
        document& made = begin_document(out, position.path, number);
        made.is_numbered = true;
        made.id = position.id_of_line(number);
        made.text = line;
        if (position.keep_records) mark_as_text(made);
        if (auto done = repair_utf8(made.text); !done.empty())
            repair(out, position.path, number, std::move(done));
    }
    bool may_be_short() const override { return true; }
    void pass_over(parsed_unit& out) const override { ++out.counts.skipped["empty line"]; }
};

}  // namespace

std::shared_ptr<const record_form> text_lines_form() {
    return std::make_shared<text_lines>();
}

}  // namespace quern::io
