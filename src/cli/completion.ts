/**
 * `hermes completion`: prints a script that completes commands and options in a shell. It knows what the definitions of the commands
 * say, so that no program is started for a Tab.
 */
import type { Command } from 'commander'
import { type CompletedCommand, type Shell, scripts } from './completion/scripts.ts'
import type { CliContext } from './kit/context.ts'

/** @param command this command, from whose parents the others are known */
export function completion({ output }: CliContext, shell: Shell, _options: unknown, command: Command): void {
  let root = command
  while (root.parent !== null) root = root.parent
  output.write(scripts[shell](completedCommands(root, [])))
}

/** A command and all below it. */
function completedCommands(command: Command, path: readonly string[]): CompletedCommand[] {
  const help = command.createHelp()
  const below = help.visibleCommands(command)
  const operands = command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? [])
  return [
    {
      path: path.join(' '),
      words: [
        ...below.map((each) => ({ text: each.name(), summary: each.summary() || each.description() })),
        ...operands.map((text) => ({ text, summary: '' })),
      ],
      options: help.visibleOptions(command).map((option) => ({
        names: [option.short, option.long].filter((name) => name !== undefined && name !== null),
        summary: option.description,
        takesValue: option.required,
        values: option.argChoices ?? [],
      })),
    },
    ...below.flatMap((each) => completedCommands(each, [...path, each.name()])),
  ]
}
