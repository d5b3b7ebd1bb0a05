// SPDX-License-Identifier: Apache-2.0
#include "tasks/cluster/document_findings.hpp"

#include <cstring>

#include "base/checked_varint.hpp"
#include "base/varint.hpp"
#include "quern/base/error.hpp"
#include "quern/tasks/cluster.hpp"

namespace quern {

std::string number_of_findings(std::uint64_t documents) {
    std::string bytes(sizeof documents, '\0');
    std::memcpy(bytes.data(), &documents, sizeof documents);
    return bytes;
}

void append_finding(std::string& out, std::uint64_t hash, std::string_view found) {
    out.append(reinterpret_cast<const char*>(&hash), sizeof hash);
    append_varint(out, found.size());
    out += found;
}

finding_reader::finding_reader(const std::filesystem::path& file)
    : file_(file, io::mapped_file::access::sequential) {
    if (file_.size() < sizeof documents_)
        throw damaged_store(file.string(), "findings", "has no number of documents");
    end_ = file_.size() - sizeof documents_;
    std::memcpy(&documents_, file_.text().data() + end_, sizeof documents_);
}

std::string_view finding_reader::take(std::uint64_t bytes) {
    if (bytes > end_ - at_) throw damaged_store(file_.path().string(), "findings", "ends early");
    const std::string_view taken = file_.text().substr(at_, bytes);
    at_ += bytes;
    return taken;
}

finding_reader::finding finding_reader::next() {
    finding read;
    std::memcpy(&read.hash, take(sizeof read.hash).data(), sizeof read.hash);
    std::uint64_t size = 0;
    if (!read_checked_varint(file_.text().substr(0, end_), at_, size))
        throw damaged_store(file_.path().string(), "findings", "ends early");
    read.found = take(size);
    return read;
}

document_findings::document_findings(const std::filesystem::path& job, std::string_view name) : job_(job) {
    const job_plan plan = read_plan(job);
    for (std::uint32_t i = 0; i < plan.tasks.size(); ++i) {
        if (plan.tasks[i].number("part") == 0) groups_.emplace_back();
        group& last = groups_.back();
        last.parts.emplace_back(file_of_result(job, i, name));
        last.documents += last.parts.back().documents();
    }
}

void document_findings::refuse() const {
    throw usage_error(job_.string() +
                      ": the tasks judged other documents than the corpus has now (a folder was changed, or "
                      "--memory of a worker was "
                      "too small for a document); make a plan in another folder, with more --memory if no "
                      "folder was changed");
}

void document_findings::take(std::span<const std::uint64_t> hashes, std::uint64_t parsed,
                             const std::function<void(std::size_t, std::string_view)>& take) {
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
        finding_reader& from = now.parts[part_of_text(hashes[i], now.parts.size())];
        while (true) {
            if (from.is_at_end()) refuse();
            const finding_reader::finding next = from.next();
            if (next.hash == hashes[i]) {
                take(i, next.found);
                break;
            }
            if (refused_-- == 0) refuse();
        }
    }
}

}  // namespace quern
