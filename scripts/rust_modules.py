"""Which file of a Rust crate uses which: its modules, their `use` lines and inline paths, and the circles.

An import counts as one of the file that defines the name, through whatever re-exports. Declaring a module,
importing one by name alone and re-exporting what a file does not use itself count as nothing; nor does code
under `#[cfg(test)]`. Names that macros make are taken to be defined where they are looked for. This reads
no more of the language than a tidy crate needs.
"""

import dataclasses
import pathlib
import re

SKIPPED = re.compile(
    r"""//[^\n]* | /\*.*?\*/                              # comments
      | \b[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)           # raw strings
      | [bc]?"(?:\\.|[^"\\])*"                            # strings
      | b?'(?:\\.[^']*|[^\\'\n])'                         # characters, not lifetimes
    """,
    re.VERBOSE | re.DOTALL,
)
CFG_TEST = re.compile(r"#\[cfg\((?:test|all\(\s*test\b[^\]]*)\)\]")
ATTRIBUTE = re.compile(r"\s*#\[[^\]]*\]")
MOD = re.compile(r'(?:#\[path\s*=\s*"([^"]+)"\]\s*)?(?:\bpub(?:\([^)]*\))?\s+)?\bmod\s+(\w+)\s*([;{])')
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
ITEM = re.compile(r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+(?:mut\s+)?(\w+)")
PATH = re.compile(r"(?<![\w:.])\w+(?:\s*::\s*\w+)+")


def code_of(source):
    """The source without comments and literals; the file names in `#[path]` stay."""

    def blank(match):
        before = source[max(0, match.start() - 20) : match.start()]
        keep = re.search(r"#\[path\s*=\s*$", before)
        return match.group() if keep else ("\n" if match.group().startswith("//") else '""')

    return SKIPPED.sub(blank, source)


def close_of(code, opening):
    """The place after the brace that closes the one at `opening`."""
    depth = 0
    for brace in re.finditer(r"[{}]", code[opening:]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return opening + brace.end()
    return len(code)


def without_tests(code):
    """The code without the items that are compiled for tests alone."""
    while found := CFG_TEST.search(code):
        at = found.end()
        while attribute := ATTRIBUTE.match(code, at):
            at = attribute.end()
        end = re.search(r"[;{]", code[at:])
        if end is None:
            return code[: found.start()]
        end = at + end.start()
        end = end + 1 if code[end] == ";" else close_of(code, end)
        code = code[: found.start()] + code[end:]
    return code


def leaves(tree, before=()):
    """The names that a `use` tree imports: (path, name here or None of a glob)."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace >= 0:
        before += tuple(part.strip() for part in tree[:brace].split("::") if part.strip())
        depth, start, inner = 0, 0, tree[brace + 1 : tree.rindex("}")]
        for at, letter in enumerate(inner + ","):
            depth += (letter == "{") - (letter == "}")
            if letter == "," and depth == 0:
                if inner[start:at].strip():
                    yield from leaves(inner[start:at], before)
                start = at + 1
        return
    tree, _, alias = tree.partition(" as ")
    path = before + tuple(part.strip() for part in tree.split("::") if part.strip())
    if path[-1] == "*":
        yield path[:-1], None
        return
    if path[-1] == "self" and len(path) > 1:
        path = path[:-1]
    yield path, alias.strip() or path[-1]


@dataclasses.dataclass
class Module:
    """A module: a file, or a part of one between braces."""

    file: pathlib.Path
    parent: "Module | None"
    children: dict = dataclasses.field(default_factory=dict)
    imports: dict = dataclasses.field(default_factory=dict)
    public: set = dataclasses.field(default_factory=set)
    globs: list = dataclasses.field(default_factory=list)
    items: set = dataclasses.field(default_factory=set)
    code: str = ""


def read(file, folder, parent=None, code=None):
    """The module in `file`, and below it those that it declares, whose files are in `folder`."""
    module = Module(file, parent)
    if code is None:
        code = without_tests(code_of(file.read_text()))
    while found := MOD.search(code):
        path, name, opens = found.groups()
        below = folder / name
        if opens == "{":
            end = close_of(code, found.end() - 1)
            child = read(file, below, module, code[found.end() : end - 1])
        else:
            end = found.end()
            places = [file.parent / path] if path else [folder / f"{name}.rs", below / "mod.rs"]
            there = [place for place in places if place.exists()]
            child = read(there[0], below, module) if there else None
        if child:
            module.children.setdefault(name, []).append(child)
        code = code[: found.start()] + code[end:]
    for visibility, tree in USE.findall(code):
        for path, name in leaves(tree):
            if name is None:
                module.globs.append(path)
            else:
                module.imports[name] = path
                if visibility:
                    module.public.add(name)
    module.code = USE.sub("", code)
    module.items = set(ITEM.findall(module.code))
    return module


def find(module, names, seen):
    """Files that define what `names` lead to from `module` on, None if they lead out of the crate."""
    if not names:
        return set()
    name, rest = names[0], names[1:]
    if name == "self":
        return find(module, rest, seen)
    if name == "super":
        return find(module.parent or module, rest, seen)
    # A path that ends in a name of a module and of an item means the item.
    item = not rest and (name in module.imports or name in module.items)
    if name in module.children and not item:
        return set().union(*(find(child, rest, seen) or set() for child in module.children[name]))
    if (id(module), name) in seen:
        return None
    seen = seen | {(id(module), name)}
    if name in module.imports:
        return resolve(module, module.imports[name] + rest, seen)
    if name in module.items:
        return {module.file}
    for glob in module.globs:
        files = resolve(module, glob + names, seen, certain=True)
        if files:
            return files
    return None


def resolve(module, path, seen=frozenset(), certain=False):
    """Files that define what `path` means in `module`; none for a module or another crate's name."""
    head, within = path[0], module
    if head == "crate":
        while within.parent:
            within = within.parent
        path = path[1:]
    files = find(within, path, seen)
    if files is None and head in ("crate", "self", "super") and not certain:
        # Made by a macro: in the last module that the path names.
        while path and (path[0] in ("self", "super") or path[0] in within.children):
            name, path = path[0], path[1:]
            if name == "super":
                within = within.parent or within
            elif name != "self":
                within = within.children[name][0]
        return {within.file}
    return files or set()


def uses_of(module, uses):
    """Adds to `uses` which file uses which, and by what names: {(file, file): {path}}."""

    def add(path):
        for file in resolve(module, path):
            if file != module.file:
                uses.setdefault((module.file, file), set()).add("::".join(path))

    for name, path in module.imports.items():
        if name not in module.public or re.search(rf"\b{name}\b", module.code):
            add(path)
    for path in PATH.findall(module.code):
        add(tuple(part.strip() for part in path.split("::")))
    for children in module.children.values():
        for child in children:
            uses_of(child, uses)
    return uses


def circles(uses):
    """The sets of files each of which leads to all others of its set."""
    onward = {}
    for one, other in uses:
        onward.setdefault(one, set()).add(other)

    def reached(start):
        found, waiting = set(), [start]
        while waiting:
            for file in onward.get(waiting.pop(), ()):
                if file not in found:
                    found.add(file)
                    waiting.append(file)
        return found

    reach = {file: reached(file) for file in onward}
    found = []
    for file in sorted(onward):
        if file in reach[file] and not any(file in circle for circle in found):
            found.append(sorted(other for other in reach[file] if file in reach.get(other, ())))
    return found


def circles_of_modules(uses, src):
    """The sets of modules side by side each of which leads to all others of its set, all their files taken together. What a
    folder re-exports makes such a circle where no file uses another both ways."""
    found = []
    for folder in sorted({place for pair in uses for file in pair for place in file.parents if src in (place, *place.parents)}):
        between = {}
        for pair in uses:
            if all(folder in file.parents for file in pair):
                one, other = (folder / file.relative_to(folder).parts[0].removesuffix(".rs") for file in pair)
                if one != other and not {one.name, other.name} & {"lib", "main", "mod"}:
                    between[one, other] = True
        # Of files alone: a circle of files.
        found += [circle for circle in circles(between) if any(module.is_dir() for module in circle)]
    return found


def uses_in(crate):
    """Which file of a crate's src/ uses which."""
    uses = {}
    for root in ("lib.rs", "main.rs"):
        file = crate / "src" / root
        if file.exists():
            uses_of(read(file, crate / "src"), uses)
    return uses
