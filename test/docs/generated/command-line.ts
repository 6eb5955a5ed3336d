/**
 * Generates the reference of the command line from the help texts of all commands.
 */
import type { Command } from 'commander'
import { createContext } from '../../../src/cli/kit/context.ts'
import { buildProgram } from '../../../src/cli/program.ts'

/** The number of columns. */
const width = 100

export function commandLine(): string {
  return allCommands()
    .map(({ words, help }) => `## \`${words.join(' ')}\`\n\n\`\`\`text\n${help}\n\`\`\``)
    .join('\n\n')
}

export interface DocumentedCommand {
  /** `['hermes', 'inbox', 'list']` */
  readonly words: readonly string[]
  readonly aliases: readonly string[]
  readonly help: string
}

/** The program itself, then its commands in order. */
export function allCommands(): readonly DocumentedCommand[] {
  return describe(
    buildProgram({
      ...createContext('0.0.0', { rootHome: '/', profile: 'default', home: '/' }),
      docsDirectory: 'docs',
    }),
    [],
  )
}

function describe(command: Command, before: readonly string[]): DocumentedCommand[] {
  const words = [...before, command.name()]
  const inner = command.commands.flatMap((child) => describe(child, words))
  return [{ words, aliases: command.aliases(), help: helpOf(command) }, ...inner]
}

/** The output of `--help`, including added text. */
function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({
    writeOut: (piece) => {
      text += piece
    },
    getOutHelpWidth: () => width,
    getOutHasColors: () => false,
  })
  command.outputHelp()
  return text.trimEnd()
}
