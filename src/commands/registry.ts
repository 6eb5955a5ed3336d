/**
 * The registered commands, by name and alias. Plugins may add commands but not replace one.
 */
import { type MessageEvent, parseCommand } from '../message/event.ts'
import {
  branchCommand,
  insightsCommand,
  modelCommand,
  personalityCommand,
  reasoningCommand,
  resumeCommand,
  retryCommand,
  rollbackCommand,
  sessionsCommand,
  titleCommand,
  undoCommand,
  usageCommand,
} from './built-in/conversation.ts'
import { cronCommand } from './built-in/cron.ts'
import { reloadMcpCommand, restartCommand, sethomeCommand } from './built-in/gateway.ts'
import {
  commandsCommand,
  debugCommand,
  helpCommand,
  startCommand,
  statusCommand,
  updateCommand,
  versionCommand,
  whoamiCommand,
} from './built-in/information.ts'
import {
  approveCommand,
  busyCommand,
  compressCommand,
  denyCommand,
  footerCommand,
  newCommand,
  pauseCommand,
  queueCommand,
  steerCommand,
  stopCommand,
  verboseCommand,
  voiceCommand,
  yoloCommand,
} from './built-in/session.ts'
import { agentsCommand, backgroundCommand } from './built-in/task.ts'
import type { CommandDefinition } from './command.ts'
import type { QuickCommands } from './config.ts'
import { findQuickCommand, listQuickCommands } from './quick-commands.ts'

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

const builtInCommands: readonly CommandDefinition[] = [
  startCommand,
  newCommand,
  stopCommand,
  queueCommand,
  steerCommand,
  busyCommand,
  pauseCommand,
  approveCommand,
  denyCommand,
  yoloCommand,
  retryCommand,
  undoCommand,
  rollbackCommand,
  resumeCommand,
  sessionsCommand,
  titleCommand,
  branchCommand,
  backgroundCommand,
  agentsCommand,
  cronCommand,
  compressCommand,
  modelCommand,
  reasoningCommand,
  personalityCommand,
  usageCommand,
  insightsCommand,
  verboseCommand,
  footerCommand,
  voiceCommand,
  statusCommand,
  sethomeCommand,
  reloadMcpCommand,
  restartCommand,
  helpCommand,
  commandsCommand,
  whoamiCommand,
  versionCommand,
  updateCommand,
  debugCommand,
]

/** @param quickCommands those of the operator, read for each command. Built-in commands win over them, they over plugins. */
export function createCommandRegistry(
  definitions: readonly CommandDefinition[] = builtInCommands,
  quickCommands: () => QuickCommands = () => ({}),
): CommandRegistry {
  const byName = new Map<string, CommandDefinition>()
  let ordered = definitions
  const namesOf = ({ name, aliases }: CommandDefinition) => [name, ...aliases]
  for (const definition of definitions) {
    for (const name of namesOf(definition)) if (!byName.has(name)) byName.set(name, definition)
  }
  const builtIn = new Set(byName.keys())
  const find = (name: string) => byName.get(name)
  const resolve = (name: string) =>
    builtIn.has(name) ? find(name) : (findQuickCommand(quickCommands(), name, find) ?? find(name))
  return {
    resolve,
    bypassesHooks(event) {
      const command = parseCommand(event)
      return command !== null && resolve(command.name)?.bypassesHooks === true
    },
    list: () => [...ordered, ...listQuickCommands(quickCommands(), find)],
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
