/**
 * Asks hooks for a decision about a command before it runs (contract §1.5), only while no turn of the session runs. Commands
 * that bypass hooks, such as `/stop`, cannot be delayed or denied. Commands of a session run one after another: what one waits for
 * ends when such a command was stored after it.
 */
import type { CommandDefinition } from '../../commands/command.ts'
import type { CommandRegistry } from '../../commands/registry.ts'
import { type CommandDecision, firstDecision } from '../../hooks/decision.ts'
import type { HookRegistry } from '../../hooks/registry.ts'
import { withTimeout } from '../../lib/timers.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { HookEvents } from '../../message/hook-events.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { RunningTurns } from '../../sessions/running-turns.ts'

export interface CommandDecisions {
  /**
   * `undefined`: hooks were not asked and are still to be notified. `superseded`: a command that bypasses hooks arrived before
   * they decided. Never rejects.
   */
  decide(
    definition: CommandDefinition,
    of: CommandPosition,
    /** Undefined for a platform without gateway events. */
    context: HookEvents[`command:${string}`] | undefined,
  ): Promise<CommandDecision | { readonly kind: 'superseded' } | undefined>
  /** An event of the control queue of a session was stored. */
  onEnqueued(key: SessionKey, event: MessageEvent, seq: number): void
  /** Runs what may take long, with a signal that is aborted when a command that bypasses hooks is or was stored after this one. */
  untilSuperseded<Result>(of: CommandPosition, run: (signal: AbortSignal) => Promise<Result>): Promise<Result>
}

/** The place of a command in the control queue of its session. */
export interface CommandPosition {
  readonly key: SessionKey
  /** Undefined for a command of the agent, which is in no queue. */
  readonly seq: number | undefined
}

const maxSessions = 1_000

export function createCommandDecisions(
  hooks: Pick<HookRegistry, 'emitCollect' | 'hasListeners'>,
  commands: Pick<CommandRegistry, 'bypassesHooks'>,
  runningTurns: Pick<RunningTurns, 'isRunning'>,
  timeoutMs: () => number,
): CommandDecisions {
  /** The last command of a session that bypasses hooks. It runs before those that are older, which may not have run yet. */
  const lastBypassing = new Map<SessionKey, number>()
  const running = new Set<{ readonly key: SessionKey; readonly abort: AbortController }>()

  const isSuperseded = ({ key, seq }: CommandPosition) =>
    seq !== undefined && seq < (lastBypassing.get(key) ?? Number.NEGATIVE_INFINITY)

  async function untilSuperseded<Result>(
    of: CommandPosition,
    run: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const entry = { key: of.key, abort: new AbortController() }
    if (isSuperseded(of)) entry.abort.abort()
    running.add(entry)
    try {
      return await run(entry.abort.signal)
    } finally {
      running.delete(entry)
    }
  }

  return {
    untilSuperseded,

    async decide({ name, bypassesHooks }, of, context) {
      const { key } = of
      const event = `command:${name}` as const
      const isAsked = bypassesHooks !== true && context !== undefined && hooks.hasListeners(event) === true
      if (!isAsked || runningTurns.isRunning(key)) return undefined
      if (isSuperseded(of)) return { kind: 'superseded' }
      const waitMs = timeoutMs()
      const answers = await untilSuperseded(of, (signal) =>
        withTimeout(hooks.emitCollect(event, context, waitMs), waitMs + 1_000, signal),
      )
      return answers.done ? firstDecision(answers.value) : { kind: 'superseded' }
    },

    onEnqueued(key, event, seq) {
      if (!commands.bypassesHooks(event)) return
      const last = Math.max(seq, lastBypassing.get(key) ?? seq)
      // The oldest entry comes first.
      lastBypassing.delete(key)
      lastBypassing.set(key, last)
      const [oldest] = lastBypassing.keys()
      if (lastBypassing.size > maxSessions && oldest !== undefined) lastBypassing.delete(oldest)
      for (const { key: busy, abort } of running) if (busy === key) abort.abort()
    },
  }
}
