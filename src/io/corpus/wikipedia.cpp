// SPDX-License-Identifier: Apache-2.0
// The serial part cuts pages out of the dump (wikipedia_cut); a unit parses and cleans its pages independently.
#include "io/corpus/wikipedia.hpp"
#include "io/corpus/record_reader.hpp"

#include <algorithm>

#include "io/corpus/wiki_site.hpp"
#include "io/corpus/wikipedia_cut.hpp"
#include "io/corpus/wikipedia_page.hpp"
#include "io/corpus/wikitext.hpp"
#include "io/lines/line_ends.hpp"

namespace quern::io {
namespace {

/// How many copies of a page memory holds, with its text in all stages of cleaning.
constexpr std::uint64_t page_factor = 8;

/// A page in a unit, or an issue found while cutting at this point of the input.
struct unit_piece {
    bool is_page = true;
    bool complete = true;
    bool dump_ends = false;          // within the page
    std::size_t begin = 0, end = 0;  // of the page in the unit's XML
    std::uint64_t line = 0;
    std::size_t head_bytes = 0;
    std::uint64_t tail_line = 0;
    input_issue issue = {};
};

class wikipedia_unit final : public corpus_unit {
  public:
    wikipedia_unit(std::string path, input_name name, std::shared_ptr<const wiki_site> site)
        : path_(std::move(path)), name_(name), site_(std::move(site)) {}

    void add_page(const dump_piece& page) {
        unit_piece piece;
        piece.complete = page.complete;
        piece.dump_ends = page.dump_ends;
        piece.begin = xml_.size();
        xml_.append(page.xml);
        piece.end = xml_.size();
        piece.line = page.line;
        piece.head_bytes = page.head_bytes;
        piece.tail_line = page.tail_line;
        pieces_.push_back(std::move(piece));
    }

    void add_issue(std::uint64_t line, std::string reason, bool rejected, bool dump_ends) {
        unit_piece piece;
        piece.is_page = false;
        piece.issue = {path_, line, std::move(reason), rejected, dump_ends, dump_ends};
        pieces_.push_back(std::move(piece));
    }

    bool empty() const { return pieces_.empty(); }
    std::uint64_t raw_bytes() const override { return xml_.size(); }

    bool parse_within(const reading_budget& budget, parsed_unit& out) override {
        parsed_unit made;
        wiki_page_parser parser;
        wiki_page page;
        cleaning scratch;
        for (const unit_piece& piece : pieces_) {
            if (piece.is_page) {
                const std::string_view xml =
                    std::string_view(xml_).substr(piece.begin, piece.end - piece.begin);
                try {
                    require_budget(budget, memory_for(xml), "a page");
                } catch (const out_of_memory& why) {
                    if (!budget.is_last) return false;
                    reject(made, path_, piece.line, why.what());
                    continue;
                }
                const page_result result = parser.parse(xml, piece.complete, page);
                take_page(piece, xml, result, page, scratch, made);
            } else {
                note(made, piece.issue);
            }
        }
        name_.give(made.documents);
        out = std::move(made);
        return true;
    }

  private:
    /// Memory reused for one page after the other.
    struct cleaning {
        clean_text clean;
        std::string raw;
    };

    /// Memory for parsing and cleaning a page: copies of it, and the records of open marks and of links.
    static std::uint64_t memory_for(std::string_view xml) {
        constexpr std::uint64_t bytes_a_bracket = 200, bytes_a_quote = 24;
        std::uint64_t brackets = 0, quotes = 0;
        for (const char c : xml) {
            brackets += static_cast<std::uint64_t>(c == '[' || c == '{');
            quotes += static_cast<std::uint64_t>(c == '\'' || c == '=');
        }
        return page_factor * xml.size() + bytes_a_bracket * brackets + bytes_a_quote * quotes;
    }

    std::uint64_t line_at(const unit_piece& piece, std::string_view xml, std::size_t byte) const {
        const bool in_head = byte < piece.head_bytes;
        const std::string_view before =
            in_head ? xml.substr(0, byte) : xml.substr(piece.head_bytes, byte - piece.head_bytes);
        const bool after_all = piece.head_bytes >= xml.size();
        const std::uint64_t base = in_head || after_all ? piece.line : piece.tail_line;
        const std::string_view counted = after_all ? xml.substr(0, byte) : before;
        return base + count_line_ends(counted);
    }

