"""The floors of docs/architecture.md, read from the imports themselves (those inside functions count too)."""

import ast
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("hsmdc", "kernels", "calibration", "validation")
LONGEST_MODULE = 600

# A package's floor holds for its modules unless they are named themselves.
FLOORS = {
    0: "hsmdc hsmdc.errors hsmdc.timespan hsmdc.seeds hsmdc.schema hsmdc.config hsmdc.kernels",
    1: "hsmdc.span hsmdc.laws hsmdc.jobs hsmdc.profiles hsmdc.weather hsmdc.nodes hsmdc.tracefile hsmdc.traces",
    2: """hsmdc.facility hsmdc.transient hsmdc.validation.metrics hsmdc.validation.series hsmdc.validation.marginal
        hsmdc.validation.ramps hsmdc.validation.spectrum hsmdc.validation.temporal hsmdc.validation.queueing
        hsmdc.validation.levels hsmdc.validation.grid""",
    3: "hsmdc.calibration.occupancy hsmdc.calibration.fluid hsmdc.validation hsmdc.dispatch hsmdc.export",
    4: """hsmdc.simulation hsmdc.montecarlo hsmdc.report hsmdc.report_parts hsmdc.report_words
        hsmdc.calibration""",
    5: "hsmdc.cli",
}
FLOOR = {name: floor for floor, names in FLOORS.items() for name in names.split()}


def sources() -> dict[str, Path]:
    """Every module of the package by its name, from the real folders (not through the links)."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            if parts[0] == "hsmdc" and parts[1] in FOLDERS:
                continue
            inside = parts if folder == "hsmdc" else ("hsmdc", *parts)
            found[".".join(inside).removesuffix(".__init__")] = path
    return found


SOURCES = sources()


def imports(name: str) -> set[str]:
    """What a module imports when it runs, at its top or inside its functions."""
    package = name if SOURCES[name].name == "__init__.py" else name.rpartition(".")[0]
    return {
        target
        for node in _running(ast.parse(SOURCES[name].read_text("utf-8")))
        for target in _targets(node, package)
    }


def _running(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _running(child)


def _targets(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in SOURCES else base


GRAPH = {name: {target for target in imports(name) if target in SOURCES} for name in SOURCES}


def floor_of(name: str) -> int:
    while name not in FLOOR:
        name = name.rpartition(".")[0]
        assert name != "hsmdc", "a module of hsmdc/ itself needs a line in FLOORS and in docs/architecture.md"
    return FLOOR[name]


@pytest.mark.parametrize("name", SOURCES)
def test_a_file_imports_only_from_lower_floors_or_its_own_folder(name: str) -> None:
    def allowed(target: str) -> bool:
        if target == "hsmdc.errors":
            return True
        same_folder = SOURCES[target].parent == SOURCES[name].parent
        return floor_of(target) < floor_of(name) or (same_folder and floor_of(target) == floor_of(name))

    assert [target for target in sorted(GRAPH[name]) if not allowed(target)] == []


def test_no_imports_run_in_a_circle() -> None:
    try:
        TopologicalSorter(GRAPH).prepare()
    except CycleError as error:
        pytest.fail("circle of imports: " + " ← ".join(error.args[1]))


@pytest.mark.parametrize("name", [name for name in SOURCES if name.startswith("hsmdc.kernels.")])
def test_kernels_import_numbers_and_nothing_else(name: str) -> None:
    allowed = {"math", "numpy", "numba", "typing"}
    if name == "hsmdc.kernels.jit":  # owns the compile options and the cache folder
        allowed |= sys.stdlib_module_names
    others = {target for target in imports(name) if not target.startswith("hsmdc.kernels.")}
    assert {target.partition(".")[0] for target in others} <= allowed


@pytest.mark.parametrize("name", [name for name in SOURCES if name.startswith("hsmdc.cli.")])
def test_command_files_import_only_typer_at_the_top(name: str) -> None:
    tree = ast.parse(SOURCES[name].read_text("utf-8"))
    tops = {target for node in tree.body for target in _targets(node, "hsmdc.cli")}
    ours = {target for target in tops if target.startswith("hsmdc.")}
    assert all(target.startswith("hsmdc.cli") for target in ours)
    assert {target.partition(".")[0] for target in tops - ours} <= {"typer", *sys.stdlib_module_names}


@pytest.mark.parametrize("name", SOURCES)
def test_modules_stay_short(name: str) -> None:
    assert len(SOURCES[name].read_text("utf-8").splitlines()) <= LONGEST_MODULE


def test_no_public_name_is_hidden_by_a_module_of_that_name() -> None:
    # Once hsmdc.x is imported as a module, the attribute hsmdc.x is the module, not the function x.
    import hsmdc

    assert [name for name in hsmdc.__all__ if f"hsmdc.{name}" in SOURCES] == []


def test_the_document_names_every_module_of_the_floors() -> None:
    table = (ROOT / "docs" / "architecture.md").read_text("utf-8").split("## Data flow")[0]
    documented = _documented(table)
    assert {name: documented.get(name) for name in FLOOR if name != "hsmdc"} == {
        name: floor for name, floor in FLOOR.items() if name != "hsmdc"
    }


def _documented(table: str) -> dict[str, int]:
    """Floor of every module or folder that the document's table names as code."""
    found = {}
    for line in table.splitlines():
        cells = line.split("|")
        if len(cells) < 3 or not cells[1].strip().isdigit():
            continue
        for code in cells[2].split("`")[1::2]:
            for path in _expanded(code.removesuffix("/").removesuffix(".py")):
                name = path.replace("/", ".")
                found[name if name.startswith("hsmdc") else f"hsmdc.{name}"] = int(cells[1])
    return found


def _expanded(path: str) -> list[str]:
    """`a/{b,c}` as `a/b` and `a/c`."""
    head, brace, rest = path.partition("{")
    if not brace:
        return [path]
    inner, _, tail = rest.partition("}")
    return [head + name.strip() + tail for name in inner.split(",")]
