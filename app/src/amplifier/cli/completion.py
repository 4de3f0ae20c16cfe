"""``amplifier completion``: the script by which a shell completes commands and options."""

from __future__ import annotations

import click

from amplifier.cli.invocation import common_options
from amplifier.cli.output import echo

_VARIABLE = "_AMPLIFIER_COMPLETE"
_POWERSHELL = """\
Register-ArgumentCompleter -Native -CommandName amplifier -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = $commandAst.CommandElements | ForEach-Object { $_.ToString() }
    $env:COMP_WORDS = $words -join " "
    $env:COMP_CWORD = if ($wordToComplete) { $words.Count - 1 } else { $words.Count }
    $env:_AMPLIFIER_COMPLETE = "bash_complete"
    try {
        amplifier | ForEach-Object {
            $kind, $value = $_ -split ",", 2
            if ($kind -eq "plain") {
                [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", $value)
            }
        }
    } finally {
        Remove-Item Env:_AMPLIFIER_COMPLETE, Env:COMP_WORDS, Env:COMP_CWORD
    }
}
"""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish", "powershell"]))
@common_options
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the script that makes SHELL complete commands and options.

    \b
    bash:        eval "$(amplifier completion bash)"     in ~/.bashrc
    zsh:         eval "$(amplifier completion zsh)"      in ~/.zshrc
    fish:        amplifier completion fish | source      in config.fish
    powershell:  amplifier completion powershell | Out-String | Invoke-Expression
    """
    if shell == "powershell":
        echo(_POWERSHELL.rstrip())
        return
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, f"click knows {shell}"
    echo(made(ctx.find_root().command, {}, "amplifier", _VARIABLE).source().strip())
