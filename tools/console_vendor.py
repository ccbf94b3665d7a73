"""What others wrote for the console, laid into one script with our own: each module is a function that gives back what
somebody takes of it, in a list. Understands minified modules: imports at their beginning, exports at their end."""

import re
import sys

IMPORT = re.compile(r'import\{([^}]*)\}from"\./(\w[\w-]*)\.js";')
PASSED_ON = re.compile(r'export\{([^}]*)\}from"\./(\w[\w-]*)\.js";')
EXPORT = re.compile(r"export\{([^}]*)\};?\s*$")
DEFAULT = "export default "
# What takes a while to begin, and is not needed for what is seen first: begun when somebody asks for it.
LATE = {"uplot"}


def pairs(text):
    """What "a as b, c" names: [(a, b), (c, c)]."""
    return [(one.split(" as ")[0], one.split(" as ")[-1]) for one in text.split(",")]


class Vendor:
    def __init__(self, folder):
        self.folder, self.order, self.texts, self.taken = folder, [], {}, {}

    def take(self, module, names):
        """names: what is taken of it, "default" for what has no name. Those below it come before it."""
        if module not in self.texts:
            self.texts[module] = (self.folder / f"{module}.js").read_text(encoding="utf-8").strip()
            self.taken[module] = []
            for found, below in IMPORT.findall(self.texts[module]):
                self.take(below, [name for name, _ in pairs(found)])
            for _, below in PASSED_ON.findall(self.texts[module]):
                self.take(below, [])
            self.order.append(module)
        for found, below in PASSED_ON.findall(self.texts[module]):
            self.take(below, [name for name, _ in pairs(found) if name in names])
        self.taken[module] += [name for name in names if name not in self.taken[module]]

    def name(self, module):
        return f"${self.order.index(module)}"

    def place(self, module, name):
        return f"{self.name(module)}[{self.taken[module].index(name)}]"

    def text(self, module):
        text = IMPORT.sub(lambda found: "const " + ",".join(f"{own}={self.place(found[2], name)}" for name, own in pairs(found[1])) + ";", self.texts[module])
        given = {}
        for found, below in PASSED_ON.findall(text):
            given |= {own: self.place(below, name) for name, own in pairs(found) if own in self.taken[module]}
        text = PASSED_ON.sub("", text)
        if DEFAULT in text:
            text, last = text.split(DEFAULT)
            given["default"] = last.rstrip(";\n")
        elif found := EXPORT.search(text):
            text = text[:found.start()]
            given |= {own: name for name, own in pairs(found[1])}
        if missing := set(self.taken[module]) - set(given):
            sys.exit(f"console: {module}.js does not export {', '.join(sorted(missing))}")
        made = f"(()=>{{{text}\nreturn[{','.join(given[name] for name in self.taken[module])}]}})()"
        return f"let {self.name(module)}_;const {self.name(module)}=()=>{self.name(module)}_??={made};\n" if module in LATE else f"const {self.name(module)}={made};\n"

    def script(self):
        return "".join(map(self.text, self.order))
