/**
 * Runs a command in a pseudo-terminal, for programs that ask whether they have one. script(1) of util-linux makes it in the environment
 * where the command runs, so that it works in a sandbox, in a container and over ssh alike, without a native package
 * (about 20 ms; node-pty works on this machine only). Loaded with the first such command.
 */
import { quoteWord } from '../../lib/shell-quote.ts'
import type { BackgroundCommand } from './environment.ts'

const refusal =
  'pty needs the program script of util-linux, which is not installed where commands run. The command was not run.'

/** The command in a pseudo-terminal of 120 columns. Where none can be made, it says so and exits with 127. */
export function inPseudoTerminal(command: string): string {
  const inner = `stty cols 120 rows 40 2>/dev/null; ${command}`
  return `case $(script --version 2>/dev/null) in *util-linux*) ;; *) echo '${refusal}'; exit 127 ;; esac
export TERM=xterm-256color SHELL="$(command -v bash || echo /bin/sh)"
exec script -qefc ${quoteWord(inner)} /dev/null`
}

/** Output as text, and input as from a keyboard, whose Enter is a carriage return. */
export function typedCommand(command: BackgroundCommand): BackgroundCommand {
  return {
    ...command,
    onOutput: (listener) => command.onOutput((text) => listener(fromTerminal(text))),
    write: (text) => command.write(text.replaceAll('\n', '\r')),
  }
}

/** A terminal ends lines with two characters. */
export function fromTerminal(output: string): string {
  return output.replaceAll('\r\n', '\n')
}
