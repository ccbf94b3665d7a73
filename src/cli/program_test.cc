// The program as people and scripts meet it: exit codes, one-line errors, nothing but text on stdout.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "kernels/cuda_device.h"

namespace paceline {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Ran {
  int exit_code;
  std::string out, err;
};

class Program : public testing::Test {
 protected:
  Program() : folder_(fs::temp_directory_path() / ("paceline_program_test_" + std::to_string(getpid()))) {
    fs::create_directories(model());
    const fs::path goldens = fs::path(PACELINE_SOURCE_DIR) / "tests" / "goldens";
    for (const char* name : {"config.json", "generation_config.json", "model.safetensors"}) {
      fs::copy_file(goldens / "dense" / "target" / name, model() / name, fs::copy_options::overwrite_existing);
    }
    fs::copy_file(goldens / "tokenizer.json", model() / "tokenizer.json", fs::copy_options::overwrite_existing);
  }
  ~Program() override { fs::remove_all(folder_); }

  [[nodiscard]] fs::path folder() const { return folder_; }
  [[nodiscard]] fs::path model() const { return folder_ / "model"; }

  // arguments: as in a shell. before: what stands before the program's name.
  [[nodiscard]] Ran run(const std::string& arguments, const std::string& input = "",
                        const std::string& before = "") const {
    std::ofstream(folder_ / "in", std::ios::binary) << input;
    // Nothing of the user's is read or written.
    const std::string command = "XDG_CACHE_HOME=" + (folder_ / "cache").string() +
                                " HF_HOME=" + (folder_ / "hub").string() + " " + before + PACELINE_PROGRAM + " " +
                                arguments + " <" + (folder_ / "in").string() + " >" + (folder_ / "out").string() +
                                " 2>" + (folder_ / "err").string();
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder_ / "out"), contents(folder_ / "err")};
  }
  [[nodiscard]] Ran generate(const std::string& arguments, const std::string& input = "") const {
    return run("generate -m " + model().string() + " " + arguments, input);
  }

  static void expect_error(const Ran& ran, int exit_code, const std::string& part) {
    EXPECT_EQ(ran.exit_code, exit_code) << ran.err;
    EXPECT_EQ(ran.out, "");
    EXPECT_TRUE(ran.err.starts_with("paceline: ")) << ran.err;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  }

 private:
  fs::path folder_;
};

// Weights that are no numbers: nothing that could be taken for an answer comes out.
TEST_F(Program, AModelThatIsNotMadeOfNumbersFails) {
  const fs::path file = model() / "model.safetensors";
  std::string bytes = contents(file);
  const auto header = static_cast<size_t>(static_cast<unsigned char>(bytes[0])) |
                      static_cast<size_t>(static_cast<unsigned char>(bytes[1])) << 8 |
                      static_cast<size_t>(static_cast<unsigned char>(bytes[2])) << 16;
  std::fill(bytes.begin() + 8 + static_cast<std::ptrdiff_t>(header), bytes.end(), '\xff');
  std::ofstream(file, std::ios::binary) << bytes;
  for (const char* arguments : {"-p x", "-p x --temp 0 --json", "-p x --precision f32 --draft ngram"})
    expect_error(generate(arguments), 1, "not numbers");
}

TEST_F(Program, ADeviceThatIsNotThereIsAFailureWhoeverWantsIt) {
  if (kernels::find_cuda_device().ok()) GTEST_SKIP() << "there is one";
  for (const char* command : {"generate -p x", "chat", "serve --port 0", "bench", "check"}) {
    const std::string what = std::string(command) == "check" ? " " + model().string() : " -m " + model().string();
    expect_error(run(command + what + " --device cuda"), 1, "CUDA");
  }
}

TEST_F(Program, SaysHowToFetchAModelThatIsNotThere) {
  for (const char* command : {"generate -p x -m", "chat -m", "serve --port 0 -m", "inspect"}) {
    const std::string arguments = std::string(command) + " some/thing:Q4_0";
    expect_error(run(arguments), 1, "hf download some/thing --include '*Q4_0*.gguf'");
  }
}

TEST_F(Program, ConnectSaysWhatIsWrong) {
  for (const char* url : {"http://", "https://", "http:///v1", "http://:8000", "nonsense", "'http://a b'"})
    expect_error(run(std::string("connect codex --url ") + url), 2, "--url: expected http://HOST:PORT");
  expect_error(run("connect codex --write --restore"), 2, "--write and --restore: expected one of them");
  // Not the folder that somebody happens to be in.
  for (const char* flag : {"--write", "--restore"}) {
    expect_error(run(std::string("connect codex --url http://127.0.0.1:1 ") + flag, "", "env -u HOME -u CODEX_HOME "),
                 2, "$HOME is not set");
  }
}

