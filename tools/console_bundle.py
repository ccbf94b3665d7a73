"""The console's own modules as one: each in a function that returns what it exports, in the order in which they need each
other. Understands what they are written in: imports and exports by name that stand at the beginning of a line."""

import pathlib
import posixpath
import re

IMPORT = re.compile(r'^import (?:(\w+)|\{([^}]*)\}) from "([^"]+)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (default )?(const|let|class|function\*?|async function\*?) (\w+)", re.MULTILINE)
EXPORT_LIST = re.compile(r"^export \{([^}]*)\};?\n", re.MULTILINE)


# Signs that stand between blanks in code and nowhere in our texts.
SIGNS = re.compile(r" (=>|===|!==|&&|\|\||\?\?|\?\?=|\+=|<=|>=|=|<|>|\+|\*|/|-|\?|:) ")


BRACES = re.compile(r"(?<=[\w)\]}'\"`;]) \}|\{ (?=[\w.\[\"])|(?<=\)) \{|(?<=>) \(")


COMMAS = re.compile(r"(?<=[\w)\]}]), (?=[\w{\[(\"`$.])")


def tight_style(text):
    text = re.sub(r"\n\s*", "\n", re.sub(r"/\*.*?\*/", "", text))
    return re.sub(r" ?([{:;,]) ", r"\1", re.sub(r" \}", "}", text)).replace(";}", "}").replace("; \n", ";\n")


def tight(text):
    """Without the layout, comments of whole lines, and blanks around signs."""
    lines = (line.strip() for line in text.split("\n"))
    text = "\n".join(line for line in lines if line and not line.startswith("//"))
    return COMMAS.sub(",", BRACES.sub(lambda m: m[0].strip(), SIGNS.sub(r"\1", text)))


class Bundle:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.vendor, self.done, self.out = {}, [], []

    def add(self, name):
        if name in self.done:
            return
        text = (self.folder / f"{name}.js").read_text(encoding="utf-8")
        taken = []

        def take(match):
            one, names, path = match.groups()
            place = posixpath.normpath(posixpath.join(posixpath.dirname(f"js/{name}"), path))
            if place.startswith("vendor/"):
                self.vendor.setdefault(place, set()).add(one or names.strip().rstrip(","))
                return ""
            other = place[len("js/"):-len(".js")]
            self.add(other)
            taken.append(f'const {{{names.strip().replace(" as ", ":").replace(", ", ",")}}} = $["{other}"];\n')
            return ""

        text = IMPORT.sub(take, text)
        exported = [f"default: {m[3]}" if m[1] else m[3] for m in EXPORT.finditer(text)]
        text = EXPORT.sub(lambda m: f"{m[2]} {m[3]}", text)
        for match in EXPORT_LIST.finditer(text):
            exported += [one.strip() for one in match[1].split(",") if one.strip()]
        text = EXPORT_LIST.sub("", text)
        if "import.meta.url" in text:
            text = f'const here = new URL("{name}.js", import.meta.url).href;\n' + text.replace("import.meta.url", "here")
        # Pages are fetched when they are asked for; here they are at hand.
        text = text.replace("import(`./pages/${name}.js`)", "Promise.resolve($[`pages/${name}`])")
        self.done.append(name)
        if name == "main":
            self.out.append("{\n" + tight("".join(taken) + text) + "\n}")
        else:
            self.out.append(f'$["{name}"] = (() => {{\n' + tight("".join(taken) + text) + f"\nreturn {{{','.join(exported)}}};\n}})();")

    def text(self):
        for page in sorted((self.folder / "pages").glob("*.js")):
            self.add(f"pages/{page.stem}")
        self.add("main")
        heads = []
        for place, names in sorted(self.vendor.items()):
            for one in sorted(names):
                heads.append(f'import {one if re.fullmatch(r"[A-Za-z]+", one) and place != "vendor/marked.js" else "{ " + one + " }"} from "../{place}";')
        return "\n".join([*heads, "export const $ = {};", *self.out]) + "\n"
