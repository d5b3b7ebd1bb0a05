// SPDX-License-Identifier: Apache-2.0
// `id TAB text`, a document a line. Everything after the first tab is text, including tabs.
#include "io/corpus/encoding.hpp"
#include "io/corpus/record_reader.hpp"

namespace quern::io {
namespace {

class tsv final : public line_form {
    void parse_line(std::string_view line, const unit_position& position, std::uint64_t number,
                    parsed_unit& out) const override {
        const std::size_t tab = line.find('\t');
        if (tab == std::string_view::npos)
            return reject(out, position.path, number, "no tab between id and text");
        if (tab == 0) return reject(out, position.path, number, "the id is empty");
        const std::string_view id = line.substr(0, tab);
        if (!is_utf8(id)) return reject(out, position.path, number, "the id is not UTF-8");
        document& made = begin_document(out, position.path, number);
        made.id = id;
        made.text = line.substr(tab + 1);
        made.record_kind = document::record_form::tsv;
        if (auto done = repair_utf8(made.text); !done.empty())
            repair(out, position.path, number, std::move(done));
    }
};

}  // namespace

std::shared_ptr<const record_form> tsv_form() {
    return std::make_shared<tsv>();
}

}  // namespace quern::io
