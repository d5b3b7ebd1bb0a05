// SPDX-License-Identifier: Apache-2.0
#include "tasks/filter/verdicts.hpp"

#include <cstring>
#include <utility>

#include "base/varint.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {
namespace {

constexpr std::size_t longest_number = 10;  ///< bytes that read_varint() may read

std::string bytes_of(std::uint64_t value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

}  // namespace

void append_verdict(std::string& out, const verdict_of_text& verdict) {
    const judged& found = verdict.found;
    out += bytes_of(verdict.hash);
    append_varint(out, static_cast<std::uint64_t>(found.reason + 1) * 2 + (found.is_changed ? 1 : 0));
    append_varint(out, found.emails);
    append_varint(out, found.ips);
    append_varint(out, found.value.size());
    out += found.value;
    if (!found.is_changed) return;
    append_varint(out, verdict.text.size());
    out += verdict.text;
}

verdict_reader::verdict_reader(const std::filesystem::path& file)
    : file_(file, io::mapped_file::access::sequential) {
    if (file_.size() < sizeof documents_)
        throw damaged_store(file.string(), "verdicts", "has no number of documents");
    end_ = file_.size() - sizeof documents_;
    std::memcpy(&documents_, file_.text().data() + end_, sizeof documents_);
}

std::string_view verdict_reader::take(std::uint64_t bytes) {
    if (bytes > end_ - at_) throw damaged_store(file_.path().string(), "verdicts", "ends early");
    const std::string_view taken = file_.text().substr(at_, bytes);
    at_ += bytes;
    return taken;
}

std::uint64_t verdict_reader::number() {
    std::string bytes(file_.text().substr(at_, longest_number));
    bytes.resize(longest_number);
    const char* p = bytes.data();
    const std::uint64_t value = read_varint(p);
    take(static_cast<std::uint64_t>(p - bytes.data()));
    return value;
}

verdict_of_text verdict_reader::next() {
    verdict_of_text verdict;
    std::memcpy(&verdict.hash, take(sizeof verdict.hash).data(), sizeof verdict.hash);
    const std::uint64_t kind = number();
    judged& found = verdict.found;
    found.reason = static_cast<std::int32_t>(kind / 2) - 1;
    found.is_changed = kind % 2 != 0;
    found.emails = static_cast<std::uint32_t>(number());
    found.ips = static_cast<std::uint32_t>(number());
    found.value = take(number());
    if (found.is_changed) verdict.text = take(number());
    return verdict;
}

job_verdicts::job_verdicts(const std::filesystem::path& job) : job_(job) {
    const job_plan plan = read_plan(job);
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
        if (plan.tasks[i].number("part") == 0) groups_.emplace_back();
        group& last = groups_.back();
        last.parts.emplace_back(file_of_result(job, i, "verdicts"));
        last.documents += last.parts.back().documents();
    }
}

void job_verdicts::refuse() const {
    throw usage_error(job_.string() +
                      ": the tasks judged other documents than the corpus has now (a folder was changed, or "
                      "--memory of a worker was "
                      "too small for a document); make a plan in another folder");
}

void job_verdicts::take(std::span<const std::uint64_t> hashes, std::uint64_t parsed,
                        const std::function<void(std::size_t, verdict_of_text&&)>& take) {
    if (parsed == 0) return;
    while (!groups_.empty() && taken_ == groups_.front().documents) {
        groups_.pop_front();
        taken_ = refused_ = 0;
    }
    if (groups_.empty() || taken_ + parsed > groups_.front().documents) refuse();
    group& now = groups_.front();
    taken_ += parsed;
    refused_ += parsed - hashes.size();
    for (std::size_t i = 0; i < hashes.size(); ++i) {
        verdict_reader& from = now.parts[part_of(hashes[i], now.parts.size())];
        while (true) {
            if (from.is_at_end()) refuse();
            verdict_of_text verdict = from.next();
            if (verdict.hash == hashes[i]) {
                take(i, std::move(verdict));
                break;
            }
            if (refused_-- == 0) refuse();
        }
    }
}

}  // namespace quern
