/**
 * The registered commands, by name and alias. Plugins may add commands but not replace one.
 */
import { lazy } from '../lib/cache.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { Command, CommandDefinition } from './command.ts'
import { findQuickCommand, listQuickCommands, type QuickCommandSource } from './quick-commands.ts'

export interface CommandRegistry {
  /** By canonical name or alias, lower case. */
  resolve(name: string): CommandDefinition | undefined
  /** Whether the event is a command that hooks neither delay nor deny. */
  bypassesHooks(event: MessageEvent): boolean
  /** In the order of display. */
  list(): readonly CommandDefinition[]
  /** Adds a command at the end. The returned function removes it and returns whether it was registered. Throws when a name exists. */
  register(definition: CommandDefinition): () => boolean
}

/** @param open opens the port with the first run, and may load code. Where it rejects, the command does, and the next run tries again */
export function bindCommand<Port>(command: Command<Port>, open: () => Port | Promise<Port>): CommandDefinition {
  const port = lazy(open)
  return { ...command, run: async (context) => command.run(context, await port()) }
}

/** @param builtIn they win over the commands of the operator, and those over the commands of plugins */
export function createCommandRegistry(
  builtIn: readonly CommandDefinition[],
  quickCommands: QuickCommandSource = noQuickCommands,
): CommandRegistry {
  const byName = new Map<string, CommandDefinition>()
  let ordered = builtIn
  const namesOf = ({ name, aliases }: CommandDefinition) => [name, ...aliases]
  for (const definition of builtIn) {
    for (const name of namesOf(definition)) if (!byName.has(name)) byName.set(name, definition)
  }
  const builtInNames = new Set(byName.keys())
  const find = (name: string) => byName.get(name)
  const resolve = (name: string) =>
    builtInNames.has(name) ? find(name) : (findQuickCommand(quickCommands, name, find) ?? find(name))
  return {
    resolve,
    bypassesHooks(event) {
      const command = parseCommand(event)
      return command !== null && resolve(command.name)?.bypassesHooks === true
    },
    list: () => [...ordered, ...listQuickCommands(quickCommands, find)],
    register(definition) {
      const taken = namesOf(definition).find((name) => byName.has(name))
      if (taken !== undefined) throw new Error(`the command /${taken} already exists`)
      for (const name of namesOf(definition)) byName.set(name, definition)
      ordered = [...ordered, definition]
      return () => {
        if (!ordered.includes(definition)) return false
        for (const name of namesOf(definition)) byName.delete(name)
        ordered = ordered.filter((command) => command !== definition)
        return true
      }
    },
  }
}

const noQuickCommands: QuickCommandSource = { settings: () => ({}), run: async () => '' }