TEST_F(Program, MistakesOnTheCommandLineExitWithTwo) {
  expect_error(run(""), 2, "subcommand");
  expect_error(run("dance"), 2,
               "\"dance\": there are generate, chat, serve, connect, inspect, ls, quantize, check, bench");
  expect_error(run("generat -p x"), 2, "\"generat\": did you mean generate?");
  expect_error(run("--bogus"), 2, "--bogus");
  expect_error(run("generate --promt x"), 2,
               "no option --promt: did you mean --prompt? (see paceline generate --help)");
  expect_error(run("serve -- one"), 2, "one");
  expect_error(run("--modle x generate"), 2, "--modle");
  expect_error(run("serve one two"), 2, "not expected here: one two");
  expect_error(run("completion tcsh"), 2, "tcsh");
  expect_error(run("manual dance"), 2, "no command is called dance");
  expect_error(generate("-p x --bogus"), 2, "--bogus");
  expect_error(generate("-p x --temp warm"), 2, "warm");
  expect_error(generate("-p x --temp -1"), 2, "temperature");
  expect_error(generate("-p x --top-p 0"), 2, "top_p");
  expect_error(generate("-p x --top-k -3"), 2, "top_k");
  expect_error(generate("-p x -n 0"), 2, "0");
  expect_error(generate("-p x --precision f64"), 2, "f64");
  expect_error(generate("-p x --draft ''"), 2, "--draft");
  expect_error(generate("-p x --draft ngram --draft-kind mtp"), 2, "--draft ngram");
  expect_error(generate("-p x --draft-kind dance"), 2, "dance");
  expect_error(generate("-p x --logit-bias seven"), 2, "seven");
  expect_error(generate("-p x --logit-bias 99999=1"), 2, "99999");
  expect_error(generate("-p x -f y"), 2, "");
  expect_error(generate("-p x --raw --chat"), 2, "");
  expect_error(generate("-p ''"), 2, "empty");
  expect_error(generate("", ""), 2, "empty");
  expect_error(generate("-p x --chat"), 2, "chat template");
  expect_error(generate("-p x --depth 17"), 2, "17");
  expect_error(generate("-p x --show-draft --json"), 2, "");
  expect_error(generate("-p x --image-tokens 71"), 2, "71");
  expect_error(generate("-p x --video-frames 257"), 2, "257");
  expect_error(run("generate -p x -m ''"), 2, "--model: expected a folder or org/name");
  expect_error(run("bench -m ''"), 2, "--model");
  expect_error(run("inspect ''"), 2, "expected a folder or org/name");
  expect_error(run("quantize '' out"), 2, "expected a folder or org/name");
  expect_error(run("check"), 2, "goldens");
  expect_error(run("check --templates x y"), 2, "--templates");
  expect_error(run("check tests/goldens -m x"), 2, "--pace");
  expect_error(run("check tests/goldens --pace"), 2, "no goldens");
  expect_error(run("quantize x y --bits 3"), 2, "3");
  expect_error(run("generate --version"), 2, "paceline --version");
}

// In decimal, and no other number than the one that is written.
TEST_F(Program, NumbersAreTheOnesThatAreWritten) {
  for (const char* seed : {"-1", "18446744073709551616"}) {
    const std::string words = std::string("expected a whole number from 0 to 18446744073709551615, found ") + seed;
    expect_error(generate(std::string("-p x -n 1 --seed=") + seed), 2, words);
  }
  for (const char* seed : {"0x10", "1e3", "'1 2'", "-"})
    expect_error(generate(std::string("-p x -n 1 --seed=") + seed), 2, "expected a whole number, found ");
  expect_error(generate("-p x -n 4294967297"), 2, "4294967297");
  expect_error(generate("-p x --logit-bias 0x5=1"), 2, "0x5=1");
  for (const char* id : {"-1", "99999", "4294967296"})
    expect_error(generate(std::string("-p x --stop-id=") + id), 2, id);
  const auto seed_of = [&](const std::string& seed) {
    const Ran ran = generate("-p x --json -n 010 --seed " + seed);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const auto object = boost::json::parse(ran.out);
    EXPECT_EQ(object.at("completion_tokens").to_number<int>(), 10);
    return object.at("seed").to_number<uint64_t>();
  };
  EXPECT_EQ(seed_of("010"), 10u);
  EXPECT_EQ(seed_of("+7"), 7u);
  EXPECT_EQ(seed_of("18446744073709551615"), UINT64_MAX);
}

