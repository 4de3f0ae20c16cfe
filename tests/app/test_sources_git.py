"""Repositories as sources: branches, tags and commits, and servers that move, lose, refuse, hang or lie."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from tests.app.source_world import (
    Repository,
    files_below,
    git,
    git_daemon,
    places_in,
    silent_server,
    sources_in_folder,
)

from amplifier.problems import SourceProblem
from amplifier.sources import Sources, lock_path, write_lock
from amplifier.sources.address import parse_source
from amplifier.sources.git import GitFetch, git_environ
from amplifier.sources.tree import Limits, TreeWriter

pytestmark = pytest.mark.slow


def _lock(folder: Path, sources: Sources) -> None:
    pins = {name: sources.pin_of(found) for name, found in sources.used.items()}
    write_lock(lock_path(places_in(folder)), pins)


def _empty_cache(sources: Sources) -> None:
    import shutil

    shutil.rmtree(sources.cache.root)


def test_branches_tags_and_commits_are_fetched(tmp_path: Path) -> None:
    """Each is the commit it names; annotated tags as well; the same content is there once."""
    repository = Repository(tmp_path / "r")
    first = repository.commit({"a.py": "1"})
    git(repository.folder, "tag", "--annotate", "--message=x", "v1")
    second = repository.commit({"a.py": "2", "sub/b.py": "3"})
    sources = sources_in_folder(tmp_path)
    wanted = {
        repository.source: second,
        f"{repository.source}@main": second,
        f"{repository.source}@v1": first,
        f"{repository.source}@{first}": first,
        f"{repository.source}@{first[:10]}": first,
        f"{repository.source}@main#subdirectory=sub": second,
    }
    found = {source: sources.find(source) for source in wanted}
    assert {source: each.pin.revision for source, each in found.items() if each.pin} == wanted
    assert files_below(found[f"{repository.source}@v1"].folder) == {"a.py": "1"}
    assert files_below(found[repository.source].folder) == {"a.py": "2", "sub/b.py": "3"}
    assert files_below(found[f"{repository.source}@main#subdirectory=sub"].folder) == {"b.py": "3"}
    assert len(list((sources.cache.root / "trees").iterdir())) == 2
    assert list((sources.cache.root / "drafts").iterdir()) == []


def test_what_was_fetched_once_stays_until_it_is_updated(tmp_path: Path) -> None:
    """A branch that goes on changes nothing by itself, and nobody is asked: the server may be gone."""
    repository = Repository(tmp_path / "r")
    repository.commit({"a.py": "1"})
    assert sources_in_folder(tmp_path).find(repository.source).state == "fetched"
    repository.commit({"a.py": "2"})
    again = sources_in_folder(tmp_path, is_offline=True).find(repository.source)
    assert (again.state, files_below(again.folder)) == ("cached", {"a.py": "1"})
    updated = sources_in_folder(tmp_path, updates={repository.source}).find(repository.source)
    assert (updated.state, files_below(updated.folder)) == ("fetched", {"a.py": "2"})


def test_a_locked_commit_is_taken_whatever_the_branch_and_the_tag_are_now(tmp_path: Path) -> None:
    """A moved tag and a rewritten branch lead nobody to other code, as long as the commit can be had."""
    repository = Repository(tmp_path / "r")
    first = repository.commit({"a.py": "1"})
    git(repository.folder, "tag", "v1")
    names = [f"{repository.source}@v1", f"{repository.source}@main"]
    sources = sources_in_folder(tmp_path)
    for name in names:
        sources.find(name)
    _lock(tmp_path, sources)
    _empty_cache(sources)
    repository.commit({"a.py": "evil"}, amend=True)
    git(repository.folder, "tag", "--force", "v1")
    for is_frozen in (False, True):
        later = sources_in_folder(tmp_path, is_frozen=is_frozen)
        found = [later.find(name) for name in names]
        assert [(each.pin.revision, files_below(each.folder)) for each in found if each.pin] == [
            (first, {"a.py": "1"})
        ] * 2
    moved = sources_in_folder(tmp_path, updates=names).find(names[0])
    assert files_below(moved.folder) == {"a.py": "evil"}


def test_a_locked_commit_that_is_gone_is_told(tmp_path: Path) -> None:
    """With the commit, and with what to do if the change is meant."""
    repository = Repository(tmp_path / "r")
    first = repository.commit({"a.py": "1"})
    sources = sources_in_folder(tmp_path)
    sources.find(repository.source)
    _lock(tmp_path, sources)
    _empty_cache(sources)
    repository.commit({"a.py": "2"}, amend=True)
    repository.forget_unreachable()
    with pytest.raises(SourceProblem) as caught:
        sources_in_folder(tmp_path).find(repository.source)
    assert caught.value.message == (
        f"{repository.source} does not have the commit {first} any more: it was rewritten or removed."
    )
    assert caught.value.hint.startswith("If the change is meant: amplifier lock --update SOURCE.")


def test_a_server_that_gives_no_commits_by_id_is_asked_for_all(tmp_path: Path) -> None:
    """The commit is then looked for behind the branches and tags."""
    repository = Repository(tmp_path / "r")
    first = repository.commit({"a.py": "1"})
    repository.commit({"a.py": "2"})
    environ = {**os.environ, "HOME": str(tmp_path)}
    (tmp_path / ".gitconfig").write_text("[protocol]\n\tversion = 0\n")
    found = sources_in_folder(tmp_path, environ=environ).find(f"{repository.source}@{first}")
    assert files_below(found.folder) == {"a.py": "1"}
    repository.commit({"a.py": "3"}, amend=True)
    lost = "0" * 40
    with pytest.raises(SourceProblem, match=f"does not have the commit {lost} any more"):
        sources_in_folder(tmp_path, environ=environ).find(f"{repository.source}@{lost}")


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        ("@nothing", "{source}@nothing has no branch, tag or commit 'nothing'."),
        ("@abcdef0123", "{source}@abcdef0123 has no commit 'abcdef0123'."),
        ("#subdirectory=sub", "The source {source}#subdirectory=sub has no 'sub'."),
        ("-is-not-there", "{source}-is-not-there cannot be fetched: fatal: "),
        (f"-is-not-there@{'1' * 40}", "{source}-is-not-there@" + "1" * 40 + " cannot be fetched: fatal: "),
    ],
)
def test_what_is_not_there_is_told(tmp_path: Path, ending: str, message: str) -> None:
    """A ref, a commit, a folder inside, a repository; nothing is kept of it."""
    repository = Repository(tmp_path / "r")
    repository.commit({"a.py": "1"})
    sources = sources_in_folder(tmp_path)
    with pytest.raises(SourceProblem) as caught:
        sources.find(repository.source + ending)
    assert caught.value.message.startswith(message.format(source=repository.source))
    assert list((sources.cache.root / "drafts").iterdir()) == []


def test_nothing_of_a_repository_is_run_and_submodules_stay_out(tmp_path: Path) -> None:
    """Hooks, filters and attributes are only files; what git would change on the way out is as it was committed."""
    mark = tmp_path / "ran"
    repository = Repository(tmp_path / "r")
    hook = repository.folder / ".git/hooks/post-checkout"
    repository.commit(
        {
            ".gitattributes": "*.py filter=evil export-ignore text eol=crlf ident\n",
            "a.py": "# $Id$\n",
            "hooks/post-checkout": f"#!/bin/sh\ntouch {mark}\n",
        }
    )
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    other = Repository(tmp_path / "other")
    other.commit({"x": "1"})
    git(repository.folder, "-c", "protocol.file.allow=always", "submodule", "add", str(other.folder), "sub")
    repository.commit({})
    (tmp_path / ".gitconfig").write_text(
        f'[filter "evil"]\n\tsmudge = touch {mark}\n[core]\n\thooksPath = {repository.folder / "hooks"}\n'
    )
    found = sources_in_folder(tmp_path, environ={**os.environ, "HOME": str(tmp_path)}).find(repository.source)
    assert sorted(files_below(found.folder)) == [".gitattributes", ".gitmodules", "a.py", "hooks/post-checkout"]
    assert ((found.folder / "a.py").read_bytes(), mark.exists()) == (b"# $Id$\n", False)


def test_links_and_programs_stay_what_they_are(tmp_path: Path) -> None:
    """Links inside are kept; one that leads out makes the whole repository unusable."""
    repository = Repository(tmp_path / "r")
    repository.commit({"AGENTS.md": "x", "run": "#!"})
    (repository.folder / "CLAUDE.md").symlink_to("AGENTS.md")
    (repository.folder / "run").chmod(0o755)
    repository.commit({})
    found = sources_in_folder(tmp_path).find(f"{repository.source}@main")
    assert ((found.folder / "CLAUDE.md").read_text(), os.access(found.folder / "run", os.X_OK)) == ("x", True)
    (repository.folder / "keys").symlink_to("/etc/passwd")
    repository.commit({})
    with pytest.raises(SourceProblem, match="has the link 'keys' to '/etc/passwd', which is outside"):
        sources_in_folder(tmp_path).find(repository.source)


def test_the_variables_of_git_are_ours() -> None:
    """Nothing of a repository around the command, no questions, and no way from a network to files."""
    given = {"PATH": "/bin", "GIT_DIR": "/x", "GIT_SSH_COMMAND": "ssh -i k", "HOME": "/h", "GIT_TRACE": "1"}
    made = git_environ(given, "https://e.org/x")
    assert (made["GIT_TERMINAL_PROMPT"], made["GIT_SSH_COMMAND"], made["HOME"]) == ("0", "ssh -i k", "/h")
    assert (made["GIT_ALLOW_PROTOCOL"], made["GIT_ASKPASS"]) == ("https:ssh", "")
    assert [name for name in made if name in ("GIT_DIR", "GIT_TRACE")] == []
    assert git_environ({}, "file:///x")["GIT_ALLOW_PROTOCOL"] == "file"
    assert git_environ({}, "ssh://e/x")["GIT_SSH_COMMAND"] == "ssh -oBatchMode=yes"


def test_without_git_it_is_said(tmp_path: Path) -> None:
    """And what to do about it."""
    with pytest.raises(SourceProblem) as caught:
        sources_in_folder(tmp_path, environ={"PATH": str(tmp_path)}).find("git+file:///x")
    broken = tmp_path / "bin" / "git"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    with pytest.raises(SourceProblem, match="cannot be fetched: git gave no reason"):
        sources_in_folder(tmp_path, environ={"PATH": f"{broken.parent}:/bin"}).find("git+file:///x")
    told = ("git+file:///x cannot be fetched: the program git is not there.", "Install git, and call it again.")
    assert (caught.value.message, caught.value.hint) == told


def test_a_daemon_serves_and_goes_away(tmp_path: Path) -> None:
    """With the cache warm nobody needs it any more; with a cold one it is told that it is gone."""
    repository = Repository(tmp_path / "served" / "r")
    commit = repository.commit({"a.py": "1"})
    with git_daemon(tmp_path / "served") as address:
        found = sources_in_folder(tmp_path).find(f"{address}/r@main")
        assert (found.pin.revision if found.pin else None, files_below(found.folder)) == (commit, {"a.py": "1"})
    assert sources_in_folder(tmp_path).find(f"{address}/r@main").state == "cached"
    with pytest.raises(SourceProblem, match="cannot be fetched: fatal: unable to connect to 127.0.0.1"):
        sources_in_folder(tmp_path).find(f"{address}/r")


def test_a_server_that_hangs_is_left(tmp_path: Path) -> None:
    """After the limit, with everything that git has started."""
    with silent_server() as port, pytest.raises(SourceProblem) as caught:
        sources_in_folder(tmp_path, limits=Limits(timeout_s=0.3)).find(f"git+git://127.0.0.1:{port}/r")
    assert caught.value.message == f"git+git://127.0.0.1:{port}/r cannot be fetched: the server took longer than 0.3 s."
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"127.0.0.1:{port}" not in running


def test_a_repository_that_is_too_large_is_left(tmp_path: Path) -> None:
    """While it comes, or when its files are written."""
    repository = Repository(tmp_path / "r")
    repository.commit({"a.py": "1" * 5000})
    with pytest.raises(SourceProblem, match="is larger than 3,000 bytes"):
        sources_in_folder(tmp_path, limits=Limits(max_bytes=3000)).find(repository.source)


def test_a_repository_that_lies_about_its_objects_is_refused(tmp_path: Path) -> None:
    """An object that is missing, and files that are others than those that were locked."""
    repository = Repository(tmp_path / "r")
    repository.commit({"a.py": "1"})
    sources = sources_in_folder(tmp_path)
    found = sources.find(repository.source)
    address = parse_source(repository.source, tmp_path)
    fetch = GitFetch(address, tmp_path / "fetch", Limits(), os.environ)
    fetch.fetch(None)
    for pack in (tmp_path / "fetch").rglob("*"):
        if pack.is_file() and "objects" in pack.parts and pack.suffix != ".idx" and len(pack.parent.name) == 2:
            about = git(tmp_path / "fetch/repository.git", "cat-file", "-t", pack.parent.name + pack.name)
            if about == "blob":
                pack.unlink()
    with pytest.raises(SourceProblem, match="lacks the object [0-9a-f]{40}, which its commit names"):
        fetch.write(TreeWriter(tmp_path / "tree", Limits(), "x"))
    pin = sources.pin_of(found)
    false = type(pin)(pin.kind, "sha256:" + "0" * 64, pin.revision)
    write_lock(lock_path(places_in(tmp_path)), {repository.source: false})
    with pytest.raises(SourceProblem) as caught:
        sources_in_folder(tmp_path).find(repository.source)
    assert caught.value.message == (
        f"The source {repository.source} is not what was locked: expected {pin.revision} with the files {false.tree}, "
        f"got {pin.revision} with {pin.tree}."
    )
