// The language, against what Python's Jinja2 3.1.6 gives in Hugging Face's environment.
#include "jinja/template.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <string>
#include <vector>

namespace paceline {
namespace {

namespace json = boost::json;

std::string rendered(const std::string& source) {
  static const json::object kVariables = json::parse(R"({
      "a": 1, "s": "Hello World", "l": [3, 1, 2], "d": {"x": 1, "Y": [1, 2], "z": {"k": "v"}}, "n": null,
      "t": true, "f": false, "e": [], "u": "äÖß ΑΣ", "nested": [[1, 2], [3, [4]]],
      "msgs": [{"role": "user", "content": "Hi <b>"}, {"role": "assistant", "content": "Yo", "n": 3}]})")
                                             .as_object();
  const auto parsed = jinja::Template::parse(source);
  if (!parsed.ok()) return "parse error: " + parsed.error().message;
  jinja::RenderOptions options;
  options.now = std::tm{};
  options.now->tm_year = 126;
  options.now->tm_mon = 6;
  options.now->tm_mday = 4;
  const auto text = parsed->render(kVariables, options);
  return text.ok() ? text->text : "error: " + text.error().message;
}

struct Example {
  std::string source, expected;
};

void expect_all(const std::vector<Example>& examples) {
  for (const Example& example : examples) EXPECT_EQ(rendered(example.source), example.expected) << example.source;
}

// Each expression within {{ }}.
void expect_values(const std::vector<Example>& examples) {
  for (const Example& example : examples) {
    EXPECT_EQ(rendered("{{ " + example.source + " }}"), example.expected) << example.source;
  }
}

TEST(Jinja, Arithmetic) {
  expect_values({{"1+2*3", "7"},
                 {"-7//2", "-4"},
                 {"-7%3", "2"},
                 {"7%-3", "-2"},
                 {"2**10", "1024"},
                 {"2**-1", "0.5"},
                 {"-2**2", "4"},
                 {"2**3**2", "64"},
                 {"7/2", "3.5"},
                 {"1e16", "1e+16"},
                 {"1e15", "1000000000000000.0"},
                 {"1e-5", "1e-05"},
                 {"0.1+0.2", "0.30000000000000004"},
                 {"-5.5%2", "0.5"},
                 {"5.0//2", "2.0"},
                 {"0x1F", "31"},
                 {"1_000", "1000"},
                 {"true+true", "2"},
                 {"3*'ab'", "ababab"},
                 {"[1]*3", "[1, 1, 1]"}});
}

TEST(Jinja, OperatorsAndTheirPrecedence) {
  expect_values({{"'a' ~ 1 ~ none ~ true", "a1NoneTrue"},
                 {"'a' ~ 'b' * 2", "abb"},
                 {"1 ~ 2 + (3 ~ 4)", "1234"},
                 {"1 < 2 < 3", "True"},
                 {"3 > 2 > 2", "False"},
                 {"not 1 == 2", "True"},
                 {"'x' in d and 'q' not in d", "True"},
                 {"a if f", ""},
                 {"'a' if f else 'b' if f else 'c'", "c"},
                 {"'' or 'x'", "x"},
                 {"-1|abs", "1"},
                 {"l|length > 2", "True"},
                 {"1, 2", "(1, 2)"},
                 {"{1: 'a', 1.0: 'b', true: 'c'}", "{1: 'c'}"}});
}

TEST(Jinja, PrintsValuesAsPythonDoes) {
  expect_values({{R"([1, 'a', none, true, 1.5, {'k': [()]}, (1,)])", "[1, 'a', None, True, 1.5, {'k': [()]}, (1,)]"},
                 {R"(["it's", '"q"', 'nl\n', '\x00\u00a0é'])", R"(["it's", '"q"', 'nl\n', '\x00\xa0é'])"},
                 {"d.keys()", "dict_keys(['x', 'Y', 'z'])"},
                 {"range(5)[1:3]", "range(1, 3)"},
                 {"namespace(a=1)", "<Namespace {'a': 1}>"},
                 {"123456789.123", "123456789.123"}});
}

TEST(Jinja, ItemsAttributesAndSlices) {
  expect_values({{"l[-1]", "2"},
                 {"l[5]", ""},
                 {"l[::-1]", "[2, 1, 3]"},
                 {"s[-5:]", "World"},
                 {"u[::-1]", "ΣΑ ßÖä"},
                 {"d.z.k", "v"},
                 {"d['x']", "1"},
                 {"nested.1.1.0", "4"},
                 {"d.get('q', 5)", "5"},
                 {"d.update", ""},
                 {"s.__class__", ""},
                 {"'abc'[-100:2]", "ab"},
                 {"(msgs|groupby('role'))[0].grouper", "assistant"}});
}

TEST(Jinja, MethodsOfStrings) {
  expect_values({{"s.split('o', 1)", "['Hell', ' World']"},
                 {"' a b c '.split(none, 1)", "['a', 'b c ']"},
                 {"' a b c '.rsplit(none, 1)", "[' a b', 'c']"},
                 {"s.partition('o')", "('Hell', 'o', ' World')"},
                 {"s.replace('', '-')", "-H-e-l-l-o- -W-o-r-l-d-"},
                 {"s.center(21, '*')", "*****Hello World*****"},
                 {"'-42'.zfill(5)", "-0042"},
                 {"u.upper()", "ÄÖSS ΑΣ"},
                 {"u.lower()", "äöß ας"},
                 {"u.title()", "Äöß Ας"},
                 {"s.startswith(('x', 'He'))", "True"},
                 {"'a\\nb\\r\\nc\\n'.splitlines()", "['a', 'b', 'c']"},
                 {"'{:>5}|{:<5}|{:^5}|{!r}'.format(1, 2, 3, 'x')", "    1|2    |  3  |'x'"},
                 {"'{:.2f} {:,} {:#x} {:%}'.format(3.14159, 1234567, 255, 0.25)", "3.14 1,234,567 0xff 25.000000%"},
                 {"'%5.2f|%-5s|%05d|%(x)s' % d", "error: line 1: %f format: a number is required, not dict"},
                 {"'%5.2f|%-5s|%05d' % (3.14159, 'a', 42)", " 3.14|a    |00042"}});
}

TEST(Jinja, Filters) {
  expect_values({{"l|sort|join('-')", "1-2-3"},
                 {"['b', 'A', 'c']|sort", "['A', 'b', 'c']"},
                 {"d|dictsort", "[('x', 1), ('Y', [1, 2]), ('z', {'k': 'v'})]"},
                 {"msgs|map(attribute='role')|map('upper')|join(',')", "USER,ASSISTANT"},
                 {"msgs|selectattr('n', 'defined')|list|length", "1"},
                 {"msgs|rejectattr('role', 'in', ['user'])|map(attribute='role')|join", "assistant"},
                 {"none|map('upper')|list", "[]"},
                 {"'foo-bar (baz) [x'|title", "Foo-Bar (Baz) [X"},
                 {"'42.7'|int", "42"},
                 {"'ff'|int(0, 16)", "255"},
                 {"2.5|round", "2.0"},
                 {"2.567|round(1, 'ceil')", "2.6"},
                 {"1250|round(-2)", "1200"},
                 {"1e-310|round(320)", "1e-310"},
                 {"2.5e-320|round(321)", "2.5e-320"},
                 {"5e-324|round(323)", "0.0"},
                 {"1.7976931348623157e308|round(2)", "1.7976931348623157e+308"},
                 {"'a\\nb\\n\\nc'|indent(2, true)", "  a\n  b\n\n  c"},
                 {"''|default('x', true)", "x"},
                 {"('<a>'|safe) + '<b>'", "<a>&lt;b&gt;"},
                 {"[1, 2, 3, 4, 5]|batch(2, 'x')|list", "[[1, 2], [3, 4], [5, 'x']]"},
                 {"[1, 2, 3, 4, 5]|slice(3, 'x')|list", "[[1, 2], [3, 4], [5, 'x']]"},
                 {"['a', 'A', 'b']|unique|list", "['a', 'b']"},
                 {"'foo bar baz qux'|truncate(9)", "foo..."},
                 {"[[1], [2]]|sum(start=[])", "[1, 2]"}});
}

TEST(Jinja, ToJsonAsHuggingFaceHasIt) {
  expect_values({{"d|tojson", R"({"x": 1, "Y": [1, 2], "z": {"k": "v"}})"},
                 {"d|tojson(separators=(',', ':'), sort_keys=true)", R"({"Y":[1,2],"x":1,"z":{"k":"v"}})"},
                 {"{'a': [1, {}], 'b': []}|tojson(indent=2)", "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"},
                 {"'<ä\\U0001F600\\x01\\x7f>'|tojson", "\"<ä😀\\u0001\x7f>\""},
                 {"'ä\\U0001F600'|tojson(ensure_ascii=true)", R"("\u00e4\ud83d\ude00")"},
                 {"{1: 2, none: 3, true: 4}|tojson", R"({"1": 4, "null": 3})"},
                 {"1e100|tojson", "1e+100"}});
}

TEST(Jinja, Tests) {
  expect_values({{"nope is sequence", "True"},
                 {"d is sequence", "True"},
                 {"5 is iterable", "False"},
                 {"true is integer", "False"},
                 {"true is number", "True"},
                 {"1 is true", "False"},
                 {"9 is divisibleby 3", "True"},
                 {"5 is not in [5]", "False"},
                 {"n is sameas none", "True"},
                 {"'Aa' is upper", "False"},
                 {"range is callable", "True"},
                 {"'upper' is filter", "True"}});
}

TEST(Jinja, WhiteSpaceAroundTags) {
  expect_all({{"a\n  {% if t %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
              {"a  {% if t %}  b  {% endif %}  c", "a    b    c"},
              {"a\n  {%- if t -%}\n  b\n  {%- endif -%}\nc", "abc"},
              {"a\n  {%+ if t +%}\n  b\n  {%+ endif +%}\nc", "a\n  \n  b\n  \nc"},
              {"  {# c #}\nx", "x"},
              {"  {#+ c #}\nx", "  x"},
              {"a {%- raw -%} {{ b }} {%- endraw -%} c", "a{{ b }}c"},
              {"x\r\ny\r{{ 1 }}\r\n", "x\ny\n1"},
              {"{{ 1 }}\n\n", "1\n"}});
}

TEST(Jinja, LoopsAndScopes) {
  expect_all({{"{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% else %}none{% endfor %}",
               "1/2:3 2/2:2 "},
              {"{% for x in l %}{{ loop.previtem }}<{{ loop.nextitem }}{{ loop.cycle('a', 'b') }} {% endfor %}",
               "<1a 3<2b 1<a "},
              {"{% for x in nested recursive %}{{ loop.depth }}[{{ loop(x) if x is iterable else x }}]{% endfor %}",
               "1[2[1]2[2]]1[2[3]2[3[4]]]"},
              {"{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "32"},
              {"{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}", "3"},
              {"{% set x = 1 %}{% for i in l %}{% set x = x + 1 %}{{ x }}{% endfor %}{{ x }}", "2221"},
              {"{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}", "7"},
              {"{% set x | upper %}a{{ 1 }}{% endset %}{{ x }}", "A1"},
              {"{% generation %}{% set x = 1 %}{{ x }}{% endgeneration %}{{ x }}", "1"},
              {"{% set x=5 %}{% with x=1, y=x %}{{ y }}{% endwith %}", "5"},
              {"{% filter replace('a', 'b')|upper %}aa{% endfilter %}", "BB"}});
}

TEST(Jinja, MacrosAndCallers) {
  expect_all(
      {{"{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }}|{{ m(1, c=5) }}|{{ m() }}",
        "121|125|2"},
       {"{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, x=3) }}", "(1, 2){'x': 3}"},
       {"{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) m() %}{{ a }}-{{ b }}{% endcall %}", "1-2"},
       {"{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}", "1"},
       {"{% macro m(x, y) %}{{ x }}{{ y }}{% endmacro %}{{ m(*[1], **{'y': 2}) }}", "12"},
       {"{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}", "error: line 1: macro 'm' takes not more than 1 arguments"}});
}

TEST(Jinja, Functions) {
  expect_all({{"{{ range(5, 0, -2)|list }}", "[5, 3, 1]"},
              {"{{ dict([('a', 1)], b=2) }}", "{'a': 1, 'b': 2}"},
              {"{% set j = joiner('|') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}", "3|1|2"},
              {"{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.current }}", "aba"},
              {"{{ strftime_now('%d %b %Y') }}", "04 Jul 2026"},
              {"\n{{ raise_exception('no tools') }}", "error: line 2: no tools"}});
}

TEST(Jinja, WhatIsUndefinedIsEmptyUntilItIsUsed) {
  expect_values({{"nope", ""},
                 {"nope|length", "0"},
                 {"nope == nope", "True"},
                 {"5 in nope", "False"},
                 {"nope.x", "error: line 1: 'nope' is undefined"},
                 {"d.q.x", "error: line 1: 'dict object' has no attribute 'q'"},
                 {"nope + 'a'", "error: line 1: 'nope' is undefined"},
                 {"nope()", "error: line 1: 'nope' is undefined"},
                 {"l.append(1)", "error: line 1: access to attribute 'append' of 'list' object is unsafe"},
                 {"'a' + 1", "error: line 1: can only concatenate str (not \"int\") to str"},
                 {"9223372036854775807 + 1", "error: line 1: an integer is out of range"},
                 {"1 // 0", "error: line 1: division by zero"}});
}

TEST(Jinja, StrictOnTheUnknown) {
  expect_all({{"a\n{{ 5|bogus }}", "parse error: line 2: no filter named 'bogus'"},
              {"{{ 5 is bogus }}", "parse error: line 1: no test named 'bogus'"},
              {"{% bogus %}", "parse error: line 1: unknown tag 'bogus'"},
              {"{% if f %}{{ 1|bogus }}{% endif %}ok", "ok"},
              {"{{ (1|bogus) if t else 2 }}", "error: line 1: no filter named 'bogus'"},
              {"{% include 'x' %}", "error: line 1: 'include': a chat template has no other templates beside it"},
              {"{% break %}", "parse error: line 1: expected 'break' within a loop, found it outside"},
              {"{{ a! }}", "parse error: line 1: unexpected character '!'"},
              {"{{ (1] }}", "parse error: line 1: unexpected ']'"}});
}

}  // namespace
}  // namespace paceline
