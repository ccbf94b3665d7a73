// Many requests at once through one model, and what guessing ahead brought each of them.
//
//     many [--alone] QUESTION...      --alone: one after the other; the answers are the same, to the byte
//
// Answers go to stdout in the order of their questions, counts to stderr.
#include <cstdio>
#include <exception>
#include <paceline/paceline.hpp>
#include <string>
#include <vector>

namespace {

paceline::Request about(const std::string& question, size_t number) {
  paceline::Request request;
  request.set_chat(paceline::Chat().user(question));
  request.set_seed(number);  // a text depends on the request and its seed, not on who else is there
  request.max_tokens = 60;
  return request;
}

void print(const std::string& question, const paceline::Generation& answer) {
  const paceline::Usage usage = answer.usage();
  std::printf("%s\n%s\n\n", question.c_str(), answer.text().c_str());
  // Without guesses, each token takes a check of its own.
  std::fprintf(stderr, "%4lld tokens in %4lld checks, %4lld of %4lld guesses held, waited %.0f ms: %s\n",
               static_cast<long long>(usage.completion_tokens), static_cast<long long>(usage.rounds),
               static_cast<long long>(usage.accepted), static_cast<long long>(usage.drafted), usage.queued_ms,
               question.c_str());
}

int run(std::vector<std::string> questions) {
  const bool alone = !questions.empty() && questions.front() == "--alone";
  if (alone) questions.erase(questions.begin());
  if (questions.empty())
    questions = {"What is 4821 + 3907?", "Tell a story about a dog.", "Write a Python function that reverses a string.",
                 "Who are you?"};
  paceline::Model model;

  std::vector<paceline::Generation> answers;
  for (size_t i = 0; i < questions.size(); ++i) {
    answers.push_back(model.submit(about(questions[i], i)));  // returns at once
    if (alone) answers.back().wait();
  }
  for (size_t i = 0; i < questions.size(); ++i) {
    answers[i].wait();
    print(questions[i], answers[i]);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "many: %s\n", error.what());
    return 1;
  }
}
