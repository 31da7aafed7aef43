"""Small files are read whole, and pipes are not waited for."""

import os

import pytest

from riskcore.common.private_record import plain_json
from riskcore.common.small_file import read_small
from riskcore.common.toml_text import read_text
from tests.needs import posix


@posix
@pytest.mark.parametrize("read", [plain_json, read_text])
def test_a_pipe_is_not_waited_for(tmp_path, read):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe: a device or pipe, not a file"):
        read(tmp_path / "pipe")


def test_only_small_files_are_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * (1 << 20))
    assert len(read_small(path, 1 << 20)) == 1 << 20
    path.write_bytes(b"x" * ((1 << 20) + 1))
    with pytest.raises(OSError, match="file: more than 1 MiB"):
        read_small(path, 1 << 20)
    with pytest.raises(IsADirectoryError, match="a directory, not a file"):
        read_small(tmp_path, 1 << 20)
