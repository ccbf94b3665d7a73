// A conversation on the terminal: what you type is answered, and all that was said before is remembered.
//
//     chat [MODEL]      a folder, or org/name from the local Hugging Face cache; default: the model that came along
#include <cstdlib>
#include <exception>
#include <iostream>
#include <paceline/paceline.hpp>
#include <string>

namespace {

// Pieces are printed as they come; what the model only thinks is shown in grey where there is a terminal to show it.
bool print(const paceline::Event& event) {
  if (event.kind == PACELINE_EVENT_TEXT) std::cout.write(event.text, static_cast<std::streamsize>(event.text_bytes));
  if (event.kind == PACELINE_EVENT_THOUGHT) std::cerr << "\x1b[90m" << event.text << "\x1b[0m";
  std::cout.flush();
  return std::cout.good();  // false: nobody reads any more, and the answer ends
}

int converse(int argc, char** argv) {
  paceline::OpenOptions options;
  if (argc > 1) options.model = argv[1];
  paceline::Model model(options);
  const paceline::Facts facts = model.facts();
  std::cerr << facts.name << " on " << facts.kernels << ", drafter " << facts.drafter << "; an empty line ends\n";

  paceline::Chat chat;
  for (std::string line; std::cerr << "> ", std::getline(std::cin, line) && !line.empty();) {
    chat.user(line);
    paceline::Request request;
    request.set_chat(chat);
    request.set_seed(1);  // the same words get the same answers; leave it out for others each time
    const paceline::Generation answer = model.generate(request, print);
    std::cout << std::endl;
    // The next question is asked with this answer before it. Its beginning has been computed already, and is kept.
    chat.assistant(answer.text());
    const paceline::Usage usage = answer.usage();
    std::cerr << "  " << usage.cached_tokens << " of " << usage.prompt_tokens << " tokens were known, "
              << usage.completion_tokens << " new ones took " << usage.rounds << " checks\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return converse(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "chat: " << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
