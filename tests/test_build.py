"""The wheel and the source distribution hold the whole tree, and the folders beside hsmdc/ are one package."""

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MAPPED = ("kernels", "calibration", "validation")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def tree() -> dict[str, Path]:
    """Every file that an install must hold, by its place in the package."""
    found = {}
    for folder in ("hsmdc", *MAPPED):
        inside = Path("hsmdc") if folder == "hsmdc" else Path("hsmdc", folder)
        for path in (ROOT / folder).rglob("*"):
            below = path.relative_to(ROOT / folder)
            through_a_link = folder == "hsmdc" and below.parts[0] in MAPPED
            if path.is_file() and not through_a_link and "__pycache__" not in path.parts:
                found[str(inside / below)] = path
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source")
    tracked = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if tracked.returncode:
        pytest.skip("not a git checkout: the tree to build from is not known")
    for name in tracked.stdout.splitlines():
        copy, original = source / name, ROOT / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if original.is_symlink():
            copy.symlink_to(os.readlink(original))
        elif original.is_file():
            copy.write_bytes(original.read_bytes())
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(source)]
    run = subprocess.run(command, capture_output=True, text=True)
    if "Missing dependencies" in run.stdout + run.stderr:
        pytest.skip("the build back end (setuptools >= 77) is not installed here")
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


@pytest.mark.slow
def test_the_wheel_is_the_tree(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist() if name.startswith("hsmdc/")}
    expected = tree()
    assert sorted(held) == sorted(expected)
    assert [name for name, path in expected.items() if held[name] != path.read_bytes()] == []


@pytest.mark.slow
def test_the_wheel_holds_one_package_its_command_and_its_licences(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry,) = (name for name in names if name.endswith("entry_points.txt"))
        assert "hsmdc = hsmdc.cli:main" in archive.read(entry).decode()
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"hsmdc"}
    licences = {Path(name).name for name in names if "/licenses/" in name}
    assert licences == set(PROJECT["project"]["license-files"])


@pytest.mark.slow
def test_the_source_distribution_is_the_tree(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as held:
        names = {name.partition("/")[2] for name in held.getnames()}
    expected = {str(path.relative_to(ROOT)) for path in tree().values()} | {"pyproject.toml", "README.md"}
    assert expected - names == set()


def test_the_packages_listed_are_those_of_the_tree() -> None:
    folders = {str(Path(name).parent).replace("/", ".") for name in tree() if name.endswith(".py")}
    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == sorted(folders)


@pytest.mark.parametrize("folder", MAPPED)
def test_a_bare_name_is_refused(folder: str) -> None:
    run = subprocess.run([sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0
    assert "ImportError" in run.stderr.splitlines()[-1]
    assert f"hsmdc.{folder}" in run.stderr.splitlines()[-1]


@pytest.mark.parametrize("folder", MAPPED)
def test_the_links_are_relative(folder: str) -> None:
    link = ROOT / "hsmdc" / folder
    assert link.is_symlink()
    assert os.readlink(link) == f"../{folder}"
