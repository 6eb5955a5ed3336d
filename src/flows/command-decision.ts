/**
 * Asks hooks for a decision about a command before it runs (contract §1.5), only while no turn of the session runs. Commands
 * that bypass hooks, such as `/stop`, cannot be delayed or denied.
 */
import type { CommandDefinition } from '../commands/command.ts'
import type { CommandRegistry } from '../commands/registry.ts'
import { type CommandDecision, firstDecision } from '../hooks/decision.ts'
import type { HookRegistry } from '../hooks/registry.ts'
import { withTimeout } from '../lib/timers.ts'
import type { MessageEvent } from '../message/event.ts'
import type { HookEvents } from '../message/hook-events.ts'
import type { SessionKey } from '../message/ids.ts'

export interface CommandDecisionDeps {
  /** Undefined where no hooks are loaded. */
  readonly hooks: Pick<HookRegistry, 'emitCollect' | 'hasListeners'> | undefined
  readonly commands: Pick<CommandRegistry, 'bypassesHooks'>
  /** Whether a turn of this session is running. */
  isRunning(key: SessionKey): boolean
  timeoutMs(): number
}

export interface CommandDecisions {
  /**
   * `undefined`: hooks were not asked and are still to be notified. `superseded`: a command that bypasses hooks arrived before
   * they decided. Never rejects.
   */
  decide(
    definition: CommandDefinition,
    key: SessionKey,
    /** Undefined for a platform without gateway events. */
    context: HookEvents[`command:${string}`] | undefined,
  ): Promise<CommandDecision | { readonly kind: 'superseded' } | undefined>
  /** An event of the control queue of a session was stored. */
  onEnqueued(key: SessionKey, event: MessageEvent): void
}

export function createCommandDecisions(deps: CommandDecisionDeps): CommandDecisions {
  const { hooks, commands } = deps
  const pending = new Map<SessionKey, AbortController>()
  /** Commands that bypass hooks and have not run yet, by session. */
  const bypassing = new Map<SessionKey, number>()

  function countBypassing(key: SessionKey, more: 1 | -1): void {
    const count = Math.max(0, (bypassing.get(key) ?? 0) + more)
    if (count === 0) bypassing.delete(key)
    else bypassing.set(key, count)
  }

  return {
    async decide({ name, bypassesHooks }, key, context) {
      if (bypassesHooks === true) countBypassing(key, -1)
      const event = `command:${name}` as const
      const isAsked = bypassesHooks !== true && context !== undefined && hooks?.hasListeners(event) === true
      if (!isAsked || deps.isRunning(key)) return undefined
      if (bypassing.has(key)) return { kind: 'superseded' }
      const superseded = new AbortController()
      pending.set(key, superseded)
      try {
        const waitMs = deps.timeoutMs()
        const answers = await withTimeout(hooks.emitCollect(event, context, waitMs), waitMs + 1_000, superseded.signal)
        return answers.done ? firstDecision(answers.value) : { kind: 'superseded' }
      } finally {
        pending.delete(key)
      }
    },

    onEnqueued(key, event) {
      if (!commands.bypassesHooks(event)) return
      countBypassing(key, 1)
      pending.get(key)?.abort()
    },
  }
}
