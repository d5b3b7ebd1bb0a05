// SPDX-License-Identifier: Apache-2.0
#include "io/corpus/column_reader.hpp"

#include <string>
#include <utility>

#include "io/corpus/encoding.hpp"
#include "quern/base/error.hpp"

namespace quern::io {

column_unit::column_unit(parsed_unit notes, const context& ctx) : notes_(std::move(notes)), ctx_(ctx) {}

bool column_unit::parse_within(const reading_budget& budget, parsed_unit& out) {
    parsed_unit made = notes_;
    made.documents = document_list(list_allocator(documents().lists()));
    try {
        read_rows(budget, ctx_, made);
    } catch (const out_of_memory&) {
        if (budget.is_last) throw;
        return false;
    }
    documents().finish(made);
    forget_rows();
    out = std::move(made);
    return true;
}

column_reader_base::column_reader_base(const column_documents& documents, const context& ctx)
    : ctx_(ctx), of_units_(ctx) {
    of_units_.on_progress = nullptr;
    of_units_.on_log = nullptr;
    for (const std::string& name : documents.columns().unkept) {
        std::string shown = name;
        repair_utf8(shown);
        ++notes_.counts.skipped["column without a form in JSON: " + shown];
    }
}

parsed_unit column_reader_base::take_notes() {
    return std::exchange(notes_, {});
}

}  // namespace quern::io
