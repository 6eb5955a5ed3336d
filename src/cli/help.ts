/**
 * How help and usage errors look: one line per command, in groups; a mistyped word is met with the nearest known one.
 */
import { Command, type Help } from 'commander'
import type { CliContext } from './context.ts'

export function createRoot({ version, output, errors, docsDirectory: docs }: CliContext): Command {
  return new Command('hermes')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .usage('<command> [options]')
    .addHelpCommand(
      new Command('help').argument('[command]').description('show the help of a command').helpGroup('More:'),
    )
    .exitOverride()
    .description('Talk to one agent from your chats, the browser and the terminal.')
    .configureHelp({ subcommandTerm, showGlobalOptions: false })
    .configureOutput({
      writeOut: (text) => output.write(text),
      writeErr: (text) => errors.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'hermes: ')),
      getOutHelpWidth: () => output.columns ?? 100,
      getErrHelpWidth: () => errors.columns ?? 100,
      getOutHasColors: () => output.isTTY === true,
      getErrHasColors: () => errors.isTTY === true,
    })
    .showSuggestionAfterError()
    .showHelpAfterError('Add --help to see what is possible.')
    .addHelpText('after', helpFooter(docs))
}

/** A command that only holds others. */
export function createGroup(parent: Command, name: string, description: string): Command {
  return parent.command(name).description(description).usage('<command> [options]').helpCommand(false)
}

/** `sessions list|show|search`, `chat`: what comes after it is in its own help. */
function subcommandTerm(this: Help, command: Command): string {
  const inner = command.commands.map((one) => one.name()).join('|')
  if (inner !== '') return `${command.name()} ${inner}`
  const args = command.registeredArguments.map((one) => `<${one.name()}>`)
  return [command.name(), ...args].join(' ')
}

function helpFooter(docs: string): string {
  return `
Examples:
  hermes gateway run                           start the daemon; it prints the address of the page
  hermes chat --query 'What is on my disk?'    ask one question; the answer alone is on stdout

Home: $HERMES_HOME, ~/.hermes without it. Documentation: ${docs}
Exit codes: 0 done, 1 failed, 2 not understood, 3 no gateway runs, 78 the set-up needs mending.`
}
