"""The console's own modules as one script with what others wrote, in the order in which they need each other, with names
that are unique in all of them. Understands what they are written in: imports and exports by name that stand at the
beginning of a line."""

import json
import pathlib
import posixpath
import re
import sys

from console_tokens import declared_names, matching, outside_names, shortened, text_of, tight_templates, tokens_of
from console_vendor import LATE, Vendor

IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\}) from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (default )?(?=(?:const|let|class|function|async function)\b)", re.MULTILINE)
EXPORT_LIST = re.compile(r"^export \{[^}]*\};?\n", re.MULTILINE)
DEFAULT = re.compile(r"^export default function (\w+)", re.MULTILINE)

# What tests in a browser ask the packed console for, by module.
TESTED = {
    "state/chats": ["addNode", "chat", "chats", "importChats", "keep", "loadAllChats"], "state/stream": ["running", "takeChunk"],
    "state/monitor": ["columns", "joinSamples", "range"], "parts/spans": ["countRounds"],
}


def tight_style(text):
    text = re.sub(r"\s*\n\s*", "\n", re.sub(r"/\*.*?\*/", "", text))
    text = re.sub(r" ?([{:;,]) ", r"\1", re.sub(r" \}", "}", text)).replace(";}", "}")
    return re.sub(r"(?<=[{};,])\n|\n(?=[{}])", "", re.sub(r"(?<![\w.])0(?=\.\d)", "", text))


def top_names(tokens):
    _, inside = matching(tokens)
    words = ("const", "let", "class", "function", "*")
    return {one.text for at, one in enumerate(tokens) if one.kind == "word" and inside[at] < 0 and tokens[at - 1].text in words} - {"function"}


class Bundle:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.vendor, self.taken = Vendor(self.folder.parent / "vendor"), {}
        self.texts, self.imported, self.pages = {}, {}, {}

    def add(self, name):
        if name in self.texts:
            return
        text = (self.folder / f"{name}.js").read_text(encoding="utf-8")
        self.imported[name], late = set(), []

        def take(match):
            one, names, path = match.groups()
            place = posixpath.normpath(posixpath.join(posixpath.dirname(f"js/{name}"), path))
            self.imported[name].update(re.findall(r"\w+", one or names))
            if place.startswith("vendor/"):
                module = place[len("vendor/"):-len(".js")]
                late.extend([one] if module in LATE else [])
                self.take(module, {"default": one} if one else {name: name for name in names.replace(" ", "").split(",")})
            else:
                self.add(place[len("js/"):-len(".js")])
            return ""

        text = IMPORT.sub(take, text)
        for one in late:
            text = re.sub(rf"(?<![\w.]){one}\b(?!\()", f"{one}()", text)
        if found := DEFAULT.search(text):
            self.pages[name] = found[1]
        text = EXPORT.sub("", EXPORT_LIST.sub("", text)).replace("import.meta.url", f'new URL("{name}.js", import.meta.url).href')
        # Lines of templates are laid out, too. Pages are fetched when they are asked for, as are English texts; here they are at hand.
        text = "\n".join(line.strip() for line in text.split("\n"))
        english = json.dumps(json.loads((self.folder.parent / "lang/en.json").read_bytes()), ensure_ascii=False)
        self.texts[name] = text.replace("import(`./pages/${name}.js`)", "Promise.resolve($[`pages/${name}`])").replace('await read("en")', english)

    def take(self, module, names):
        """names: as they are called there, and here."""
        self.vendor.take(module, list(names))
        self.taken.setdefault(module, {}).update(names)

    def check_names(self):
        """All modules stand in one room: a name at the top of one must not be meant otherwise in another."""
        tokens = {name: tokens_of(text) for name, text in self.texts.items()}
        tops = {name: top_names(found) for name, found in tokens.items()}
        for name, found in tokens.items():
            free = {one.text for one in found if one.kind == "word"} - declared_names(found) - self.imported[name] - outside_names(found)
            for other in tops:
                if other != name and (clash := (tops[name] | free) & tops[other]):
                    sys.exit(f"console: {name}.js and {other}.js: {', '.join(sorted(clash))} must be unique, or imported")

    def text(self):
        for page in sorted((self.folder / "pages").glob("*.js")):
            self.add(f"pages/{page.stem}")
        self.add("main")
        self.check_names()
        heads = []
        for module, names in self.taken.items():
            own = [names.get(name, "") for name in self.vendor.taken[module]]
            heads.append(f"const {own[0]} = () => {self.vendor.name(module)}()[0];" if module in LATE else f"const [{','.join(own).rstrip(',')}] = {self.vendor.name(module)};")
        known = [f'"{name}": {{ default: {page} }}' for name, page in self.pages.items()]
        known += [f'"{name}": {{ {", ".join(names)} }}' for name, names in TESTED.items()]
        main = self.texts.pop("main")
        whole = "\n".join([*heads, *self.texts.values(), f"export const $ = {{ {', '.join(known)} }};", main])
        return self.vendor.script() + text_of(shortened(tight_templates(tokens_of(whole)), set())) + "\n"
