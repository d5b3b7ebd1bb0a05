// SPDX-License-Identifier: Apache-2.0
#include "tasks/store_build/store_to_update.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "base/hash.hpp"
#include "quern/base/error.hpp"
#include "tasks/store/manifest.hpp"

namespace quern {
namespace {

constexpr std::uint64_t max_named_ids = 5;

/// The documents of consecutive text blocks, each of which is decompressed once.
class stored_unit : public io::corpus_unit {
  public:
    stored_unit(const store_to_update& old, std::uint64_t first, std::uint64_t last)
        : old_(old), store_(old.store()), first_(first), last_(last) {}

    bool parse_within(const io::reading_budget&, io::parsed_unit& parsed) override {
        for (std::uint64_t block = first_; block < last_; ++block) {
            std::uint32_t number = store_.block(block).first;
            store_.each_text(block, [&](std::string_view text) {
                const std::uint32_t n = number++;
                if (old_.is_dropped(n)) return;
                document& d = parsed.documents.emplace_back();
                d.id = store_.id(n);
                d.title = store_.title(n);
                if (store_.fields()) d.fields = store_.fields()->json(n);
                d.text = text;
                d.verbatim = store_.info().verbatim;
                d.listed = store_.info().listed;
                d.path = store_.path().string();
            });
        }
        return true;
    }
    std::uint64_t raw_bytes() const override { return 0; }

  private:
    const store_to_update& old_;
    const opened_store& store_;
    std::uint64_t first_, last_;
};

class stored_then_read : public io::corpus_reader {
  public:
    stored_then_read(const store_to_update& old, std::unique_ptr<io::corpus_reader> corpus,
                     std::uint64_t unit_bytes)
        : old_(old), store_(old.store()), corpus_(std::move(corpus)), unit_bytes_(unit_bytes) {}

    std::unique_ptr<io::corpus_unit> next() override {
        if (next_ == store_.text_blocks()) return corpus_->next();
        const std::uint64_t first = next_;
        for (std::uint64_t bytes = 0; next_ < store_.text_blocks() && bytes < unit_bytes_; ++next_) {
            bytes += store_.block(next_).bytes + 1;  // there may be documents without text
        }
        return std::make_unique<stored_unit>(old_, first, next_);
    }
    std::uint64_t consumed_bytes() const override { return corpus_->consumed_bytes(); }
    std::uint64_t total_bytes() const override { return corpus_->total_bytes(); }

  private:
    const store_to_update& old_;
    const opened_store& store_;
    std::unique_ptr<io::corpus_reader> corpus_;
    std::uint64_t unit_bytes_, next_ = 0;
};

}  // namespace

stored_links::stored_links(const store_to_update& old) : stored_links(old.store()) {
    old_ = &old;
}

stored_links::stored_links(const opened_store& store) : store_(store), links_(store_.links()) {
    const auto open = [this](std::string_view name) -> std::optional<io::section_view> {
        if (!store_layout::lists_section(store_.info(), name)) return std::nullopt;
        return store_layout::open_section(store_.path(), store_.info(), name);
    };
    open_section_ = open(store_layout::open_links);
    redirects_ = open(store_layout::redirects);
    if (!open_section_) return;
    open_ = open_section_->values<store_layout::open_link>(
        0, open_section_->size() / sizeof(store_layout::open_link));
}

std::span<const hash128_value> stored_links::next() {
    while (old_ != nullptr && old_->is_dropped(document_)) read_next();
    read_next();
    return names_;
}

void stored_links::read_next() {
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
            return;
        }
    }
}

std::span<const store_layout::named_redirect> stored_links::redirects() const {
    using store_layout::named_redirect;
    if (!redirects_) return {};
    return redirects_->values<named_redirect>(0, redirects_->size() / sizeof(named_redirect));
}

store_to_update::store_to_update(const std::filesystem::path& path)
    : store_(open_store(path)),
      finder_(store_),
      documents_(static_cast<std::uint32_t>(store_.info().documents)) {
    const document_duplicates& duplicates = store_.duplicates();
    for (std::uint64_t i = 0; i < duplicates.size(); ++i)
        duplicates_.insert(duplicates[i].id, duplicates.kept(i));
}

store_to_update::dropped_documents store_to_update::drop(std::span<const std::string> ids) {
    dropped_documents dropped;
    const document_duplicates& duplicates = store_.duplicates();
    std::vector<std::uint32_t> documents;
    id_table copies;  // to be dropped
    for (const std::string& id : ids) {
        if (const auto number = finder_.find(id); number && !is_dropped(*number)) {
            documents.push_back(*number);
        } else if (duplicates_.find(hash128(id))) {
            copies.insert(id, 0);
        } else if (++dropped.unknown_ids <= max_named_ids) {
            dropped.unknown.push_back(id);
        }
    }
    if (documents.empty() && copies.size() == 0) return dropped;

    if (!documents.empty()) {
        numbers_.resize(store_.info().documents);
        for (const std::uint32_t d : documents) numbers_[d] = no_document;
        std::uint32_t next = 0;
        for (std::uint32_t& number : numbers_)
            if (number != no_document) number = next++;
        dropped.documents = documents_ - next;
        documents_ = next;
    }
    std::vector<std::uint64_t> stay, lost;
    duplicates_ = {};
    for (std::uint64_t i = 0; i < this->copies(); ++i) {
        const std::uint64_t number = copy_number(i);
        const std::string_view id = duplicates[number].id;
        if (copies.find(hash128(id))) {
            ++dropped.copies;
        } else if (is_dropped(duplicates.kept(number))) {
            lost.push_back(number);
        } else {
            stay.push_back(number);
            duplicates_.insert(id, duplicates.kept(number));
        }
    }
    if (!lost.empty()) refuse_to_lose(lost);
    copies_ = std::move(stay);
    has_all_copies_ = false;
    return dropped;
}

void store_to_update::refuse_to_lose(std::span<const std::uint64_t> copies) const {
    std::string some;
    for (const std::uint64_t i : copies.first(std::min<std::size_t>(copies.size(), max_named_ids)))
        some.append(some.empty() ? "" : ", ").append(store_.duplicates()[i].id);
    throw usage_error(fmt::format(
        "{} of these documents would be lost with them, because {} has no text of near-duplicates: {}{}; "
        "delete them "
        "too, or synchronise the store with its corpus (build --sync)",
        copies.size() == 1 ? "a near-duplicate" : fmt::format("{} near-duplicates", copies.size()),
        store_.path().string(), some, copies.size() > max_named_ids ? " …" : ""));
}

bool store_to_update::holds(const document& d) const {
    if (duplicates_.find(hash128(d.id))) return true;
    const auto number = finder_.find(d.id);
    return number && !is_dropped(*number) && text_of(*number) == d.text;
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
    return std::make_unique<stored_then_read>(*this, std::move(corpus), unit_bytes);
}

std::string store_to_update::description() const {
    return "update of " + manifests::hex(hash64(store_layout::manifest_text(store_.info())));
}

}  // namespace quern
