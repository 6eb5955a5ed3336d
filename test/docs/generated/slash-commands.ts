/**
 * Generates the table of slash commands from the registry.
 */
import { describedCommands } from '../../../src/app/built-in-commands.ts'
import { createCommandRegistry } from '../../../src/commands/registry.ts'
import { table } from './table.ts'

export function slashCommands(): string {
  const rows = createCommandRegistry(describedCommands())
    .list()
    .map(({ name, aliases, argsHint, description, queue }) => [
      `\`/${name}${argsHint === '' ? '' : ` ${argsHint}`}\``,
      aliases.map((alias) => `\`/${alias}\``).join(', '),
      description,
      queue === 'control' ? 'at once, also while a turn runs' : 'after the running turn',
    ])
  return table(['Command', 'Alias', 'Effect', 'When it runs'], rows)
}
