/**
 * Registers the slash commands of plugins. They run immediately, also during a turn.
 */
import type { CommandDefinition } from '../commands/command.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import { HermesError } from '../lib/errors.ts'
import { withTimeout } from '../lib/timers.ts'
import type { Registration } from '../middleware/contract.ts'
import type { PluginCommand } from './contract.ts'

/** The commands of a session run one after the other, so a command that never ends would block `/stop`. */
const commandTimeoutMs = 60_000

export interface PluginCommands {
  /** Throws `plugins/command-taken` or `plugins/invalid-registration`. */
  register(owner: string, command: PluginCommand, run: PluginCommand['run']): Registration
  /** Throws as `register` does. Names that the plugin itself has registered are free. */
  check(owner: string, command: PluginCommand): void
}

export function createPluginCommands(commands: Pick<CommandRegistry, 'resolve' | 'register'>): PluginCommands {
  const owners = new Map<string, string>()

  function checkName(owner: string, name: string, isFree: (currentOwner: string | undefined) => boolean): void {
    const taken = commands.resolve(name)
    if (taken === undefined) return
    const currentOwner = owners.get(taken.name)
    if (isFree(currentOwner)) return
    const holder = currentOwner ?? 'the gateway'
    throw new HermesError('plugins/command-taken', `(/${name} belongs to ${holder}, requested by ${owner})`)
  }

  return {
    check(owner, command) {
      const { name } = toCommandDefinition(owner, command, command.run)
      checkName(owner, name, (currentOwner) => currentOwner === owner)
    },
    register(owner, command, run) {
      const definition = toCommandDefinition(owner, command, run)
      const { name } = definition
      checkName(owner, name, () => false)
      const remove = commands.register(definition)
      owners.set(name, owner)
      return {
        name,
        remove() {
          owners.delete(name)
          return remove()
        },
      }
    },
  }
}

function toCommandDefinition(owner: string, command: PluginCommand, run: PluginCommand['run']): CommandDefinition {
  const { description, argsHint } = command
  const name = normalizeName(command)
  if (name === undefined) {
    throw new HermesError(
      'plugins/invalid-registration',
      `expected a command name of at most 32 letters, digits, - and _, found ${JSON.stringify(command.name)} (${owner})`,
    )
  }
  return {
    name,
    aliases: [],
    description: typeof description === 'string' ? description : '',
    argsHint: typeof argsHint === 'string' ? argsHint : '',
    queue: 'control',
    async run({ args, source: { platform, userId = '' }, sessionKey, signal }) {
      const timedOut = new AbortController()
      const combinedSignal = AbortSignal.any([signal, timedOut.signal])
      const work = Promise.resolve(run(args, { platform, userId, sessionKey, signal: combinedSignal }))
      const result = await withTimeout(work, commandTimeoutMs, signal)
      if (result.done) return parseReply(owner, result.value)
      timedOut.abort()
      signal.throwIfAborted()
      throw new Error(`the command of plugin ${owner} timed out after ${commandTimeoutMs / 1_000} s.`)
    },
  }
}

/** Checks the reply at run time, because plugins may be written without types. */
function parseReply(owner: string, reply: unknown): string {
  if (reply === null || reply === undefined) return ''
  if (typeof reply === 'string') return reply
  throw new Error(`the command of plugin ${owner} returned a value of type ${typeof reply}; expected a text.`)
}

/** Returns the name in the form of the contract: lower case, no slash, dashes for spaces. */
function normalizeName({ name }: PluginCommand): string | undefined {
  if (typeof name !== 'string') return undefined
  const plain = name.trim().toLowerCase().replace(/^\//, '').replace(/\s+/g, '-')
  return /^[a-z0-9][a-z0-9_-]{0,31}$/.test(plain) ? plain : undefined
}
