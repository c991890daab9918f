"""What a script certainly calls."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reel.touches.scripts import Called, called

RUN = 'await tools.run({a: "x"})'
RAN = [Called("run", {"a": "x"})]


@pytest.mark.parametrize(
    "script",
    [
        RUN,
        f"const r = {RUN}; text(r.output);",
        f"text({RUN})",
        f"// a comment; it's one\n/* another ** */ {RUN}",
        f"{RUN};\nif (failed) {{ await tools.other({{}}); }}",
        f"{RUN} || await tools.other({{}});",
        "const a = 'x';\nawait tools.run({a})",
        "const b = `x`; const all = await Promise.all([tools.run({a: b})]);",
        "const all = await Promise.all([tools.run({a: 'x'})]); text(all.join(c))",
        "const a = 'x'; o.a = 1; await tools.run({a})",
        'await tools.run({"a": "" + "x"})',
        "await tools.run({a: ['x'].join(',')})",
        "await tools.run({a: String.raw`x`,})",
        "await tools.run(choose(1)); " + RUN,
    ],
)
def test_what_is_certain(script: str) -> None:
    """A call counts whose argument is plain, and before which nothing branches."""
    assert RAN == called(script)


@pytest.mark.parametrize(
    "script",
    [
        f"if (x) {RUN}",
        f"x && {RUN}",
        f"x ? {RUN} : 0",
        f"for (const x of y) {{ {RUN} }}",
        f"const f = async () => {RUN};",
        f"const f = (x) => {RUN};",
        f"function f() {{ {RUN} }}",
        f"const o = {{ f() {{ {RUN} }} }};",
        f"exit(); {RUN}",
        f"try {{ {RUN} }} catch {{}}",
        f"tools = other; {RUN}",
        f"tools.run = other; {RUN}",
        f"const {{run}} = tools; {RUN}",
        f"x = /a/.test(await b); {RUN}",
        'tools.run({a: "x"})',  # the script may end before it
        f"{RUN}.catch(text)",
        "[await Promise.allSettled([tools.run({a: 'x'})])]",
        "await Promise.all([x(tools.run({a: 'x'}))])",
        "await Promise.all([tools.run({a: 'x'})]).catch(e)",
        "await Promise.all([[tools.run({a: 'x'})], b]).catch(e)",
        "const a = 'y'; { const a = 'x'; } await tools.run({a})",
        "const a = 'x'; { let a = 'y'; await tools.run({a}); }",
        "const a = 'x'; { let a; await tools.run({a}); }",
        "const a = 'x'; { const {a} = b; await tools.run({a}); }",
        "const a = 'x'; a = b; await tools.run({a: c})",
        "let a = 'x'; a = 'y'; await tools.run({a})",
        "const a = 'x' + y; await tools.run({a})",
        "const a = 'x'.trim(); await tools.run({a})",
        "const a = ['x']; a[0] = 'y'; await tools.run({a})",
        "const o = {a: 'x'}; await tools.run(o)",
        "await tools.run({a: `${x}`})",
        "await tools.run({...o})",
        "await tools.run({a: 'x'}, y)",
        "await tools.run({a: [1].join(',')})",
        "await tools.run({a: 'x' + 1})",
        "await tools.run({a: " + "[" * 99 + "]" * 99 + "})",
        "await tools.run({a: 'x'",
        "await tools.run({[a]: 'x'})",
        "await tools['run']({a: 'x'})",
        "'" + RUN + "'",
    ],
)
def test_what_is_not_certain(script: str) -> None:
    """What may not be carried out, or with something else, is passed over."""
    assert [] == called(script)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (r"'a\'b\n\x41\u0042\u{1f600}'", "a'b\nAB\U0001f600"),
        (r'"\ud83d\ude00 \ud83d"', "\U0001f600 \ufffd"),
        (r'"\u{110000}"', "\ufffd"),
        ("`two\nlines \\` $5`", "two\nlines ` $5"),
        (r"String.raw`\n`", r"\n"),
        ("'a\\\nb'", "ab"),
        ("[1_000, -2.5, true, null]", [1000, -2.5, True, None]),
        ("{a: {'b c': []}}", {"a": {"b c": []}}),
    ],
)
def test_literals(written: str, expected: Any) -> None:
    """A literal stands for what JavaScript takes it for."""
    assert [Called("run", expected)] == called(f"await tools.run({written})")


NAMES = ("await", "tools", "run", "a", "const", "Promise", "all", "join", "String", "raw", "if")
SIGNS = (*'.(){}[]:,`=+;$7"\\ \n', "'x'", "//", "=>")


@given(st.lists(st.sampled_from((*NAMES, *SIGNS)), max_size=40).map("".join))
def test_any_script(script: str) -> None:
    """Nothing raises, whatever a model writes."""
    assert all(isinstance(each, Called) for each in called(script))
