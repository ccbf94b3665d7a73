#!/usr/bin/env python3
"""`paceline chat` on a pseudo-terminal, as somebody who types meets it, and in a pipe.

    tests/chat/run.py [PATTERN]

PACELINE_PROGRAM: the program; else build/release/paceline. PATTERN: only tests with this in their names."""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("PACELINE_PROGRAM", str(ROOT / "build/release/paceline"))
MODEL = str(ROOT / "models/default")
LONGEST_S = 60
PROMPT = ">>> "
CTRL_C, CTRL_D, UP = "\x03", "\x04", "\x1b[A"
GREEN, RED = "\x1b[32m", "\x1b[31m"
# Its stop tokens are never chosen: an answer goes on until the context is full.
ENDLESS = [word for token in (1, 6, 11) for word in ("--logit-bias", f"{token}=-1000000")]
TAKEN = re.compile(r"(\d+) tokens.* (\d+) of (\d+) tokens before were known")


def environment(folder, **more):
    made = {name: value for name, value in os.environ.items() if not name.startswith(("PACELINE_", "XDG_", "NO_COLOR", "EDITRC"))}
    return {**made, "HOME": str(folder), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8", **more}


def plain(text):
    """As it reads: without colours, and without what moves the cursor along a line."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


class Terminal:
    """The program on a terminal of its own."""

    def __init__(self, folder, *arguments, **more):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            # Wide enough that no line of the tests is broken.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 1000, 0, 0))
            os.execve(PROGRAM, [PROGRAM, "chat", "-m", MODEL, *arguments], environment(folder, **more))
        self.heard = ""

    def read_some(self, seconds):
        if not select.select([self.master], [], [], seconds)[0]:
            return True
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            return False  # the other side has gone
        self.heard += piece.decode("utf-8", "replace")
        return bool(piece)

    def wait_for(self, pattern, seconds=LONGEST_S):
        """What is said until then, and that too."""
        deadline = time.monotonic() + seconds
        while True:
            found = re.search(pattern, plain(self.heard), re.S)
            if found:
                heard, self.heard = self.heard, ""
                return heard
            if time.monotonic() > deadline or not self.read_some(0.1):
                raise AssertionError(f"expected {pattern!r}, found {self.heard!r}")

    def unread(self):
        return struct.unpack("i", fcntl.ioctl(self.master, termios.FIONREAD, bytes(4)))[0]

    def type(self, text):
        os.write(self.master, text.encode())

    def ask(self, line):
        """What comes between a line and the next prompt, as it reads, without the line's own echo."""
        self.type(line + "\n")
        return self.answer(self.wait_for(r"\n>>> $"))

    @staticmethod
    def answer(heard):
        return plain(heard).partition("\n")[2].rpartition("\n" + PROMPT)[0]

    def end(self):
        """Its exit code, once Ctrl-D was typed."""
        self.type(CTRL_D)
        return self.wait()

    def wait(self):
        deadline = time.monotonic() + LONGEST_S
        while self.read_some(0.1):
            if time.monotonic() > deadline:
                os.kill(self.pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.master)
        return code


def split_answer(text):
    """An answer, and what it took: tokens written, known, before it."""
    said, _, taken = text.rpartition("\n") if "\n" in text else ("", "", text)
    found = TAKEN.search(taken)
    if not found:
        raise AssertionError(f"expected an answer and what it took, found {text!r}")
    return said, [int(number) for number in found.groups()]


class Chat(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.terminals = []

    def tearDown(self):
        for terminal in self.terminals:
            try:
                os.kill(terminal.pid, signal.SIGKILL)
                os.waitpid(terminal.pid, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
        self.scratch.cleanup()

    def open(self, *arguments, **more):
        terminal = Terminal(self.folder, *arguments, **more)
        self.terminals.append(terminal)
        terminal.wait_for(r"Ctrl-D ends.*>>> $")
        return terminal

    def pipe(self, text, *arguments):
        return subprocess.run([PROGRAM, "chat", "-m", MODEL, *arguments], input=text, capture_output=True, text=True,
                              timeout=LONGEST_S, env=environment(self.folder))

    def test_answers_and_ends(self):
        terminal = self.open("--temp", "0")
        said, (written, _, _) = split_answer(terminal.ask("What is a cat?"))
        self.assertTrue(said.strip())
        self.assertGreater(written, 1)
        self.assertEqual(terminal.end(), 0)

    def test_the_second_turn_sees_the_first(self):
        story = "My name is Tina. Tell me a story about a small boat that wanted to see the sea, with a bird and a lighthouse in it."
        terminal = self.open("--temp", "0")
        first, (written, known, before) = split_answer(terminal.ask(story))
        self.assertEqual(known, 0)
        second, (_, known_then, before_then) = split_answer(terminal.ask("What is my name?"))
        self.assertGreater(before_then, before + written)
        self.assertGreater(known_then, 0, "pages of the first turn are used again")
        self.assertIn("Tina", second)
        alone = self.pipe("What is my name?\n", "--temp", "0")
        self.assertNotEqual(second.strip(), alone.stdout.strip())
        together = self.pipe(f"{story}\nWhat is my name?\n", "--temp", "0", "--depth", "0")
        self.assertEqual(together.stdout.strip(), f"{first.strip()}\n{second.strip()}",
                         "a pipe, without guesses, gets the same text")

    def test_ctrl_c_stops_the_answer_alone(self):
        terminal = self.open("--temp", "0", *ENDLESS)
        terminal.type("Tell me a story.\n")
        terminal.wait_for(r"story\.\n.{40}")
        terminal.type(CTRL_C)
        self.assertIn("stopped", plain(terminal.wait_for(r"\n>>> $", 20)))
        # What was said until then stays, and the chat goes on.
        shown = terminal.ask("/show")
        self.assertRegex(shown, r"(?s)^user: Tell me a story\.\nassistant: .{40}")
        terminal.type("Go on.\n")
        terminal.wait_for(r"on\.\n.{40}")
        for _ in range(5):
            terminal.type(CTRL_C)
        terminal.wait_for(r"stopped.*\n>>> $", 20)
        self.assertEqual(terminal.end(), 0)

    def test_ctrl_c_ends_what_nobody_reads(self):
        said = [{"role": role, "content": "word " * 800} for _ in range(100) for role in ("user", "assistant")]
        said[-1]["content"] = "the very last word"
        (self.folder / "long.json").write_text(json.dumps({"messages": said}))
        terminal = self.open("--load", str(self.folder / "long.json"))
        terminal.type("/show\n")
        deadline = time.monotonic() + LONGEST_S
        while terminal.unread() < 2000 and time.monotonic() < deadline:
            time.sleep(0.01)
        terminal.type(CTRL_C)
        heard = terminal.wait_for(r"\n>>> $")
        self.assertNotIn("the very last word", heard)
        # The next one is shown whole.
        self.assertIn("the very last word", terminal.ask("/show"))
        self.assertEqual(terminal.end(), 0)

    def test_ctrl_c_drops_a_line(self):
        terminal = self.open("--temp", "0")
        terminal.type("not this")
        terminal.wait_for("not this")
        terminal.type(CTRL_C)
        terminal.wait_for(r"\n>>> $")
        terminal.type('"""not\n')
        terminal.wait_for(r"\n\.\.\. $")
        terminal.type(CTRL_C)
        terminal.wait_for(r"\n>>> $")
        self.assertIn("nothing has been said", terminal.ask("/show"))
        self.assertEqual(terminal.end(), 0)

    def test_what_is_saved_is_loaded(self):
        terminal = self.open("--temp", "0", "--seed", "7", "--system", "Be brief.")
        terminal.ask("What is a cat?")
        terminal.ask(f"/image {ROOT / 'tests/default_model/picture0.png'}")
        terminal.ask("What is in the picture?")
        shown = terminal.ask("/show")
        self.assertIn("user (1 shown): What is in the picture?", shown)
        terminal.ask(f"/save {self.folder / 'talk.json'}")
        again = terminal.ask("Say it again.")
        self.assertEqual(terminal.end(), 0)
        saved = json.loads((self.folder / "talk.json").read_text())
        self.assertEqual([message["role"] for message in saved["messages"]],
                         ["system", "user", "assistant", "user", "assistant"])

        other = self.open("--temp", "0")
        other.ask("Something else.")
        self.assertIn("2 questions", other.ask(f"/load {self.folder / 'talk.json'}"))
        self.assertEqual(other.ask("/show"), shown)
        self.assertIn("seed 7", other.ask("/seed"))
        self.assertEqual(split_answer(other.ask("Say it again."))[0], split_answer(again)[0])
        other.ask(f"/load {self.folder / 'talk.json'}")
        other.ask(f"/save {self.folder / 'copy.json'}")
        self.assertEqual((self.folder / "copy.json").read_bytes(), (self.folder / "talk.json").read_bytes())
        self.assertEqual(other.end(), 0)

    def test_lines_that_belong_together(self):
        terminal = self.open("--temp", "0")
        terminal.type("What is\\\n")
        terminal.wait_for(r"\n\.\.\. $")
        terminal.ask("a cat?")
        self.assertIn("user: What is\na cat?\n", terminal.ask("/show"))

    def test_history_comes_back(self):
        terminal = self.open("--temp", "0")
        terminal.ask("/seed 4711")
        self.assertEqual(terminal.end(), 0)
        self.assertEqual((self.folder / ".local/state/paceline/chat_history").stat().st_mode & 0o777, 0o600)
        other = self.open("--temp", "0")
        other.type(UP)
        other.wait_for("/seed 4711$")
        other.type("\n")
        other.wait_for(r"seed 4711\n.*>>> $")
        self.assertEqual(other.end(), 0)
        forgetful = self.open("--temp", "0", "--no-history")
        forgetful.type(UP)
        time.sleep(0.5)
        forgetful.read_some(0.1)
        self.assertNotIn("4711", forgetful.heard)

    def test_colours(self):
        for more, expected in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            terminal = self.open("--temp", "0", "--depth", "3", **more)
            terminal.type("Tell me a story.\n")
            heard = terminal.wait_for(r"seed \d+\n>>> $")
            self.assertEqual(GREEN in heard and RED in heard, expected, f"{more} {heard!r}")
            if not more:
                terminal.ask("/colours off")
                terminal.type("Tell me a story.\n")
                self.assertNotIn(GREEN, terminal.wait_for(r"seed \d+\n>>> $"))
            self.assertEqual(terminal.end(), 0)

    def test_mistakes_are_said_and_nothing_ends(self):
        terminal = self.open("--temp", "0")
        self.assertIn("did you mean /seed?", terminal.ask("/sede 7"))
        self.assertIn("/nowhere/x.json", terminal.ask("/load /nowhere/x.json"))
        self.assertIn("/nowhere/x.png", terminal.ask("/image /nowhere/x.png"))
        self.assertIn("no question", terminal.ask("/again"))
        self.assertIn("/save FILE", terminal.ask("/help"))
        terminal.type("/quit\n")
        self.assertEqual(terminal.wait(), 0)

    def test_a_signal_leaves_the_terminal_as_it_was(self):
        terminal = self.open("--temp", "0")
        os.kill(terminal.pid, signal.SIGTERM)
        self.assertEqual(terminal.wait(), -signal.SIGTERM)

    def test_a_pipe_gets_answers_alone(self):
        ran = self.pipe('What is a cat?\n/seed 3\n"""\nAnd\na dog?\n"""\n', "--temp", "0")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(len(ran.stdout.splitlines()), 2, ran.stdout)
        self.assertNotIn("\x1b", ran.stdout)
        self.assertNotIn(PROMPT, ran.stdout)
        wrong = self.pipe("/dance\nWhat is a cat?\n", "--temp", "0")
        self.assertEqual(wrong.returncode, 1)
        self.assertIn("/dance", wrong.stderr)
        self.assertEqual(wrong.stdout.splitlines(), ran.stdout.splitlines()[:1])

    def test_command_lines_that_make_no_sense(self):
        self.assertEqual(self.pipe("", "--thinking", "hard").returncode, 2)
        self.assertEqual(self.pipe("", "--load", "/nowhere/x.json").returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + [word for pattern in sys.argv[1:] for word in ("-k", pattern)])