    /// The outcome for a page: skipped by rule, rejected, a redirect, or a document.
    void take_page(const unit_piece& piece, std::string_view xml, const page_result& result, wiki_page& page,
                   cleaning& scratch, parsed_unit& out) const {
        const std::string id = id_of_title(page.title);
        const bool lost = result.state == page_state::hopeless || id.empty();
        if (lost || result.state != page_state::whole) {
            std::string reason = id.empty() ? "a page without a title" : "page \"" + id + "\"";
            if (!result.reason.empty()) reason += ": " + result.reason;
            if (!lost)
                reason += result.state == page_state::repaired ? ", repaired" : ", kept up to that point";
            const bool cut = !lost && result.state != page_state::repaired;
            if (piece.dump_ends) reason += "; the dump ends there";
            note(out, {path_, line_at(piece, xml, result.damage_at), std::move(reason), lost, cut,
                       piece.dump_ends});
        }
        if (lost) return;
        if (page.space.value_or(0) != 0 || (!page.space && site_->namespace_of(page.title) != 0)) {
            ++out.counts.skipped["page of another namespace"];
            return;
        }
        if (!page.model.empty() && page.model != "wikitext") {
            ++out.counts.skipped["page of another content model"];
            return;
        }
        if (auto target = redirect_of(page)) {
            ++out.counts.redirects;
            out.redirects.push_back({id, std::move(*target)});
            return;
        }
        clean_wikitext(page.text, *site_, scratch.clean, scratch.raw);
        ++out.counts.documents;
        std::replace(page.title.begin(), page.title.end(), '\n', ' ');
        document article;
        article.id = id;
        article.title = std::move(page.title);
        article.text = scratch.clean.text;  // copied: exactly as large as needed
        article.links = std::move(scratch.clean.links);
        article.path = path_;
        article.line = piece.line;
        out.documents.push_back(std::move(article));
    }

    std::optional<std::string> redirect_of(const wiki_page& page) const {
        if (!page.redirect_title.empty()) {
            const link_target target = site_->resolve(page.redirect_title);
            return target.kind == link_kind::article ? target.id : id_of_title(page.redirect_title);
        }
        return site_->redirect_target(page.text, page.is_redirect);
    }

    std::string path_;
    input_name name_;
    std::shared_ptr<const wiki_site> site_;
    std::string xml_;
    std::vector<unit_piece> pieces_;
};

class wikipedia_reader final : public corpus_reader {
  public:
    wikipedia_reader(std::unique_ptr<byte_source> source, const corpus_options& options, const context& ctx)
        : options_(options),
          ctx_(ctx),
          cutter_(std::move(source), limit_of(options, options.document_memory, page_factor).bytes),
          site_(std::make_shared<wiki_site>()) {}

    std::unique_ptr<corpus_unit> next() override {
        auto unit = std::move(begun_);
        while (!ended_) {
            ctx_.check_stop();
            const dump_piece piece = cutter_.next();
            if (piece.kind == dump_piece::what::end) {
                ended_ = true;
                break;
            }
            if (piece.kind == dump_piece::what::site) {
                take_site(piece);
                if (unit) return unit;
                unit = std::move(begun_);
                continue;
            }
            if (!unit) unit = new_unit();
            if (piece.kind == dump_piece::what::page) {
                unit->add_page(piece);
            } else {
                unit->add_issue(piece.line, piece.reason, piece.rejected, piece.dump_ends);
            }
            if (unit->raw_bytes() >= options_.unit_bytes) break;
        }
        return unit;
    }

    std::uint64_t consumed_bytes() const override { return cutter_.source().consumed(); }
    std::uint64_t total_bytes() const override { return cutter_.source().size(); }

  private:
    std::unique_ptr<wikipedia_unit> new_unit() const {
        return std::make_unique<wikipedia_unit>(cutter_.source().name(), options_.name, site_);
    }

    /// Pages before new settings belong to a separate unit; notes about the settings begin the next.
    void take_site(const dump_piece& piece) {
        std::string reason;
        site_ = std::make_shared<wiki_site>(parse_site(piece.xml, reason));
        if (!piece.complete && reason.empty()) reason = "no </siteinfo>";
        if (reason.empty()) return;
        begun_ = new_unit();
        begun_->add_issue(piece.line, "the dump's settings: " + reason, false, piece.dump_ends);
    }

    corpus_options options_;
    context ctx_;
    dump_cutter cutter_;
    std::shared_ptr<const wiki_site> site_;
    std::unique_ptr<wikipedia_unit> begun_;  // holds notes about the settings
    bool ended_ = false;
};

}  // namespace

std::unique_ptr<corpus_reader> read_wikipedia(std::unique_ptr<byte_source> source,
                                              const corpus_options& options, const context& ctx) {
    return std::make_unique<wikipedia_reader>(std::move(source), options, ctx);
}

}  // namespace quern::io
