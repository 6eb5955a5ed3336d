/**
 * What hooks decide about a command before it runs (contract §1.5). Only where no turn of the session is running, and never
 * about commands by which people get out of trouble: nobody can hold back `/stop`.
 */
import type { CommandDefinition } from '../commands/command.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import { type CommandVerdict, verdictOf } from '../hooks/verdict.ts'
import { within } from '../lib/wait.ts'
import { type MessageEvent, parseCommand } from '../message/event.ts'
import type { HookEvents } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'

export interface CommandDecisionDeps {
  /** Undefined where no hooks are loaded. */
  readonly hooks: Pick<HookRegistry, 'emitCollect' | 'hears'> | undefined
  readonly commands: Pick<CommandRegistry, 'resolve'>
  /** Whether a turn of this session is running. */
  isRunning(key: SessionKey): boolean
  waitMs(): number
}

export interface CommandDecisions {
  /**
   * `undefined`: hooks were not asked and have yet to be told. `overtaken`: a command that nobody may hold back came
   * while they were thinking. Never rejects.
   */
  decide(
    definition: CommandDefinition,
    key: SessionKey,
    /** Undefined where gateway events are not told. */
    context: HookEvents[`command:${string}`] | undefined,
  ): Promise<CommandVerdict | { readonly kind: 'overtaken' } | undefined>
  /** An event has come for the control lane of a session. */
  arrived(key: SessionKey, event: MessageEvent): void
}

export function createCommandDecisions(deps: CommandDecisionDeps): CommandDecisions {
  const { hooks, commands } = deps
  const thinking = new Map<SessionKey, AbortController>()
  /** Commands that nobody may hold back and that have not run yet. */
  const escapes = new Map<SessionKey, number>()

  function countEscapes(key: SessionKey, more: 1 | -1): void {
    const count = Math.max(0, (escapes.get(key) ?? 0) + more)
    if (count === 0) escapes.delete(key)
    else escapes.set(key, count)
  }

  return {
    async decide({ name, isEscape }, key, context) {
      if (isEscape === true) countEscapes(key, -1)
      const event = `command:${name}` as const
      const isAsked = isEscape !== true && context !== undefined && hooks?.hears(event) === true
      if (!isAsked || deps.isRunning(key)) return undefined
      if (escapes.has(key)) return { kind: 'overtaken' }
      const overtaken = new AbortController()
      thinking.set(key, overtaken)
      try {
        const waitMs = deps.waitMs()
        const answers = await within(hooks.emitCollect(event, context, waitMs), waitMs + 1_000, overtaken.signal)
        return answers.done ? verdictOf(answers.value) : { kind: 'overtaken' }
      } finally {
        thinking.delete(key)
      }
    },

    arrived(key, event) {
      const parsed = parseCommand(event)
      if (parsed === null || commands.resolve(parsed.name)?.isEscape !== true) return
      countEscapes(key, 1)
      thinking.get(key)?.abort()
    },
  }
}
