// Templates that mean harm: each ends with an error, soon, and takes nothing with it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "jinja/template.h"

namespace paceline {
namespace {

std::string repeated(const std::string& part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += part;
  return text;
}

bool is_refused(const std::string& source, const jinja::Limits& limits = {.steps = 300'000, .bytes = 32 << 20}) {
  const auto parsed = jinja::Template::parse(source);
  if (!parsed.ok()) return !parsed.error().message.empty();
  jinja::RenderOptions options;
  options.limits = limits;
  const auto rendered = parsed->render({}, options);
  return !rendered.ok() && !rendered.error().message.empty();
}

TEST(JinjaHostile, NestedTooDeepToRead) {
  for (const char* part :
       {"(", "[", "{1:", "not ", "-", "a if ", "f(", "x[", "'a' ~ (", "(1 if 1 else ", "x is eq ("}) {
    EXPECT_TRUE(is_refused("{{ " + repeated(part, 50'000))) << part;
  }
  for (const char* part : {".a", "[0]", "|upper", "()", "+1", " and 1", "**2", " is defined"}) {
    EXPECT_TRUE(is_refused("{{ a" + repeated(part, 50'000) + " }}")) << part;
  }
  for (const char* part : {"{% if 1 %}", "{% for x in y %}", "{% set x %}", "{% macro m() %}", "{% filter upper %}",
                           "{% with %}", "{% generation %}"}) {
    EXPECT_TRUE(is_refused(repeated(part, 50'000))) << part;
  }
  EXPECT_TRUE(is_refused("{% set " + repeated("(", 50'000) + "a"));
}

TEST(JinjaHostile, LongChainsAreNoNesting) {
  const auto parsed = jinja::Template::parse("{{ 1" + repeated(" ~ 1", 20'000) + " }}{% if 0 %}" +
                                             repeated("{% elif 0 %}", 5'000) + "{% endif %}");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto rendered = parsed->render({});
  ASSERT_TRUE(rendered.ok()) << rendered.error().message;
  EXPECT_EQ(rendered->text, repeated("1", 20'001));
}

TEST(JinjaHostile, WhatDoesNotEnd) {
  for (const char* source :
       {"{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% macro m(c) %}{% call m(1) %}{% endcall %}{{ caller }}{% endmacro %}{{ m(1) }}",
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{% for a in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}", "{{ 'abc'|map(*(['map'] * 100000))|list }}",
        "{{ range(100000)|list|sort|sort|sort|sort|sort|sort }}"}) {
    EXPECT_TRUE(is_refused(source)) << source;
  }
}

TEST(JinjaHostile, WhatGrows) {
  const std::string forty = "{% for i in range(60) %}";
  for (const char* source :
       {"{% set ns.x = ns.x ~ ns.x %}", "{% set ns.x = ns.x + ns.x %}", "{% set ns.x = ns.x * 9 %}",
        "{% set ns.x = ns.x|replace('a', ns.x) %}", "{% set ns.x = ns.x.join(ns.x) %}",
        "{% set ns.x = '%s%s' % (ns.x, ns.x) %}", "{% set ns.x = '{0}{0}'.format(ns.x) %}",
        "{% set ns.x %}{{ ns.x }}{{ ns.x }}{% endset %}", "{% set ns.x = ns.x|e ~ '<<<<' ~ ns.x %}"}) {
    EXPECT_TRUE(is_refused("{% set ns = namespace(x='aaaa') %}" + forty + source + "{% endfor %}")) << source;
  }
  EXPECT_TRUE(is_refused("{% set ns = namespace(x=[1]) %}" + forty + "{% set ns.x = ns.x + ns.x %}{% endfor %}"));
  EXPECT_TRUE(is_refused("{% set x = 'a' * 1000000 %}{% for i in range(1000) %}{{ x }}{% endfor %}"));
  for (const char* source :
       {"'a' * 10**12", "[1] * 10**12", "[] * 10**18 + [1] * 10**18", "'a'.center(10**12)", "'a'.zfill(10**12)",
        "'a'|indent(10**12)", "'%1000000000d' % 1", "'{:1000000000}'.format(1)", "'{:.1000000000f}'.format(1.5)",
        "[1]|batch(10**12, 'x')|list", "[1]|slice(10**12)|list", "range(10**12)", "[[1]]|tojson(indent=10**12)",
        "10**19", "2**64", "strftime_now('%999999999d')"}) {
    EXPECT_TRUE(is_refused(std::string("{{ ") + source + " }}")) << source;
  }
}

// Small to write, immense to go through: each level holds the one below twice.
TEST(JinjaHostile, SharedValues) {
  const std::string twice =
      "{% set ns = namespace(x=[1], y=[1]) %}{% for i in range(80) %}"
      "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}{% endfor %}";
  for (const char* use : {"{{ ns.x }}", "{{ ns.x == ns.y }}", "{{ ns.x|tojson }}", "{{ ns.x < ns.y }}"}) {
    EXPECT_TRUE(is_refused(twice + use)) << use;
  }
  EXPECT_TRUE(is_refused("{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = [ns.x] %}{% endfor %}"));
  EXPECT_TRUE(
      is_refused("{% set ns = namespace(x=1) %}{% for i in range(9999) %}{% set ns.x = {1: ns.x} %}{% endfor %}"));
  EXPECT_TRUE(is_refused("{% set ns = namespace() %}{% set ns.x = [ns] %}{{ ns }}"));
}

std::string text_of(const std::string& source, const jinja::Limits& limits) {
  const auto parsed = jinja::Template::parse(source);
  if (!parsed.ok()) return parsed.error().message;
  jinja::RenderOptions options;
  options.limits = limits;
  const auto rendered = parsed->render({}, options);
  return rendered.ok() ? rendered->text : rendered.error().message;
}

// Slices share their list: a hundred thousand of them cost neither the steps nor the bytes of copies.
TEST(JinjaHostile, SlicesAreNoCopies) {
  const jinja::Limits limits{.steps = 2'000'000, .bytes = 64 << 20};
  const std::string list = "{% set x = range(50000)|list %}{% set ns = namespace(n=0) %}{% for i in range(50000) %}";
  EXPECT_EQ(text_of(list + "{% set ns.n = ns.n + x[i:][0] - x[1:][i:][:1]|length %}{% endfor %}{{ ns.n }}", limits),
            "1249925001");
  EXPECT_EQ(text_of("{% set x = [1, 2, 3, 4][1:] %}{{ x }}{{ x[1:] == [3, 4] }}{{ x[::2] }}{{ x + x[:1] }}"
                    "{{ x[5:] }}{{ (1, 2, 3)[1:] }}{{ x[1:]|tojson }}{{ 3 in x[:1] }}{{ x[-1:]|first }}",
                    limits),
            "[2, 3, 4]True[2, 4][2, 3, 4, 2][](2, 3)[3, 4]False4");
}

// A loop ends early only where nobody can tell.
TEST(JinjaHostile, RoundsThatAreLeftOut) {
  const jinja::Limits limits{.steps = 10'000};
  const std::string ns = "{% set ns = namespace(n=0, on=false) %}";
  EXPECT_EQ(text_of("{% for a in range(90000) %}{% if false %}x{% endif %}{% else %}none{% endfor %}.", limits), ".");
  EXPECT_EQ(text_of(ns + "{% for a in range(9) %}{% if ns.on %}{% elif a == 4 %}{% set ns.on = true %}{% endif %}"
                         "{% endfor %}{{ ns.on }}",
                    limits),
            "True");
  EXPECT_EQ(text_of(ns + "{% for a in range(9) %}{% if loop.last %}{% set ns.n = 7 %}{% endif %}{% endfor %}{{ ns.n }}",
                    limits),
            "7");
  EXPECT_EQ(text_of("{% set c = cycler(false, false, true) %}{% for a in range(3) %}{% if c.next() %}{{ a }}{% endif %}"
                    "{% endfor %}",
                    limits),
            "2");
  EXPECT_EQ(text_of("{% set it = [0, 0, 5]|map('int') %}{% for a in range(3) %}{% if it|first == 5 %}!{% endif %}"
                    "{% endfor %}",
                    limits),
            "!");
  EXPECT_EQ(
      text_of("{% set it = [5, 6, 5, 7]|map('int') %}{% for a in range(3) %}{% if 7 in it %}!{% endif %}{% endfor %}",
              limits),
      "!");
  EXPECT_EQ(text_of("{% for a, b in [[1, 2], [3]] %}{% endfor %}", limits),
            "line 1: expected 2 values to unpack, found 1");
  EXPECT_EQ(text_of("{% for a in [1, 2, 3] %}{% for b in [4, 5] %}{% if b == 5 %}{{ a }}{% endif %}{% endfor %}"
                    "{% endfor %}",
                    limits),
            "123");
}

// What one step does is bounded, whatever the texts and keys are: else these would take minutes.
TEST(JinjaHostile, WhatCostsByLengthIsChargedByLength) {
  const jinja::Limits limits{.steps = 3'000'000, .bytes = 256 << 20};
  const std::string text = "{% set t = 'abcdefghijklmnopqrstuvwxyz' * 40000 %}";
  const std::string rounds = "{% for i in range(99999) %}";
  for (const char* use :
       {"{% if t.islower() %}{% endif %}", "{% if t|length == i %}{% endif %}", "{% if t.find('zz') == i %}{% endif %}",
        "{% if 'zz' in t %}{% endif %}", "{% if t|truncate(9999999) == i %}{% endif %}",
        "{% if t[i] == i %}{% endif %}", "{% if t|int == i %}{% endif %}", "{% if t|tojson == i %}{% endif %}"}) {
    EXPECT_TRUE(is_refused(text + rounds + use + "{% endfor %}", limits)) << use;
  }
  // Numbers and tuples as keys are found as texts are.
  EXPECT_EQ(text_of("{% set d = dict(range(20000)|batch(1)|map('batch', 2, 0)|map('first')|list) %}{{ d|length }}"
                    "{{ d[19999] }}{{ d[7.0] }}{{ 20000 in d }}",
                    limits),
            "2000000False");
  EXPECT_EQ(text_of("{% set d = {1: 'a', true: 'b', 1.0: 'c', (1, 'x'): 'd', none: 'e', '1': 'f'} %}{{ d }}"
                    "{{ d[(1, 'x')] }}{{ d[true] }}{{ d.get((1,)) }}",
                    limits),
            "{1: 'c', (1, 'x'): 'd', None: 'e', '1': 'f'}dcNone");
  // Split from the right at something long.
  EXPECT_EQ(text_of("{% set s = 'abcdefghijklmnopqrstuvw' %}{% set p = (s * 9000).rsplit(s) %}{{ p|length }}"
                    "{{ ('1' ~ s ~ '2' ~ s ~ '3').rsplit(s, 1)|join('|') }}",
                    limits),
            "90011abcdefghijklmnopqrstuvw2|3");
}

// Nothing is left behind: the sanitizers say so.
TEST(JinjaHostile, ValuesThatHoldThemselves) {
  for (const char* source : {"{% set ns = namespace() %}{% set ns.x = [ns, {'a': ns}] %}",
                             "{% set ns = namespace() %}{% macro m() %}{{ ns }}{% endmacro %}{% set ns.m = m %}",
                             "{% set ns = namespace() %}{% for x in [1] %}{% with %}{% macro m() %}{% endmacro %}"
                             "{% set ns.m = m %}{% endwith %}{% set y = ns.m %}{% endfor %}",
                             "{% for x in [1] %}{% set y = loop %}{{ loop.changed(loop) }}{% endfor %}",
                             "{% set ns = namespace() %}{% for x in [1, 2] %}{% set prev = ns.m %}"
                             "{% macro f() %}{{ prev }}{% endmacro %}{% set ns.m = f %}{% endfor %}"}) {
    EXPECT_FALSE(is_refused(source)) << source;
  }
}

TEST(JinjaHostile, CutShort) {
  const std::string whole =
      "{%- macro m(a, b='x') -%}{# c #}{{ a['k'][1:2] | join(\", \") }}{% raw %}{{{% endraw %}"
      "{%- endmacro -%}{% for x, y in {'a': (1, 2.5)}.items() if x is not none %}{{ m(x) }}{% endfor %}";
  ASSERT_TRUE(jinja::Template::parse(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    const auto parsed = jinja::Template::parse(whole.substr(0, size));
    if (parsed.ok()) (void)parsed->render({});
  }
  for (const char* source : {"{{", "{%", "{#", "{{ 'a", "{% raw %}a", "{% if 1 %}", "{{ 1 }", "{% set x %}",
                             "\xFF{{ 1 }}", "{{ '\\ud800' }}", "{{ '\\xZZ' }}", "{{ 99999999999999999999 }}"}) {
    EXPECT_TRUE(is_refused(source)) << source;
  }
}

}  // namespace
}  // namespace paceline
