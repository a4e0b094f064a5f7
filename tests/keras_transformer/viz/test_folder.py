"""A folder is written as a whole, or not at all, and harms nothing of anyone else's."""

import re
from pathlib import Path

import pytest

from keras_transformer.viz.folder import INDEX, MARK, check_folder, write_folder

FILES = {INDEX: MARK.encode(), "a.png": b"a"}


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_writes_a_new_folder_and_its_parents(tmp_path: Path) -> None:
    write_folder(tmp_path / "deep" / "er", FILES)
    assert content(tmp_path / "deep" / "er") == FILES
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["er"]


def test_a_second_run_replaces_its_own_files_and_keeps_others(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", FILES)
    (tmp_path / "out" / "notes.txt").write_bytes(b"mine")
    later = {INDEX: MARK.encode() + b"2", "b.png": b"b"}
    write_folder(tmp_path / "out", later)
    assert content(tmp_path / "out") == {**FILES, **later, "notes.txt": b"mine"}


def test_an_existing_folder_is_filled_even_if_nothing_can_be_written_beside_it(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    before = tmp_path.stat().st_mtime_ns
    write_folder(out, FILES)
    assert content(out) == FILES
    assert tmp_path.stat().st_mtime_ns == before


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match=r"out is a file; the output needs a directory"):
        check_folder(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"mine"


def test_someone_elses_index_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_bytes(b"\xff my home page")
    with pytest.raises(FileExistsError, match=r"already has index\.html, not written by this command"):
        check_folder(tmp_path)
    with pytest.raises(FileExistsError, match=r"index\.html"):
        write_folder(tmp_path, FILES)
    assert content(tmp_path) == {INDEX: b"\xff my home page"}


def test_someone_elses_picture_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"mine")
    with pytest.raises(FileExistsError, match=r"already has a\.png"):
        write_folder(tmp_path, FILES)
    assert content(tmp_path) == {"a.png": b"mine"}


def test_a_directory_where_a_picture_should_go_stops_it_before_it_starts(tmp_path: Path) -> None:
    write_folder(tmp_path, {INDEX: MARK.encode()})
    (tmp_path / "a.png").mkdir()
    with pytest.raises(FileExistsError, match=r"already has a\.png"):
        write_folder(tmp_path, {INDEX: MARK.encode() + b"2", "a.png": b"a"})
    assert (tmp_path / INDEX).read_bytes() == MARK.encode()


@pytest.mark.parametrize("exists", [True, False])
def test_a_full_disk_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    out = tmp_path / "out"
    if exists:
        write_folder(out, FILES)
    write_bytes = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.name == "a.png":
            raise OSError(28, "No space left on device")
        return write_bytes(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    message = re.escape(f"cannot write {out}: No space left on device. Choose another directory.")
    with pytest.raises(OSError, match=message):
        write_folder(out, {INDEX: MARK.encode() + b"2", "a.png": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == (["out"] if exists else [])
    assert not exists or content(out) == FILES


def test_a_place_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(OSError, match=r"cannot write .*file/out: "):
        write_folder(tmp_path / "file" / "out", FILES)
