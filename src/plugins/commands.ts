/**
 * Slash commands of plugins, as the registry of commands takes them. They act at once, beside a running turn.
 */
import type { CommandDefinition } from '../commands/command.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import { HermesError } from '../lib/errors.ts'
import type { Registration } from '../middleware/contract.ts'
import type { PluginCommand } from './contract.ts'

export interface PluginCommands {
  /** Throws `plugins/command-taken`, or `plugins/invalid-registration`. */
  register(owner: string, command: PluginCommand, run: PluginCommand['run']): Registration
}

export function createPluginCommands(commands: Pick<CommandRegistry, 'resolve' | 'register'>): PluginCommands {
  return {
    register(owner, command, run) {
      const definition = definitionOf(owner, command, run)
      const { name } = definition
      if (commands.resolve(name) !== undefined) {
        throw new HermesError('plugins/command-taken', `(/${name}, wanted by ${owner})`)
      }
      return { name, remove: commands.register(definition) }
    },
  }
}

function definitionOf(owner: string, command: PluginCommand, run: PluginCommand['run']): CommandDefinition {
  const { description, argsHint = '' } = command
  const name = nameOf(command)
  if (name === undefined) {
    throw new HermesError(
      'plugins/invalid-registration',
      `a command is named with at most 32 letters, digits, - and _, found ${JSON.stringify(command.name)} (${owner})`,
    )
  }
  return {
    name,
    aliases: [],
    description: typeof description === 'string' ? description : '',
    argsHint,
    lane: 'control',
    async run({ args, source: { platform, userId = '' }, sessionKey, signal }) {
      return (await run(args, { platform, userId, sessionKey, signal })) ?? ''
    },
  }
}

/** As the contract has it: lower case, no slash, dashes for spaces. */
function nameOf({ name }: PluginCommand): string | undefined {
  if (typeof name !== 'string') return undefined
  const plain = name.trim().toLowerCase().replace(/^\//, '').replace(/\s+/g, '-')
  return /^[a-z0-9][a-z0-9_-]{0,31}$/.test(plain) ? plain : undefined
}
