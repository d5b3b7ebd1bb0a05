// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/store_to_update.hpp"

#include <span>
#include <utility>

#include "base/hash.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

/// The documents of consecutive text blocks, each of which is decompressed once.
class stored_unit : public io::corpus_unit {
  public:
    stored_unit(const opened_store& store, std::uint64_t first, std::uint64_t last)
        : store_(store), first_(first), last_(last) {}

    bool parse_within(const io::reading_budget&, io::parsed_unit& parsed) override {
        for (std::uint64_t block = first_; block < last_; ++block) {
            std::uint32_t number = store_.block(block).first;
            store_.each_text(block, [&](std::string_view text) {
                document& d = parsed.documents.emplace_back();
                d.id = store_.id(number);
                d.title = store_.title(number);
                if (store_.fields()) d.fields = store_.fields()->json(number);
                ++number;
                d.text = text;
                d.verbatim = store_.info().verbatim;
                d.path = store_.path().string();
            });
        }
        return true;
    }
    std::uint64_t raw_bytes() const override { return 0; }

  private:
    const opened_store& store_;
    std::uint64_t first_, last_;
};

class stored_then_read : public io::corpus_reader {
  public:
    stored_then_read(const opened_store& store, std::unique_ptr<io::corpus_reader> corpus,
                     std::uint64_t unit_bytes)
        : store_(store), corpus_(std::move(corpus)), unit_bytes_(unit_bytes) {}

    std::unique_ptr<io::corpus_unit> next() override {
        if (next_ == store_.text_blocks()) return corpus_->next();
        const std::uint64_t first = next_;
        for (std::uint64_t bytes = 0; next_ < store_.text_blocks() && bytes < unit_bytes_; ++next_) {
            bytes += store_.block(next_).bytes + 1;  // there may be documents without text
        }
        return std::make_unique<stored_unit>(store_, first, next_);
    }
    std::uint64_t consumed_bytes() const override { return corpus_->consumed_bytes(); }
    std::uint64_t total_bytes() const override { return corpus_->total_bytes(); }

  private:
    const opened_store& store_;
    std::unique_ptr<io::corpus_reader> corpus_;
    std::uint64_t unit_bytes_, next_ = 0;
};

}  // namespace

stored_links::stored_links(const opened_store& store) : store_(store), links_(store.links()) {
    const auto open = [&store](std::string_view name) -> std::optional<io::section_view> {
        if (!store_layout::lists_section(store.info(), name)) return std::nullopt;
        return store_layout::open_section(store.path(), store.info(), name);
    };
    open_section_ = open(store_layout::open_links);
    redirects_ = open(store_layout::redirects);
    if (!open_section_) return;
    open_ = open_section_->values<store_layout::open_link>(
        0, open_section_->size() / sizeof(store_layout::open_link));
}

std::span<const hash128_value> stored_links::next() {
    const auto end = links_.ends.value<std::uint64_t>(std::uint64_t{document_} * sizeof(std::uint64_t));
    const auto next_is_open = [this] {
        return !open_.empty() && open_.front().document == document_ &&
               open_.front().position / 2 == names_.size();
    };
    names_.clear();
    for (;;) {
        if (next_is_open()) {
            names_.push_back(open_.front().name);
            target_ += open_.front().position % 2;
            open_ = open_.subspan(1);
        } else if (target_ < end) {
            const auto target = links_.targets.value<std::uint32_t>(target_++ * sizeof(std::uint32_t));
            if (target >= store_.info().documents) links_.targets.fail("names missing documents");
            names_.push_back(hash128(store_.id(target)));
        } else {
            ++document_;
            return names_;
        }
    }
}

std::span<const store_layout::named_redirect> stored_links::redirects() const {
    using store_layout::named_redirect;
    if (!redirects_) return {};
    return redirects_->values<named_redirect>(0, redirects_->size() / sizeof(named_redirect));
}

store_to_update::store_to_update(const std::filesystem::path& path)
    : store_(open_store(path)), finder_(store_) {
    const document_duplicates& duplicates = store_.duplicates();
    for (std::uint64_t i = 0; i < duplicates.size(); ++i)
        duplicates_.insert(duplicates[i].id, duplicates.kept(i));
}

bool store_to_update::holds(const document& d) const {
    if (duplicates_.find(hash128(d.id))) return true;
    const auto number = finder_.find(d.id);
    return number && text_of(*number) == d.text;
}

std::string_view store_to_update::text_of(std::uint32_t document) const {
    const std::uint32_t end = at_hand_.first + static_cast<std::uint32_t>(at_hand_.texts.size());
    if (document < at_hand_.first || document >= end) {
        const std::uint64_t block = store_.block_of(document);
        at_hand_.first = store_.block(block).first;
        at_hand_.texts.clear();
        store_.each_text(block, [this](std::string_view text) { at_hand_.texts.emplace_back(text); });
    }
    return at_hand_.texts.at(document - at_hand_.first);
}

std::unique_ptr<io::corpus_reader> store_to_update::followed_by(std::unique_ptr<io::corpus_reader> corpus,
                                                                std::uint64_t unit_bytes) const {
    return std::make_unique<stored_then_read>(store_, std::move(corpus), unit_bytes);
}

std::string store_to_update::description() const {
    return "update of " + manifests::hex(hash64(store_layout::manifest_text(store_.info())));
}

}  // namespace quern
