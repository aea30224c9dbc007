#!/usr/bin/env python3
"""Do the tests notice a wrong sign? Mutants of the numerical crates, and which of them the tests kill.

    python3 tools/mutants.py [--count 100] [--seed 1] [--work DIR] [--json OUT]
    python3 tools/mutants.py --again OUT [--work DIR] [--json OUT2]      # what survived that run, once more

Checks the last commit out to DIR, draws places in the sources of dermis-solve, dermis-fit, dermis-deform and
dermis-compile by seed, an equal number from each crate, and writes every mutant beside the original:

    if crate::mutant::on(17) { b - a } else { a - b }

One build holds all mutants. The tests of the mutant's own crate then run, and if they all pass those of the other crates and of
dermis-workflow, with the mutant switched on by an environment variable, until the first fails or --seconds pass (a hang counts as
killed). A run without a mutant comes first and must pass. Needs cargo-nextest.

Mutations: swapped operands (a - b, a / b), a wrong sign (a + b, a - b), and a bound that is off by one (<, <=, >, >=, + 1, - 1).
Test modules, comments, constants and lines whose mutant does not compile are left out.
"""

import argparse
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

CRATES = ["dermis-solve", "dermis-fit", "dermis-deform", "dermis-compile"]
TESTED = CRATES + ["dermis-workflow"]
PACKAGES = [word for crate in TESTED for word in ("-p", crate)]
VARIABLE = "DERMIS_MUTANT"

SWITCH = '''//! Which mutant is on.

/// Whether the environment names this mutant.
#[inline(never)]
pub(crate) fn on(mutant: u32) -> bool {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("DERMIS_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0)) == mutant
}
'''

# An operand that stands for itself: a name with fields and indices, or a number.
OPERAND = r"(?:[a-z_][\w]*(?:\.[a-z_]\w*|\.\d|\[[\w. +*]+\])*|\d[\d_]*(?:\.\d+)?(?:e-?\d+)?)"
# What may stand before and after, so that parentheses change no order of evaluation.
BEFORE = r"(?P<before>(?:[(\[{,|=]|&&|\|\||\bif|\bwhile|\breturn|=>|\.\.) ?)"
AFTER = r"(?P<after> ?(?:[)\],;}]| \{|&&|\|\||$))"


def rules():
    """(name, pattern, mutant)."""
    binary = lambda sign: re.compile(BEFORE + rf"(?P<a>{OPERAND}) {re.escape(sign)} (?P<b>{OPERAND})" + AFTER)
    return [
        ("swapped operands", binary("-"), "{b} - {a}"),
        ("swapped operands", binary("/"), "{b} / {a}"),
        ("wrong sign", binary("-"), "{a} + {b}"),
        ("wrong sign", binary("+"), "{a} - {b}"),
        ("off by one", binary("<"), "{a} <= {b}"),
        ("off by one", binary("<="), "{a} < {b}"),
        ("off by one", binary(">"), "{a} >= {b}"),
        ("off by one", binary(">="), "{a} > {b}"),
        ("off by one", re.compile(BEFORE + rf"(?P<a>{OPERAND}) \+ (?P<b>1)" + AFTER), "{a} + 2"),
        ("off by one", re.compile(BEFORE + rf"(?P<a>{OPERAND}) - (?P<b>1)" + AFTER), "{a} - 0"),
    ]


def sources(root, crate):
    """Product sources: files that are no test modules."""
    for path in sorted((root / "crates" / crate / "src").rglob("*.rs")):
        if "tests" not in path.parts and path.stem not in ("tests", "lib"):
            yield path


def places(root, crate):
    """(path, line, start, end, rule, original, mutant) of every mutation that the rules find."""
    for path in sources(root, crate):
        for number, line in enumerate(path.read_text().splitlines()):
            if line.strip().startswith("#[cfg(test)]"):
                break
            code = line.split("//")[0]
            if re.match(r"\s*(pub(\(.*\))? )?(const|static|use|#)|.*\b(assert|debug_assert)", code) or '"' in code:
                continue
            for name, pattern, mutant in rules():
                for found in pattern.finditer(code):
                    start, end = found.end("before"), found.start("after")
                    yield path, number, start, end, name, code[start:end], mutant.format(a=found["a"], b=found["b"])


def draw(root, count, generator):
    """An equal number from each crate; one mutation per line."""
    drawn = []
    for crate in CRATES:
        all_places, lines, own = list(places(root, crate)), set(), []
        generator.shuffle(all_places)
        for place in all_places:
            if len(own) == count // len(CRATES):
                break
            if (place[0], place[1]) not in lines:
                lines.add((place[0], place[1]))
                own.append((crate, *place))
        drawn += own
    return drawn


def again(root, rows):
    """The survivors of an earlier run, where they are now: the same mutant of the same file, on the nearest line."""
    drawn = []
    for row in rows:
        if row["killed_by"] is not None:
            continue
        file, line = row["place"].rsplit(":", 1)
        same = (row["rule"], row["original"], row["mutant"])
        found = [place for place in places(root, row["crate"]) if place[0] == root / file and place[4:] == same]
        if found:
            drawn.append((row["crate"], *min(found, key=lambda place: abs(place[1] + 1 - int(line)))))
        else:
            print(f"gone from the sources: {row['place']}: {row['original']} -> {row['mutant']}")
    return drawn


