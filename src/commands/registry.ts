/**
 * The commands that exist, by name and alias. Built-ins come first; plugins may add more but replace none.
 */
import { approveCommand, denyCommand } from './built-in/answers.ts'
import { compressCommand } from './built-in/compress.ts'
import { commandsCommand, helpCommand } from './built-in/help.ts'
import { newCommand } from './built-in/new.ts'
import { statusCommand } from './built-in/status.ts'
import { stopCommand } from './built-in/stop.ts'
import { versionCommand } from './built-in/version.ts'
import { whoamiCommand } from './built-in/whoami.ts'
import type { CommandDefinition } from './command.ts'

export interface CommandRegistry {
  /** By canonical name or alias, lower case. */
  resolve(name: string): CommandDefinition | undefined
  /** In the order they are shown. */
  list(): readonly CommandDefinition[]
}

const builtIn: readonly CommandDefinition[] = [
  newCommand,
  stopCommand,
  approveCommand,
  denyCommand,
  compressCommand,
  statusCommand,
  helpCommand,
  commandsCommand,
  whoamiCommand,
  versionCommand,
]

export function createCommandRegistry(definitions: readonly CommandDefinition[] = builtIn): CommandRegistry {
  const byName = new Map<string, CommandDefinition>()
  for (const definition of definitions) {
    for (const name of [definition.name, ...definition.aliases]) if (!byName.has(name)) byName.set(name, definition)
  }
  return { resolve: (name) => byName.get(name), list: () => definitions }
}
