/**
 * Formats help and usage errors: one line per command, in groups, and a suggestion for a mistyped command.
 */
import { Command, type Help } from 'commander'
import { HermesError } from '../../lib/errors.ts'
import type { CliContext } from './context.ts'

/** Options after a command belong to the command: `--profile` there may be a word of a message. */
export function createRoot({ version, output, errors, docsDirectory: docs }: CliContext): Command {
  return new Command('hermes')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'show help')
    .option('-p, --profile <name>', 'use this profile; before the command')
    .option('--tui', 'open the terminal interface; the same as chat --tui')
    .enablePositionalOptions()
    .usage('<command> [options]')
    .addHelpCommand(
      new Command('help').argument('[command...]').description('show the help of a command').helpGroup('More:'),
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
    .showHelpAfterError('Run the command with --help for its usage. (cli/usage)')
    .addHelpText('after', helpFooter(docs))
}

/** What users of other programs type first. The spelling of these words suggests a wrong command. */
const commonNames: Readonly<Record<string, string>> = {
  run: 'gateway run',
  start: 'gateway run',
  stop: 'gateway stop',
  platforms: 'status',
}

/**
 * Rewrites `help <command...>` to `<command...> --help`, and removes the option from an unknown command, so that it is reported:
 * Commander would print the help of the group around it.
 * Throws `cli/usage` for a common name of a command.
 */
export function resolveHelpRequest(root: Command, args: readonly string[]): readonly string[] {
  const [first = ''] = args
  const words = first === 'help' ? [...args.slice(1), '--help'] : args
  const unknown = findUnknownCommand(root, words)
  if (unknown === undefined) return words
  const meant =
    unknown.group === root && Object.hasOwn(commonNames, unknown.name) ? commonNames[unknown.name] : undefined
  if (meant === undefined) return words.filter((word) => !isHelpOption(word))
  throw new HermesError('cli/usage', `There is no command '${unknown.name}'.`, {
    hint: `Did you mean hermes ${meant}?`,
  })
}

function findUnknownCommand(root: Command, words: readonly string[]) {
  let group = root
  for (const name of words) {
    if (name.startsWith('-') || group.commands.length === 0) return undefined
    const command = group.commands.find((candidate) => candidate.name() === name)
    if (command === undefined) return { group, name }
    group = command
  }
  return undefined
}

function isHelpOption(word: string): boolean {
  return word === '--help' || word === '-h'
}

/** So that a line fits into a terminal. The help of a group lists all. */
const maxNames = 7

/** `sessions list|show|search`, `chat`. The options of a command are shown in its own help. */
function subcommandTerm(this: Help, command: Command): string {
  const names = command.commands.map((each) => each.name())
  if (names.length > 0)
    return `${command.name()} ${names.length > maxNames ? `${names.slice(0, maxNames - 1).join('|')}|...` : names.join('|')}`
  const args = command.registeredArguments.map((argument) => `<${argument.name()}>`)
  return [command.name(), ...args].join(' ')
}

function helpFooter(docs: string): string {
  return `
Examples:
  hermes gateway run                           start the daemon and print the address of the page
  hermes chat --query 'What is on my disk?'    ask one question; stdout gets only the answer

Home: $HERMES_HOME (default: ~/.hermes), or that of the profile. Documentation: ${docs}
Exit codes: 0 success, 1 failure, 2 usage error, 3 no gateway is running, 75 try again later,
            78 configuration error, 130 interrupted.`
}
