"""What holds for the whole command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import lookalike
from lookalike.cli._app import COMMANDS, Commands, app
from lookalike.errors import LookalikeError

ROOT = Path(__file__).parents[2]
run = CliRunner()


def walk(command, words):
    """Every command under this one, with its words."""
    if hasattr(command, "list_commands"):
        ctx = typer.Context(command)
        for name in command.list_commands(ctx):
            yield from walk(command.get_command(ctx, name), [*words, name])
    else:
        yield " ".join(words), command


ALL = dict(walk(typer.main.get_command(app), []))


@pytest.mark.parametrize("name", ALL)
def test_every_command_and_option_says_what_it_is(name):
    command = ALL[name]
    assert command.help, "needs a docstring"
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name}: {parameter.name} needs a help text"


@pytest.mark.parametrize("name", ALL)
def test_every_command_answers_programs_in_json(name):
    assert "--json" in [option for parameter in ALL[name].params for option in parameter.opts]


@pytest.mark.parametrize("name", ALL)
def test_every_command_and_option_is_in_the_reference(name):
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    heading = f"## lookalike {name}\n"
    assert heading in page, "needs a section in docs/reference/commands.md"
    section = page.partition(heading)[2].partition("\n## ")[0]
    for parameter in ALL[name].params:
        for option in parameter.opts:
            if option.startswith("--"):
                assert f"`{option}" in section, f"{name}: {option} is not in docs/reference/commands.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summaries_are_those_of_the_commands(name):
    root = typer.main.get_command(app)
    command = root.get_command(typer.Context(root), name)
    assert command.get_short_help_str(limit=200) == COMMANDS[name][1]


def test_help_loads_no_command_and_nothing_heavy():
    code = (
        "import sys\n"
        "from lookalike.cli._app import app\n"
        "try:\n    app(['--help'])\nexcept SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numpy', 'PIL', 'rich', 'lancedb', 'pyarrow', 'sklearn', 'numba', 'matplotlib'}\n"
        "own = [name for name in sys.modules if name.startswith('lookalike.cli.')]\n"
        "print(sorted(heavy & set(sys.modules)), sorted(own))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == (
        "[] ['lookalike.cli._app', 'lookalike.cli._options', 'lookalike.cli._progress']"
    )


def test_version_and_the_module():
    done = subprocess.run(
        [sys.executable, "-m", "lookalike", "version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"lookalike {lookalike.__version__}\n"
    assert json.loads(run.invoke(app, ["version", "--json"]).stdout) == {"version": lookalike.__version__}


def test_a_users_mistake_is_one_line_and_status_1(monkeypatch):
    def fail(*args, **kwargs):
        raise LookalikeError("the sky\nis down: look up.")

    monkeypatch.setattr(Commands, "invoke", fail)
    result = run.invoke(app, ["version"])
    assert (result.exit_code, result.stderr, result.stdout) == (1, "error: the sky is down: look up.\n", "")


def test_a_systems_error_is_one_line_too(monkeypatch):
    def fail(*args, **kwargs):
        raise PermissionError(13, "Permission denied", "/root/secret")

    monkeypatch.setattr(Commands, "invoke", fail)
    result = run.invoke(app, ["version"])
    assert (result.exit_code, result.stderr) == (1, "error: /root/secret: permission denied.\n")


def test_a_wrong_call_is_status_2():
    result = run.invoke(app, ["versoin"])
    assert result.exit_code == 2
    assert "Did you mean 'version'?" in result.stderr
    assert run.invoke(app, ["version", "--nonsense"]).exit_code == 2


@pytest.mark.parametrize(("shell", "word"), [("bash", "COMPREPLY"), ("zsh", "compdef"), ("fish", "complete")])
def test_shells_can_complete(shell, word, monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda *a, **k: (shell, shell))
    result = run.invoke(app, ["--show-completion"], prog_name="lookalike")
    assert result.exit_code == 0, result.output
    assert word in result.stdout
    assert "LOOKALIKE_COMPLETE" in result.stdout


def test_completion_knows_the_commands():
    env = {
        **os.environ,
        "_LOOKALIKE_COMPLETE": "complete_bash",
        "COMP_WORDS": "lookalike ver",
        "COMP_CWORD": "1",
    }
    code = "from lookalike.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)
    assert done.stdout.split() == ["version"]
