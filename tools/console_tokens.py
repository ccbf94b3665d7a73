"""The console's scripts as tokens, and what can be left out of them: blanks in code, and long names that nobody outside
knows."""

import collections
import itertools
import re
import string

WORD = re.compile(r"[A-Za-z_$][\w$]*")
NUMBER = re.compile(r"\d[\w.]*")
QUOTED = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'')
PATTERN = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/[a-z]*")
SIGN = re.compile(r"\.\.\.|=>|\?\.(?!\d)|[=!]==|\?\?=|\|\|=|&&=|[-+*/%<>=!]=|\*\*|\+\+|--|&&|\|\||\?\?|.", re.DOTALL)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
BLANK = re.compile(r"\s+")
# Behind these a slash divides; behind any other it begins a pattern.
ENDS_VALUE = re.compile(r"[\w$)\]}\"'`]$")
KEYWORDS = set("return typeof case in of new delete void throw await yield else do".split())

Token = collections.namedtuple("Token", "kind text")


def tokens_of(text):
    """Words, numbers, signs, quoted texts and parts of templates, without blanks and comments."""
    made, braces, at = [], [], 0

    def template(start):
        end = start
        while text[end] != "`" and not text.startswith("${", end):
            end += 2 if text[end] == "\\" else 1
        made.append(Token("template", text[start:end]))
        if text[end] == "`":
            made.append(Token("sign", "`"))
            return end + 1
        made.append(Token("sign", "${"))
        braces.append("`")
        return end + 2

    while at < len(text):
        last = made[-1] if made else Token("sign", ";")
        if found := BLANK.match(text, at) or COMMENT.match(text, at):
            at = found.end()
        elif text[at] == "`":
            made.append(Token("sign", "`"))
            at = template(at + 1)
        elif found := WORD.match(text, at):
            made.append(Token("word", found[0]))
            at = found.end()
        elif found := NUMBER.match(text, at) or QUOTED.match(text, at):
            made.append(Token("value", found[0]))
            at = found.end()
        elif text[at] == "/" and (last.text in KEYWORDS or not ENDS_VALUE.search(last.text)) and (found := PATTERN.match(text, at)):
            made.append(Token("value", found[0]))
            at = found.end()
        else:
            sign = SIGN.match(text, at)[0]
            at += len(sign)
            made.append(Token("sign", sign))
            if sign == "{":
                braces.append("{")
            elif sign == "}" and braces.pop() == "`":
                at = template(at)
    return made


def tight_templates(tokens):
    """Elements without quotes and blanks that whoever reads them can do without."""
    made, opened = [], []
    for at, (kind, text) in enumerate(tokens):
        if text == "`" and kind == "sign":
            if tokens[at + 1].kind == "template":
                opened.append(tokens[at - 1].text == "html")
            else:
                opened.pop()
        elif kind == "template" and opened[-1]:
            text = re.sub(r'="([\w.-]+)"(?=[\s>])', r"=\1", text)
            text = re.sub(r"\s+/>", "/>", re.sub(r">\n<", "><", text))
        made.append(Token(kind, text))
    return made


def text_of(tokens):
    made, last = [], Token("sign", "")
    for token in tokens:
        if token.kind in ("word", "value") and last.kind in ("word", "value") and re.match(r"[\w$]", token.text):
            made.append(" ")
        elif token.text[:1] in "+-" and token.text and last.text[-1:] == token.text[0] and last.kind == "sign":
            made.append(" ")
        made.append(token.text)
        last = token
    return "".join(made)


def matching(tokens):
    """For each bracket where the other one stands; for each token the bracket that it stands in."""
    other, inside, opened = {}, [], []
    for at, (kind, text) in enumerate(tokens):
        if kind == "sign" and text in (")", "]", "}"):
            other[at] = opened.pop()
            other[other[at]] = at
        inside.append(opened[-1] if opened else -1)
        if kind == "sign" and text in ("(", "[", "{", "${"):
            opened.append(at)
    return other, inside


def is_list_of_names(tokens, begin, end):
    before = [token.text for token in tokens[max(begin - 2, 0):begin]]
    if tokens[end].text == "]":
        return before[-1:] in (["const"], ["let"]) or [token.text for token in tokens[end + 1:end + 3]] == [")", "=>"]
    return tokens[end + 1].text == "=>" or before[:1] == ["function"] or before[:1] == ["*"] or before[-1:] == ["catch"]


def declared_names(tokens):
    other, inside = matching(tokens)
    names = set()
    for at, (kind, text) in enumerate(tokens):
        before = tokens[at - 1].text if at else ""
        if kind == "word" and before in ("const", "let", "class", "function", "*") and text != "function":
            names.add(text)
        if text == "=>" and tokens[at - 1].kind == "word":
            names.add(before)
        if kind == "sign" and text in (")", "]") and is_list_of_names(tokens, other[at], at):
            names.update(tokens[i].text for i in range(other[at], at) if tokens[i].kind == "word" and inside[i] == other[at] and tokens[i - 1].text in ("(", "[", ",", "..."))
    return names


def begins_block(tokens, at):
    """Whether a brace holds statements, and not members."""
    before = tokens[at - 1].text if at > 0 else ";"
    return before in (")", "=>", ";", "{", "}", "else", "try", "finally", "do")


def begins_class(tokens, at):
    return any(token.text in ("class", "extends") for token in tokens[max(at - 2, 0):at])


def members(tokens):
    """Which tokens name members, which others may have named: True, or "short" where a variable is meant, too."""
    _, inside = matching(tokens)
    made = [False] * len(tokens)
    for at, (kind, text) in enumerate(tokens[:-1]):
        if kind != "word":
            continue
        before, behind = tokens[at - 1].text, tokens[at + 1].text
        in_braces = inside[at] >= 0 and tokens[inside[at]].text == "{"
        in_class = in_braces and begins_class(tokens, inside[at]) and before in ("{", ";", "}")
        is_entry = in_braces and before in ("{", ",") and not begins_block(tokens, inside[at])
        if before in (".", "?.") or in_class or (is_entry and behind in (":", "(")):
            made[at] = True
        elif is_entry and behind in (",", "}", "="):
            made[at] = "short"
    return made


def outside_names(tokens):
    return {one.text for one, is_member in zip(tokens, members(tokens)) if is_member}


def short_names(taken):
    letters = string.ascii_letters
    for length in itertools.count(1):
        for made in itertools.product(letters, repeat=length):
            if "".join(made) not in taken:
                yield "".join(made)


def shortened(tokens, others):
    """others: names that must stay. The same long name becomes the same short one everywhere, but for members."""
    kinds = members(tokens)
    words = collections.Counter(one.text for one, is_member in zip(tokens, kinds) if one.kind == "word" and is_member is not True)
    names = [name for name in declared_names(tokens) - others if len(name) > 2]
    names.sort(key=lambda name: (-words[name], name))
    taken = {one.text for one in tokens if one.kind == "word"} | {"do", "if", "in", "of", "as", "is"}
    short, made = dict(zip(names, short_names(taken))), []
    for (kind, text), is_member in zip(tokens, kinds):
        if kind == "word" and text in short and is_member is not True:
            made += [Token(kind, text), Token("sign", ":")] * (is_member == "short") + [Token(kind, short[text])]
        else:
            made.append(Token(kind, text))
    return made