def write(root, drawn):
    """Sources with every mutant beside its original; the rest of the file stays."""
    subprocess.run(["git", "checkout", "-q", "--", "crates"], cwd=root, check=True)
    for crate in CRATES:
        (root / "crates" / crate / "src" / "mutant.rs").write_text(SWITCH)
        lib = root / "crates" / crate / "src" / "lib.rs"
        text = lib.read_text()
        at = re.search(r"^(pub )?mod ", text, re.M).start()
        lib.write_text(text[:at] + "mod mutant;\n" + text[at:])
    for number, (_, path, line, start, end, _, original, mutant) in drawn.items():
        lines = path.read_text().split("\n")
        code = lines[line]
        assert code[start:end] == original, (path, line)
        switched = f"(if crate::mutant::on({number}) {{ {mutant} }} else {{ {original} }})"
        lines[line] = code[:start] + switched + code[end:]
        path.write_text("\n".join(lines))


def cargo(root, *arguments, **options):
    environment = {**os.environ, "CARGO_INCREMENTAL": "0", "RUSTFLAGS": "-Awarnings", **options.pop("env", {})}
    return subprocess.run(["cargo", *arguments], cwd=root, env=environment, capture_output=True, text=True, **options)


def compiling(root, drawn):
    """Drops the mutants that do not compile."""
    while True:
        write(root, drawn)
        checked = cargo(root, "check", "--message-format", "json", *PACKAGES)
        broken = set()
        for line in checked.stdout.splitlines():
            message = json.loads(line).get("message") or {}
            if message.get("level") != "error":
                continue
            for span in message.get("spans", []):
                for number, place in drawn.items():
                    if root / span["file_name"] == place[1] and span["line_start"] <= place[2] + 1 <= span["line_end"]:
                        broken.add(number)
        if not broken:
            if checked.returncode:
                sys.exit(f"the mutants do not compile:\n{checked.stderr[-3000:]}")
            return drawn
        drawn = {number: place for number, place in drawn.items() if number not in broken}


def run(root, mutant, crates, seconds):
    """None if the tests of the crates pass, else the first that fails."""
    # `timeout` ends the tests' own processes as well.
    command = ["timeout", "--kill-after=5", str(seconds), "cargo", "nextest", "run", "--no-tests", "pass", "--max-fail", "1"]
    # Every run names the same packages: another set may have other features, and would be built again.
    chosen = " + ".join(f"package({crate})" for crate in crates)
    environment = {**os.environ, "CARGO_INCREMENTAL": "0", "RUSTFLAGS": "-Awarnings", VARIABLE: str(mutant)}
    ended = subprocess.run([*command, *PACKAGES, "-E", chosen], cwd=root, env=environment, capture_output=True, text=True)
    if ended.returncode == 0:
        return None
    failed = re.search(r"^\s*(?:FAIL|SIGABRT|SIGSEGV|SIGTERM|TIMEOUT)\b.*?\)\s+(?:\(\S+\)\s+)?(.*)$", ended.stderr, re.M)
    return failed[1].strip() if failed else f"ended with {ended.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("target/mutants"))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--again", type=pathlib.Path)
    options = parser.parse_args()
    home = pathlib.Path(__file__).resolve().parent.parent
    root = (home / options.work).resolve()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=home, check=True, capture_output=True, text=True).stdout.strip()
    if not root.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(root)], cwd=home, check=True)
    subprocess.run(["git", "checkout", "-q", "--force", "--detach", head], cwd=root, check=True)
    if options.again:
        kept = compiling(root, dict(enumerate(again(root, json.loads(options.again.read_text())["mutants"]), 1)))
    else:
        # A few more than asked for: some do not compile.
        drawn = draw(root, options.count * 5 // 4, random.Random(options.seed))
        drawn, kept = compiling(root, dict(enumerate(drawn, 1))), {}
        for crate in CRATES:
            own = [number for number, place in drawn.items() if place[0] == crate]
            kept.update({number: drawn[number] for number in own[: options.count // len(CRATES)]})
    write(root, kept)
    failed = run(root, 0, TESTED, 3600)
    if failed:
        sys.exit(f"without a mutant: {failed}")
    rows = []
    for number, (crate, path, line, _, _, rule, original, mutant) in sorted(kept.items()):
        start = time.monotonic()
        others = [other for other in TESTED if other != crate]
        killer = run(root, number, [crate], options.seconds) or run(root, number, others, options.seconds)
        row = {
            "crate": crate,
            "place": f"{path.relative_to(root)}:{line + 1}",
            "rule": rule,
            "original": original,
            "mutant": mutant,
            "killed_by": killer,
            "seconds": round(time.monotonic() - start, 1),
        }
        rows.append(row)
        print(f"{'SURVIVED' if killer is None else 'killed  '} {row['place']}: {original} -> {mutant}  {killer or ''}", flush=True)
        if options.json:
            options.json.write_text(json.dumps({"commit": head, "seed": options.seed, "mutants": rows}, indent=1) + "\n")
    for crate in CRATES:
        own = [row for row in rows if row["crate"] == crate]
        print(f"{crate}: {sum(row['killed_by'] is not None for row in own)} of {len(own)} killed")
    print(f"{sum(row['killed_by'] is not None for row in rows)} of {len(rows)} killed")


if __name__ == "__main__":
    main()
