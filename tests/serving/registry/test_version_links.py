"""Versions that are links, volumes and pins: what they lead to decides."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from serving.registry.discovery import open_checked, scan
from tests.support.serving.echo import run
from tests.support.serving.live_versions import SETTINGS, default, live, point, put, said, serving


def test_a_link_that_is_pointed_elsewhere_is_a_changed_version_and_pins_hold_for_links(
    root: Path, another: Path, tmp_path: Path
) -> None:
    store = root.rename(tmp_path / "store")
    point(store / "fr-en/2", another)
    point(store / "fr-en/3", store / "fr-en/1")
    (store / "fr-en/default").write_text("2")
    root.mkdir()
    point(root / "french", store / "fr-en")

    async def scenario() -> None:
        async with live(root) as (versions, models):
            assert serving(models) == [("french", 1), ("french", 2), ("french", 3)]
            assert models.find("french", 0).version == 2
            first, second, third = (said(models.find("french", number)) for number in (1, 2, 3))
            assert first == third != second
            point(store / "fr-en/2", store / "fr-en/1")
            for _ in range(2):
                await versions.update()
            assert serving(models) == [("french", 1), ("french", 2), ("french", 3)]
            assert said(models.find("french", 0)) == first

    run(scenario)


def test_a_link_to_itself_or_to_nothing_is_no_model_and_the_others_are_found(root: Path) -> None:
    (root / "self").symlink_to("self")
    (root / "gone").symlink_to("nowhere")
    found = scan(root)
    assert [(location.name, location.version) for location in found.versions] == [("fr-en", 1)]
    assert found.problems == []


def test_a_link_to_the_same_files_by_another_path_is_a_change_as_well(root: Path, tmp_path: Path) -> None:
    """What a link leads to decides: files of two disks may well have the same number, time and size."""
    first = (root / "fr-en/1").rename(tmp_path / "first")
    shutil.copytree(first, tmp_path / "second", copy_function=os.link)
    point(root / "fr-en/1", first)

    async def scenario() -> None:
        async with live(root) as (versions, models):
            before = models.find("fr-en", 1)
            point(root / "fr-en/1", tmp_path / "second")
            for _ in range(2):
                await versions.update()
            assert models.find("fr-en", 1) is not before

    run(scenario)


def test_a_volume_of_kubernetes_is_a_root_whose_versions_change_with_its_data(
    root: Path, another: Path
) -> None:
    for number, version in enumerate((root / "fr-en/1", another)):
        shutil.copytree(version, root / f"..2026_{number}/fr-en/1")
    shutil.rmtree(root / "fr-en")
    point(root / "..data", "..2026_0")
    point(root / "fr-en", "..data/fr-en")

    async def scenario() -> None:
        async with live(root) as (versions, models):
            before = said(models.find("fr-en", 1))
            point(root / "..data", "..2026_1")
            shutil.rmtree(root / "..2026_0")
            for _ in range(2):
                await versions.update()
            assert serving(models) == [("fr-en", 1)]
            assert said(models.find("fr-en", 1)) != before

    run(scenario)


#: Pins, the version that is the default with them, and what the log says of it.
PINS: tuple[tuple[Callable[[Path], object], int, str | None], ...] = (
    (lambda pin: pin.write_text("2"), 2, None),
    (lambda pin: pin.write_text("two"), 2, "must be the number of a version; got 'two'; the default is 2"),
    (os.mkfifo, 2, "got 'it must be a file, and is neither file nor directory'; the default is 2"),
    (Path.mkdir, 2, "got 'it must be a file, and is a directory'; the default is 2"),
    (lambda pin: pin.symlink_to(pin), 2, "got 'Too many levels of symbolic links'; the default is 2"),
    (lambda pin: pin.symlink_to("gone"), 2, "got 'No such file or directory'; the default is 2"),
    (lambda pin: pin.write_text("7"), 3, "names version 7, which does not serve; the default is 3"),
    (lambda pin: None, 3, None),
)


def test_a_pin_is_the_default_and_without_it_the_highest_is(
    root: Path, another: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put(another, root / "fr-en/2")
    pin = root / "fr-en/default"
    pin.write_text("1\n")

    async def scenario() -> None:
        async with live(root) as (versions, models):
            assert default(models) == 1  # before anybody has asked
            put(another, root / "fr-en/3")
            await versions.update()
            assert default(models) == 1
            for make, expected, told in PINS:
                caplog.clear()
                (pin.rmdir if pin.is_dir() else pin.unlink)()
                make(pin)
                for _ in range(2):
                    await versions.update()
                assert default(models) == expected
                logged = [each.getMessage() for each in caplog.records]
                assert [
                    text.startswith("fr-en/default ") and text.endswith(str(told)) for text in logged
                ] == ([True] if told else [])

    run(scenario)


def test_a_link_to_the_whole_disk_is_refused_and_not_walked(root: Path) -> None:
    (root / "fr-en" / "7").symlink_to("/")
    stamps = {place.version: place.stamp for place in scan(root).versions}
    assert stamps[7] == ()
    assert len(stamps[1]) > 3


def test_why_a_version_is_refused_tells_callers_nothing_of_where_it_lies(root: Path) -> None:
    (root / "fr-en" / "1" / "manifest.json").write_text("{")
    (place,) = scan(root).versions
    why = open_checked(place, SETTINGS)
    assert isinstance(why, str)
    assert "manifest.json" in why
    assert str(root) not in why
