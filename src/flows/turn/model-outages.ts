/**
 * What happens to a turn while the provider of the model does not answer: the user gets one notice, and after the retries
 * the turn is stored to wait for the end of the outage.
 */

import type { AgentConfig } from '../../agent/config.ts'
import { type ModelError, type ModelErrorKind, ModelOutage } from '../../agent/models/provider.ts'
import type { ModelTrouble } from '../../agent/models/request-model.ts'
import { noticeDelayMs, retryRulesOf } from '../../agent/models/retry-policy.ts'
import { postponeAttempt } from '../../inbox/attempts.ts'
import { formatDuration } from '../../lib/duration.ts'
import { messageOf } from '../../lib/errors.ts'
import { sleep as timerSleep } from '../../lib/timers.ts'
import { hasWaitingUser } from '../../message/event.ts'
import { checkFence } from '../../sessions/session-state.ts'
import type { Turn } from '../../sessions/turn.ts'
import { beginOutage } from '../../sessions/turns.ts'
import type { Runtime } from '../../store/runtime.ts'
import type { TurnNotices } from './turn-notices.ts'

export interface ModelOutages {
  /** Watches the model requests of one attempt of a turn. */
  watch(turn: Turn): TroubleWatch
  /**
   * Stores that the turn is continued later; false when it fails instead, with the error that its requests had. Rejects
   * `store/...`.
   */
  postpone(turn: Turn, error: unknown): Promise<boolean>
}

export interface TroubleWatch {
  /** A request of the turn began to fail. */
  begin(): ModelTrouble
  /** Ends the watch. May be called twice. */
  close(): void
}

export function createModelOutages(
  { store, clock, log }: Pick<Runtime, 'store' | 'clock' | 'log'>,
  notices: Pick<TurnNotices, 'waitingForModel'>,
  settings: () => Pick<AgentConfig, 'agent'>,
  sleep: (ms: number, signal: AbortSignal) => Promise<void> = timerSleep,
): ModelOutages {
  async function notify(turn: Turn, reason: string): Promise<void> {
    try {
      await notices.waitingForModel(turn.event, turn.id, reason)
    } catch (error) {
      log.warn(
        { event: 'turn.outage_notice_failed', turn: turn.id, err: error },
        `the notice about an outage of the model could not be stored: ${messageOf(error)}`,
      )
    }
  }

  return {
    watch(turn) {
      const closed = new AbortController()
      return {
        begin() {
          const noticeAt = clock() + noticeDelayMs(retryRulesOf(settings().agent))
          const untilNotice = (signal: AbortSignal) => sleep(Math.max(0, noticeAt - clock()), signal)
          return startTrouble(clock, untilNotice, closed.signal, (reason) => notify(turn, reason))
        },
        close: () => closed.abort('the attempt has ended'),
      }
    },

    async postpone(turn, error) {
      if (!(error instanceof ModelOutage) || !hasWaitingUser(turn.event)) return false
      const now = clock()
      const until = nextAttemptAt(error, settings().agent, now)
      if (until === null) return false
      await store.run(function* () {
        yield* checkFence(turn.fence)
        yield* beginOutage(turn.id, error.since)
        yield* postponeAttempt(turn.seq, until, error.message)
      })
      log.warn(
        { event: 'turn.postponed', turn: turn.id, session: turn.sessionKey, problem: error.kind, until },
        'the provider of the model does not answer; the turn waits',
      )
      await notify(turn, outageReason(error.server, error, now))
      return true
    },
  }
}

/** Sends the notice when calls still fail some time after the first failure. */
function startTrouble(
  clock: () => number,
  untilNotice: (signal: AbortSignal) => Promise<void>,
  closed: AbortSignal,
  notify: (reason: string) => Promise<void>,
): ModelTrouble {
  let reason = ''
  let waiting: AbortController | undefined

  async function notifyLater(stop: AbortController): Promise<void> {
    const signal = AbortSignal.any([closed, stop.signal])
    await untilNotice(signal)
    if (!signal.aborted) await notify(reason)
  }

  return {
    failed(server, failure) {
      reason = outageReason(server, failure, clock())
      if (waiting !== undefined) return
      waiting = new AbortController()
      void notifyLater(waiting)
    },
    recovered() {
      waiting?.abort('the provider answers')
      waiting = undefined
    },
  }
}

/** The pauses between the attempts grow from this part of the patience (30 s by default) ... */
const shortestPausePart = 60
/** ... to this part of it (5 minutes by default). */
const longestPausePart = 6
const maxShortestPauseMs = 30_000
const maxLongestPauseMs = 5 * 60_000

/** Null when the turn has waited long enough, or when the provider asks for a longer wait than is left. */
export function nextAttemptAt(
  { since, retryAfterMs = 0 }: Pick<ModelOutage, 'since' | 'retryAfterMs'>,
  { outage_patience, retry_window }: Pick<AgentConfig['agent'], 'outage_patience' | 'retry_window'>,
  now: number,
): number | null {
  const patienceMs = outage_patience * 1_000
  const endsAt = since + patienceMs
  if (now >= endsAt || now + retryAfterMs > endsAt) return null
  const shortestMs = Math.min(maxShortestPauseMs, patienceMs / shortestPausePart)
  const longestMs = Math.min(maxLongestPauseMs, patienceMs / longestPausePart)
  // Each pause is about as long as all pauses before it together.
  const waitedMs = Math.max(0, now - since - retry_window * 1_000)
  const pauseMs = Math.min(shortestMs + waitedMs, longestMs)
  return Math.ceil(Math.min(now + Math.max(pauseMs, retryAfterMs), endsAt))
}

/** Other failures are permanent. */
const reasons: Readonly<Partial<Record<ModelErrorKind, string>>> = {
  'rate-limit': 'accepts no more requests at the moment',
  overloaded: 'is overloaded or failing',
  network: 'cannot be reached',
  timeout: 'does not answer',
  'bad-response': 'sends responses that cannot be used',
}

/** Shorter waits are part of the usual retries. */
const minQuotedWaitMs = 60_000

/** The wait that the provider asks for, as users read it; null if it is too short to be quoted. */
export function requestedWait(retryAfterMs = 0): string | null {
  return retryAfterMs < minQuotedWaitMs ? null : formatDuration(retryAfterMs)
}

function outageReason(server: string, { kind, retryAfterMs = 0 }: ModelError, now: number): string {
  const reason = `The model's server ${server} ${reasons[kind] ?? 'fails'}.`
  const wait = requestedWait(retryAfterMs)
  if (wait === null) return reason
  const time = new Date(now + retryAfterMs).toISOString().slice(11, 16)
  return `${reason} It asks to wait ${wait}, until ${time} UTC.`
}
