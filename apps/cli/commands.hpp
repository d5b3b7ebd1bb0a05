// SPDX-License-Identifier: Apache-2.0
// The commands of the program, one file each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "command_line.hpp"

namespace quern::cli {

int run_build(const command& self, const std::vector<std::string>& arguments);
int run_merge(const command& self, const std::vector<std::string>& arguments);
int run_search(const command& self, const std::vector<std::string>& arguments);
int run_complete(const command& self, const std::vector<std::string>& arguments);
int run_dedup(const command& self, const std::vector<std::string>& arguments);
int run_decontaminate(const command& self, const std::vector<std::string>& arguments);
int run_perplexity(const command& self, const std::vector<std::string>& arguments);
int run_model(const command& self, const std::vector<std::string>& arguments);
int run_filter(const command& self, const std::vector<std::string>& arguments);
int run_signature(const command& self, const std::vector<std::string>& arguments);
int run_ngrams(const command& self, const std::vector<std::string>& arguments);
int run_count(const command& self, const std::vector<std::string>& arguments);
int run_dictionary(const command& self, const std::vector<std::string>& arguments);
int run_words(const command& self, const std::vector<std::string>& arguments);
int run_similar(const command& self, const std::vector<std::string>& arguments);
int run_contexts(const command& self, const std::vector<std::string>& arguments);
int run_collocations(const command& self, const std::vector<std::string>& arguments);
int run_export(const command& self, const std::vector<std::string>& arguments);
int run_pagerank(const command& self, const std::vector<std::string>& arguments);
int run_spmv(const command& self, const std::vector<std::string>& arguments);
int run_nearest(const command& self, const std::vector<std::string>& arguments);
int run_topk(const command& self, const std::vector<std::string>& arguments);
int run_fuse(const command& self, const std::vector<std::string>& arguments);
int run_evaluate(const command& self, const std::vector<std::string>& arguments);
int run_serve(const command& self, const std::vector<std::string>& arguments);
int run_mcp(const command& self, const std::vector<std::string>& arguments);
int run_plan(const command& self, const std::vector<std::string>& arguments);
int run_task_command(const command& self, const std::vector<std::string>& arguments);
int run_finish(const command& self, const std::vector<std::string>& arguments);
int run_status(const command& self, const std::vector<std::string>& arguments);
int run_resume(const command& self, const std::vector<std::string>& arguments);
int run_info(const command& self, const std::vector<std::string>& arguments);
int run_verify(const command& self, const std::vector<std::string>& arguments);
int run_doctor(const command& self, const std::vector<std::string>& arguments);
int run_man(const command& self, const std::vector<std::string>& arguments);
int run_completion(const command& self, const std::vector<std::string>& arguments);

/// All commands, in the order of the help page.
std::span<const command> all_commands();

/// The page of the program itself, which has no name: its lines are the commands, then the options without a command.
help_page program_page();

/// What --version prints.
std::string version_line();

}  // namespace quern::cli
