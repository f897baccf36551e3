# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy over the project's .cpp files, several at once.

Needs a finished build. A file that passed is not checked again, in this clone
or another, until it, a header that it includes, or .clang-tidy changes: stamps
of what passed lie in the user's cache folder.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CLANG_TIDY = "clang-tidy-22"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "shoal-tidy"
NOISE = ("warning generated", "warnings generated", "warnings treated", "Suppressed")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def commit_of(name):
    """Nothing where a checkout has no such branch."""
    command = ("git", "-C", ROOT, "rev-parse", "--verify", "--quiet", name)
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()


def changed_since(base):
    """Files that differ from a commit; the default is main, or the one before the last."""
    if not base:
        main, head = commit_of("main"), commit_of("HEAD")
        base = "main" if main and main != head else "HEAD~1"
    names = output_of("git", "-C", ROOT, "diff", "--name-only", base)
    return {ROOT / name for name in names.splitlines()}


def sources_of(entry):
    """The source of an entry of the compile database, or those of the batch that it compiles."""
    file = Path(entry["file"])
    if file.parent.name != "Unity":
        return [file]
    return [Path(name) for name in re.findall(r'^#include "(.*)"', file.read_text(), re.MULTILINE)]


def compiled_sources(build):
    """{source: object file} of lib/, tools/ and python/; writes a compile database of these alone,
    in which each source has a command of its own, to build/tidy."""
    database = build / "compile_commands.json"
    if not database.exists():
        sys.exit(f"error: {database} is missing: build first")
    places = (ROOT / "lib", ROOT / "tools", ROOT / "python")
    objects, commands = {}, []
    for entry in json.loads(database.read_text()):
        for source in sources_of(entry):
            if any(place in source.parents for place in places):
                objects[source] = re.search(r" -o (\S+)", entry["command"])[1]
                command = entry["command"].replace(entry["file"], str(source))
                commands.append({**entry, "file": str(source), "command": command})
    (build / "tidy").mkdir(exist_ok=True)
    (build / "tidy" / "compile_commands.json").write_text(json.dumps(commands))
    return objects


def own_headers(build):
    """{object file: headers of this project and build}, as ninja recorded them."""
    headers, current = {}, None
    for line in output_of("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line.startswith(" "):
            current = headers.setdefault(line.split(":")[0], [])
        elif line.strip():
            path = Path(os.path.normpath(build / line.strip()))
            # Other sources of a batch are none of its headers.
            if ROOT in path.parents and path.suffix not in (".pch", ".cpp", ".cxx"):
                current.append(path)
    return headers


def stamp_of(source, headers, version):
    digest = hashlib.sha256(version.encode())
    for path in (ROOT / ".clang-tidy", source, *sorted(headers)):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return CACHE / digest.hexdigest()


def check(source, stamp, build):
    """The warnings about one file; empty where it is well."""
    if stamp.exists():
        return ""
    command = [CLANG_TIDY, "--quiet", "-p", str(build / "tidy"), str(source)]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode == 0:
        stamp.touch()
        return ""
    lines = (ended.stdout + ended.stderr).replace(f"{ROOT}/", "").splitlines()
    kept = [line for line in lines if not any(noise in line for noise in NOISE)]
    return "\n".join(kept) or f"{source}: clang-tidy exits {ended.returncode}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--changed", nargs="?", const="", metavar="BASE")
    options = parser.parse_args()
    build = options.build.resolve()

    objects = compiled_sources(build)
    sources = sorted(objects)
    if options.changed is not None:
        changed = changed_since(options.changed)
        sources = [source for source in sources if source in changed]
    headers = own_headers(build)
    version = output_of(CLANG_TIDY, "--version")
    CACHE.mkdir(parents=True, exist_ok=True)

    def check_one(source):
        stamp = stamp_of(source, headers.get(objects[source], ()), version)
        return check(source, stamp, build)

    with ThreadPoolExecutor(options.jobs) as pool:
        complaints = [text for text in pool.map(check_one, sources) if text]
    for text in complaints:
        print(text)
    print(f"check-tidy: {len(sources)} files, {len(complaints)} with warnings")
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
