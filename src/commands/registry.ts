/**
 * The commands that exist, by name and alias. Built-ins come first; plugins may add more but replace none.
 */
import { approveCommand, denyCommand } from './built-in/approve-deny.ts'
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
  /** Adds one at the end; what it returns takes it away again, and says whether it was still there. Throws when a name is taken. */
  register(definition: CommandDefinition): () => boolean
}

const builtInCommands: readonly CommandDefinition[] = [
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

export function createCommandRegistry(definitions: readonly CommandDefinition[] = builtInCommands): CommandRegistry {
  const byName = new Map<string, CommandDefinition>()
  let shown = definitions
  const namesOf = ({ name, aliases }: CommandDefinition) => [name, ...aliases]
  for (const definition of definitions) {
    for (const name of namesOf(definition)) if (!byName.has(name)) byName.set(name, definition)
  }
  return {
    resolve: (name) => byName.get(name),
    list: () => shown,
    register(definition) {
      const taken = namesOf(definition).find((name) => byName.has(name))
      if (taken !== undefined) throw new Error(`the command /${taken} exists already`)
      for (const name of namesOf(definition)) byName.set(name, definition)
      shown = [...shown, definition]
      return () => {
        if (!shown.includes(definition)) return false
        for (const name of namesOf(definition)) byName.delete(name)
        shown = shown.filter((one) => one !== definition)
        return true
      }
    },
  }
}