TEST_F(Program, WhatIsQuotedHasAnEnd) {
  const std::string huge(100000, 'x');
  for (const std::string& arguments : {huge, "generate " + huge, "generate --" + huge, "generate -p x --temp " + huge,
                                       "generate -p x --device " + huge, "generate -p x -n " + huge, "manual " + huge,
                                       "generate -p x -m /" + huge, "generate -p x --logit-bias " + huge}) {
    const Ran ran = run(arguments);
    expect_error(ran, ran.exit_code, "x");
    EXPECT_NE(ran.exit_code, 0);
    EXPECT_LT(ran.err.size(), 11000u) << arguments.substr(0, 40);
  }
  expect_error(run("$(printf 'gen\\377\\033[31mx')"), 2, "\"gen\xEF\xBF\xBD [31mx\"");
}

TEST_F(Program, HelpIsACommandToo) {
  EXPECT_EQ(run("help").out, run("--help").out);
  EXPECT_EQ(run("help").exit_code, 0);
  EXPECT_EQ(run("help generate").out, run("generate --help").out);
  EXPECT_EQ(run("help generate").exit_code, 0);
  expect_error(run("help dance"), 2, "\"dance\"");
  EXPECT_EQ(run("--version --help").exit_code, 0);
  EXPECT_EQ(run("help generate -p").out, run("generate --help").out);
  for (const char* itself : {"help help", "help -h", "help --help", "-h --help"})
    EXPECT_EQ(run(itself).out, run("--help").out) << itself;
}

// A limit of the shell's on files ends no process: what was begun is cleared away, and why is said.
TEST_F(Program, AFileThatMayNotGrow) {
  const fs::path out = folder() / "made";
  fs::create_directories(out);
  const std::string limited = "sh -c 'ulimit -f 64; exec \"$0\" \"$@\"' ";
  expect_error(run("quantize " + model().string() + " " + (out / "packed").string(), "", limited), 1, "File too large");
  EXPECT_TRUE(fs::is_empty(out));
}

TEST_F(Program, APromptOverTheContextSaysBothNumbers) {
  const Ran ran = generate("-p 123456 --ctx 7");
  expect_error(ran, 2, "7 tokens");
  expect_error(generate("-p 123456 --ctx 99999"), 2, "4096");
  EXPECT_EQ(generate("-p 123456 --ctx 8").exit_code, 0);
}

TEST_F(Program, FailuresExitWithOne) {
  expect_error(run("generate -p x -m /nowhere/at/all"), 1, "/nowhere/at/all");
  expect_error(generate("-f /nowhere/prompt.txt"), 1, "/nowhere/prompt.txt");
  expect_error(generate("-p x --draft /nowhere/drafter"), 1, "/nowhere/drafter");
  expect_error(generate("-p x --image /nowhere/picture.png"), 1, "");
  expect_error(generate("-p x --video /nowhere/clip.mp4"), 1, "");
  // A drafter made for another model.
  expect_error(generate("-p x --draft " + (fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/ple/assistant").string()), 1,
               "does not fit");
  std::ofstream(folder() / "model.gguf") << "GGUF";
  expect_error(run("generate -p x -m " + (folder() / "model.gguf").string()), 1,
               "model.gguf: byte 4: expected the version");
  expect_error(run("check /nowhere"), 1, "/nowhere");
  expect_error(run("check --tokenizer /nowhere /nowhere"), 1, "/nowhere");
  expect_error(run("check --templates /nowhere"), 1, "/nowhere");
  fs::resize_file(model() / "model.safetensors", 1000);
  expect_error(generate("-p x"), 1, "");
  fs::remove(model() / "model.safetensors");
  expect_error(generate("-p x"), 1, "model.safetensors");
  // What it is comes before what it lacks.
  std::ofstream(model() / "config.json") << R"({"model_type": "llama"})";
  expect_error(generate("-p x"), 1, "found \"llama\"");
  expect_error(run("inspect " + model().string()), 1, "found \"llama\"");
  expect_error(run("generate -p x --draft " + model().string()), 1, "found \"llama\"");
  fs::remove(model() / "config.json");
  expect_error(generate("-p x"), 1, "config.json");
}

// The checkpoint's own template, whatever it is, makes the prompt; its refusal is the caller's mistake.
TEST_F(Program, ChatsByTheCheckpointsTemplate) {
  std::ofstream(model() / "chat_template.jinja")
      << "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
  const Ran chat = generate("-p Hi --system Be --chat --temp 0 -n 8");
  const Ran raw = generate("--raw --temp 0 -n 8", "system: Be\nuser: Hi\n");
  EXPECT_EQ(chat.exit_code, 0) << chat.err;
  EXPECT_EQ(chat.out, raw.out);
  std::ofstream(model() / "chat_template.jinja") << "{{ raise_exception('no chat today') }}";
  expect_error(generate("-p Hi"), 2, "no chat today");
  std::ofstream(model() / "chat_template.jinja") << "\n{% if %}";
  expect_error(generate("-p Hi"), 2, "line 2");
}

TEST_F(Program, ChecksTemplates) {
  std::ofstream(folder() / "t.jinja") << "{{ messages[0].content }}";
  const auto check_against = [&](const std::string& text) {
    std::ofstream(folder() / "renderings.json") << R"({"conversations": {"c": {"messages": [{"content": "Hi"}]}},
        "renderings": {"t.jinja": {"c": {"text": ")"
                                                << text << "\"}}}}";
    return run("check --templates " + folder().string());
  };
  EXPECT_EQ(check_against("Hi").exit_code, 0);
  const Ran differs = check_against("Ho");
  EXPECT_EQ(differs.exit_code, 1);
  EXPECT_NE(differs.out.find("0 of   1 equal"), std::string::npos) << differs.out;
  EXPECT_NE(differs.out.find("found \"Hi\""), std::string::npos) << differs.out;
}

// Those with a model that lies in the project; the others need one from elsewhere.
TEST_F(Program, ExamplesOfQuantizeWork) {
  std::istringstream help(run("quantize --help").out);
  int examples = 0;
  for (std::string line; std::getline(help, line);) {
    const std::string begin = "  paceline quantize ";
    if (!line.starts_with(begin)) continue;
    ++examples;
    std::istringstream words(line.substr(begin.size()));
    std::string from, to, rest;
    words >> from >> to;
    std::getline(words, rest);
    const fs::path source = fs::path(PACELINE_SOURCE_DIR) / from;
    if (!fs::exists(source)) continue;
    const Ran ran = run("quantize " + source.string() + " " + (folder() / to).string() + rest);
    EXPECT_EQ(ran.exit_code, 0) << line << "\n" << ran.err;
  }
  EXPECT_GE(examples, 2);
}

// A file larger than any prompt, and one that never ends.
TEST_F(Program, PromptsHaveAnEnd) {
  std::ofstream(folder() / "huge").close();
  fs::resize_file(folder() / "huge", (uintmax_t{256} << 20) + 1);
  for (const std::string& file : {(folder() / "huge").string(), std::string("/dev/zero")}) {
    expect_error(run("generate -f " + file), 1, file + ": more than 268435456 bytes");
  }
}

// One that reads a line and goes. With SIGPIPE as shells leave it, and ignored, as many a parent process does.
TEST_F(Program, AReaderThatGoesEndsItInSilence) {
  const std::string err = (folder() / "err").string(), code = (folder() / "code").string();
  for (const std::string& arguments :
       {std::string("generate -p 'class A:\n' --ignore-eos -n 3000"), std::string("inspect --no-hash")}) {
    for (const char* signal : {"", "trap '' PIPE; "}) {
      const std::string command = std::string("cd ") + folder().string() + " && { " + signal +
                                  "XDG_CACHE_HOME=" + folder().string() + " " + PACELINE_PROGRAM + " " + arguments +
                                  " 2>" + err + "; echo $? >" + code + "; } | (exec <&-; sleep 0.3)";
      ASSERT_EQ(std::system(command.c_str()), 0);
      EXPECT_EQ(contents(code), "141\n") << signal << arguments;
      EXPECT_EQ(contents(err), "") << signal << arguments;
    }
  }
}

// Every store that a user may have under a home of their own, by the names that -m takes.
TEST_F(Program, LsListsWhatIsInEveryStore) {
  const fs::path home = folder() / "home", goldens = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens";
  const fs::path drafter = goldens / "gguf/ple-assistant-q8_0.gguf";
  const auto link = [](const fs::path& to, const fs::path& from) {
    fs::create_directories(from.parent_path());
    fs::create_symlink(to, from);
  };
  const std::string digest(64, 'd');
  link(drafter, home / ".lmstudio/models/org/drafters/some-Q8_0.gguf");
  link(drafter, home / ".ollama/models/blobs" / ("sha256-" + digest));
  link(model(), home / ".cache/huggingface/hub/models--google--dense/snapshots/abc");
  fs::create_directories(home / ".cache/huggingface/hub/models--google--dense/refs");
  std::ofstream(home / ".cache/huggingface/hub/models--google--dense/refs/main") << "abc";
  const fs::path manifest = home / ".ollama/models/manifests/registry.ollama.ai/library/tiny/latest";
  fs::create_directories(manifest.parent_path());
  std::ofstream(manifest) << R"({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:)" +
                                 digest + R"("}]})";
  const std::string command = "HOME=" + home.string() + " HF_HOME= HF_HUB_CACHE= OLLAMA_MODELS= " + PACELINE_PROGRAM +
                              " ls --json >" + (folder() / "out").string();
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::map<std::string, std::string> found;
  const boost::json::value listed = boost::json::parse(contents(folder() / "out"));
  for (const boost::json::value& one : listed.as_array()) {
    EXPECT_TRUE(one.at("problem").is_null()) << one;
    EXPECT_GT(one.at("bytes").to_number<int64_t>(), 0) << one;
    found[std::string(one.at("name").as_string())] = one.at("type").as_string();
  }
  EXPECT_EQ(found.at("google/dense"), "gemma4_text");
  EXPECT_EQ(found.at("org/drafters:Q8_0"), "gemma4_assistant");
  EXPECT_EQ(found.at("ollama:tiny:latest"), "gemma4_assistant");
}

TEST_F(Program, WhatCannotBeWrittenIsAFailure) {
  const std::string own = "XDG_CACHE_HOME=" + folder().string() + " ";
  for (const char* arguments : {"generate -p x -n 9", "generate -p x -n 9 --json", "inspect --no-hash", "--help",
                                "--version", "serve --help"}) {
    const std::string command =
        own + PACELINE_PROGRAM + " " + arguments + " >/dev/full 2>" + (folder() / "err").string();
    const int status = std::system(command.c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1) << arguments;
    EXPECT_EQ(contents(folder() / "err"), "paceline: cannot write to standard output: No space left on device\n");
  }
  // Where nothing can be told, the text is written all the same.
  const std::string asked = "-p x -n 9 --seed 1";
  const std::string command = own + PACELINE_PROGRAM + " generate -m " + model().string() + " " + asked +
                              " --verbose >" + (folder() / "out").string() + " 2>/dev/full";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const std::string written = contents(folder() / "out");
  EXPECT_EQ(written, generate(asked).out);
}

// What the program writes to a terminal.
std::string on_terminal(const std::string& command) {
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t got = 0; (got = ::read(terminal, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<size_t>(got));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << text;
  return text;
}

TEST_F(Program, ColoursAreLeftOutWhereTheyAreNotWanted) {
  const std::string rest = std::string(PACELINE_PROGRAM) + " generate -m " + model().string() +
                           " -p 'class Reader:' -n 80 --seed 3 --draft ngram --depth 3 --show-draft --quiet";
  const std::string own = "XDG_CACHE_HOME=" + folder().string() + " TERM=xterm ";
  const char* const kGreen = "\x1b[32m";
  EXPECT_NE(on_terminal(own + rest).find(kGreen), std::string::npos);
  EXPECT_NE(on_terminal(own + "NO_COLOR= " + rest).find(kGreen), std::string::npos);
  EXPECT_EQ(on_terminal(own + "NO_COLOR=1 " + rest).find('\x1b'), std::string::npos);
  EXPECT_EQ(on_terminal(own + "TERM=dumb " + rest).find('\x1b'), std::string::npos);
}

TEST_F(Program, HelpTeaches) {
  for (const char* command : {"generate", "inspect", "quantize", "check"}) {
    const Ran ran = run(std::string(command) + " --help");
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_NE(ran.out.find("Examples:"), std::string::npos);
  }
  EXPECT_EQ(run("--version").exit_code, 0);
}

// A text as it is written where no terminal is: it ends with a line.
std::string as_line(const std::string& text) { return text.ends_with('\n') ? text : text + "\n"; }

// The goldens' greedy tokens, as text: id 128 + b is byte b.
TEST_F(Program, GreedyTextIsTheGoldens) {
  const auto golden = boost::json::parse(contents(fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/golden.json"));
  for (const auto& prompt : golden.at("prompts").as_array()) {
    std::string expected;
    for (const auto& id : prompt.at("greedy").as_array()) expected += static_cast<char>(id.to_number<int>() - 128);
    const Ran ran = generate("--temp 0 --precision f32 -n 96", std::string(prompt.at("text").as_string()));
    EXPECT_EQ(ran.exit_code, 0);
    EXPECT_EQ(ran.out, as_line(expected));
    EXPECT_EQ(ran.err, "");
  }
}

TEST_F(Program, TheSeedFixesTheTextWhateverTheThreads) {
  const std::string arguments = "-p 'class Reader:' -n 120 --temp 1.2 --repetition-penalty 1.1 --seed ";
  const Ran first = generate(arguments + "5 --threads 1");
  EXPECT_EQ(first.exit_code, 0);
  EXPECT_EQ(generate(arguments + "5 --threads 2").out, first.out);
  EXPECT_NE(generate(arguments + "6").out, first.out);
}

TEST_F(Program, JsonIsOneObjectWithTheSameText) {
  const std::string arguments = "-p 'def ' -n 50 --seed 3";
  const Ran plain = generate(arguments);
  const Ran json = generate(arguments + " --json");
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_EQ(json.err, "");
  const auto object = boost::json::parse(json.out);
  EXPECT_EQ(as_line(std::string(object.at("text").as_string())), plain.out);
  EXPECT_EQ(object.at("finish_reason").as_string(), "length");
  EXPECT_EQ(object.at("completion_tokens").to_number<int>(), 50);
  EXPECT_EQ(object.at("prompt_tokens").to_number<int>(), 5);
  EXPECT_EQ(object.at("seed").to_number<int>(), 3);
}

TEST_F(Program, DraftsChangeTheCountsAndNotTheText) {
  const std::string arguments = "-p 'class Reader:' -n 80 --seed 3 --json ";
  const auto plain = boost::json::parse(generate(arguments + "--draft none").out);
  EXPECT_EQ(plain.at("speculation").at("rounds").to_number<int>(), 80);
  EXPECT_EQ(plain.at("speculation").at("drafted").to_number<int>(), 0);
  const std::string own = (fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/assistant").string();
  const std::string block = (fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/dflash").string();
  for (const std::string& draft : {std::string("ngram"), std::string("auto"), own, block}) {
    for (const char* depth : {"", " --depth 0", " --depth 1", " --depth 4", " --depth 16"}) {
      const auto drafted = boost::json::parse(generate(arguments + "--draft " + draft + depth).out);
      EXPECT_EQ(drafted.at("tokens"), plain.at("tokens")) << draft << depth;
      const auto& counts = drafted.at("speculation");
      EXPECT_EQ(counts.at("rounds").to_number<int>() + counts.at("accepted").to_number<int>(), 80);
    }
  }
  const Ran told = generate("-p 'class Reader:' -n 80 --seed 3 --verbose --show-draft --depth 3 --draft " + own);
  EXPECT_NE(told.err.find("tokens per verify"), std::string::npos) << told.err;
  // Colours are for terminals.
  EXPECT_EQ(told.out, as_line(std::string(plain.at("text").as_string())));
}

TEST_F(Program, AutoTakesTheDrafterThatLiesBesideTheModelAndSaysSo) {
  const std::string arguments = "-p 'class Reader:' -n 40 --seed 3 --verbose";
  const Ran none = generate(arguments);
  EXPECT_NE(none.err.find("no drafter found"), std::string::npos) << none.err;
  expect_error(generate("-p x --draft-kind mtp"), 1, "no drafter found");
  const fs::path goldens = fs::path(PACELINE_SOURCE_DIR) / "tests" / "goldens";
  // One that was made for another model is named and passed by.
  fs::copy(goldens / "ple" / "assistant", model() / "assistant");
  const Ran other = generate(arguments);
  EXPECT_NE(other.err.find("does not fit the model"), std::string::npos) << other.err;
  fs::copy(goldens / "dense" / "assistant", folder() / "model-assistant");
  const Ran found = generate(arguments + " --depth 3 --draft auto --draft-kind mtp");
  EXPECT_NE(found.err.find("drafter found: "), std::string::npos) << found.err;
  EXPECT_NE(found.err.find("model-assistant"), std::string::npos) << found.err;
  EXPECT_NE(found.err.find("tokens per verify"), std::string::npos) << found.err;
  EXPECT_EQ(found.out, none.out);
  // Both kinds, one beside the other.
  fs::copy(goldens / "dense" / "dflash", folder() / "model-DFlash");
  const Ran both = generate(arguments);
  EXPECT_NE(both.err.find(" times as fast as without drafts"), std::string::npos) << both.err;
  EXPECT_NE(both.err.find("model-assistant, "), std::string::npos) << both.err;
  EXPECT_NE(both.err.find("model-DFlash"), std::string::npos) << both.err;
  EXPECT_EQ(both.out, none.out);
  expect_error(generate("-p x --draft-kind mtp --draft " + (folder() / "model-DFlash").string()), 1, "is dflash");
}

TEST_F(Program, WhatRoundsTakeIsKeptForTheNextRun) {
  const fs::path costs = folder() / "cache" / "paceline" / "costs";
  const std::string arguments = "-p 'class Reader:' -n 40 --seed 3 --draft ngram";
  const std::string first = generate(arguments).out;
  ASSERT_TRUE(fs::exists(costs));
  EXPECT_EQ(std::distance(fs::directory_iterator(costs), {}), 1);
  EXPECT_EQ(generate(arguments).out, first);
  EXPECT_EQ(std::distance(fs::directory_iterator(costs), {}), 1);
  // Another drafter's rounds are others; a fixed depth needs to know nothing.
  EXPECT_EQ(generate(arguments + " --depth 3").exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(costs), {}), 1);
  const fs::path own = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/assistant";
  EXPECT_EQ(generate("-p x -n 9 --draft " + own.string()).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(costs), {}), 2);
}

TEST_F(Program, BenchMeasuresSpeculation) {
  const std::string out = (folder() / "measured").string();
  const std::string drafter = (fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense/assistant").string();
  const Ran ran = run("bench --speculation -m " + model().string() + " --draft " + drafter +
                      " --depths 0,2,auto --tokens 12 --rounds 2 --threads 1 --json --out " + out);
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto found = boost::json::parse(ran.out);
  EXPECT_EQ(boost::json::parse(contents(out + ".json")), found);
  // Five kinds of text and all together; plain, depth 2, auto.
  const auto& cells = found.at("cells").as_array();
  ASSERT_EQ(cells.size(), 18u);
  EXPECT_EQ(cells.front().at("ratio_to_plain").to_number<double>(), 1);
  EXPECT_EQ(cells.back().at("depth").as_string(), "auto");
  for (const auto& cell : cells) EXPECT_GT(cell.at("tokens_per_s").to_number<double>(), 0);
  EXPECT_GT(cells[1].at("tokens_per_verify").to_number<double>(), 1);
  EXPECT_TRUE(contents(out + ".svg").starts_with("<svg "));
  expect_error(run("bench --speculation --depths deep --synthetic dense-38m"), 2, "deep");
  expect_error(run("bench --speculation -m " + model().string()), 1, "no drafter found");
}

TEST_F(Program, BenchMeasuresTheEngine) {
  const std::string arguments =
      "bench --engine -m " + model().string() + " --tokens 8 --at-once 1,2 --rounds 1 --threads 1 --draft ";
  const Ran ran = run(arguments + "ngram --json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto found = boost::json::parse(ran.out);
  EXPECT_EQ(found.at("drafter").as_string(), "ngram");
  const auto& cells = found.at("cells").as_array();
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[1].at("at_once").to_number<int>(), 2);
  EXPECT_GT(cells[1].at("auto_tokens_per_s").to_number<double>(), 0);
  expect_error(run(arguments + "perfect"), 2, "know no text beforehand");
}

TEST_F(Program, BenchLoadsAServerOfItsOwn) {
  const std::string shipped = (fs::path(PACELINE_SOURCE_DIR) / "models/default").string();
  const Ran ran = run("bench --serve -m " + shipped +
                      " --device cpu --at-once 2 --requests 4 --output-tokens 4 --rounds 1 --json --out ''");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto found = boost::json::parse(ran.out);
  const auto& cells = found.at("cells").as_array();
  ASSERT_EQ(cells.size(), 2u);  // plain and auto
  for (const auto& cell : cells) {
    EXPECT_EQ(cell.at("requests").to_number<int>(), 4);
    EXPECT_EQ(cell.at("failed").to_number<int>(), 0);
    EXPECT_GT(cell.at("tokens_per_s").to_number<double>(), 0);
  }
  EXPECT_GT(found.at("resident_bytes").as_array().at(0).to_number<double>(), 0);
}

TEST_F(Program, CheckComparesSpeculationWithPlainRuns) {
  const Ran ran = run("check --speculation " + (fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense").string());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("191 of 191 proposals"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("tokens compared"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("MISS"), std::string::npos) << ran.out;
}

// Times are a machine's; the texts must be one.
TEST_F(Program, CheckTimesOneRequestBesideTheBareLoop) {
  const Ran ran = run("check --pace --json -m " + model().string());
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto found = boost::json::parse(ran.out);
  EXPECT_TRUE(found.at("equal").as_bool());
  EXPECT_EQ(found.at("ratios").as_array().size(), 9u);
  EXPECT_GT(found.at("ratio").to_number<double>(), 0);
}

TEST_F(Program, TextEndsBeforeAStopString) {
  expect_error(generate("-p x --stop ''"), 2, "found an empty one");
  const std::string arguments = "-p 'def ' -n 80 --temp 0 --json";
  const std::string all(boost::json::parse(generate(arguments).out).at("text").as_string());
  const size_t at = all.find("self");
  ASSERT_NE(at, std::string::npos) << all;
  const auto stopped = boost::json::parse(generate(arguments + " --stop nowhere --stop self").out);
  EXPECT_EQ(stopped.at("text").as_string(), all.substr(0, at));
  EXPECT_EQ(stopped.at("finish_reason").as_string(), "stop");
}

TEST_F(Program, VerboseTellsASummaryOnStderrOnly) {
  const Ran ran = generate("-p 'def ' -n 9 --seed 1 --verbose");
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_NE(ran.err.find("output 9 tokens"), std::string::npos) << ran.err;
  EXPECT_EQ(ran.out, generate("-p 'def ' -n 9 --seed 1").out);
}

TEST_F(Program, QuantisedModelsRunAndNothingIsOverwritten) {
  const std::string target = (folder() / "q8").string();
  const std::string arguments = "quantize " + model().string() + " " + target + " --bits 8 --group 32";
  const Ran made = run(arguments);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.out, "");
  const Ran ran = run("generate -p 'def ' -n 20 --temp 0 -m " + target);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_FALSE(ran.out.empty());
  expect_error(run(arguments), 1, target);
}

TEST_F(Program, InspectSaysWhatAModelIs) {
  const Ran text = run("inspect " + model().string());
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("gemma4_text"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("kernels"), std::string::npos) << text.out;
  const Ran json = run("inspect --json " + model().string());
  EXPECT_TRUE(boost::json::parse(json.out).is_object());
  expect_error(run("inspect /nowhere"), 1, "/nowhere");
}

TEST_F(Program, ShowsPicturesAndClips) {
  const std::string source = PACELINE_SOURCE_DIR, shipped = source + "/models/default";
  const std::string picture = source + "/tests/default_model/picture0.png";
  const std::string clip = source + "/tests/fuzz/video/h264.mp4";
  const Ran text = run("inspect " + shipped + " --image " + picture + " --image-tokens 280");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("384 × 384 pixels → 768 × 768: 48 × 48 patches of 16 × 16, 16 × 16 = 256 tokens"),
            std::string::npos)
      << text.out;
  const auto json = boost::json::parse(run("inspect --json " + shipped + " --image " + picture).out);
  EXPECT_EQ(json.at("pictures").at(0).at("tokens").as_int64(), 64);
  expect_error(run("inspect " + shipped + " --image " + clip), 1, "h264.mp4: expected a picture");
  const Ran missing = run("inspect " + shipped + " --image nowhere.jpg");
  expect_error(missing, 1, "paceline: nowhere.jpg: cannot open");

  // A clip and a picture, in both orders: as many tokens, another text.
  const std::string asked = "generate -p 'What is this?' --temp 0 -n 4 --json --video-frames 2 -m " + shipped;
  const Ran one = run(asked + " --video " + clip + " --image " + picture);
  const Ran other = run(asked + " --image " + picture + " --video " + clip);
  EXPECT_EQ(one.exit_code, 0) << one.err;
  const auto tokens = [](const Ran& ran) { return boost::json::parse(ran.out).at("prompt_tokens").as_int64(); };
  EXPECT_EQ(tokens(one), tokens(other));
  EXPECT_GT(tokens(one), 3 * 64);
  expect_error(run(asked + " --video " + picture), 1, "picture0.png");
}

TEST_F(Program, CheckComparesWithGoldens) {
  const fs::path golden = fs::path(PACELINE_SOURCE_DIR) / "tests/goldens/dense";
  const Ran good = run("check --json " + golden.string());
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_TRUE(boost::json::parse(good.out).at(0).at("passed").as_bool());

  // Another seed's weights in the place of these: every number is off.
  const fs::path wrong = folder() / "wrong";
  fs::create_directories(wrong / "target");
  for (const char* name : {"golden.json", "golden.safetensors"}) fs::copy_file(golden / name, wrong / name);
  for (const auto& entry : fs::directory_iterator(golden / "target")) {
    fs::copy_file(entry.path(), wrong / "target" / entry.path().filename());
  }
  std::fstream weights(wrong / "target/model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  weights.seekp(-2000, std::ios::end);
  weights << std::string(1000, '\x3f');
  weights.close();
  const Ran bad = run("check " + wrong.string());
  EXPECT_EQ(bad.exit_code, 1) << bad.out;
  EXPECT_NE(bad.out.find("MISS"), std::string::npos);
}

}  // namespace
}  // namespace paceline
