/**
 * Ends questions without an answer: at their expiry, also one that was missed while no process ran, and after the turn that
 * asked has ended by a stop, a reset or a crash. An approval of a tool can be answered only while the process runs, so its
 * clock is paused while no process runs.
 */
import { onAbort } from '../lib/timers.ts'
import type { SessionKey } from '../message/ids.ts'
import { sessionKeyOfOpenTurn } from '../sessions/turns.ts'
import type { Transaction } from '../store/query.ts'
import type { QuestionsDeps } from './contract.ts'
import {
  nextExpiry,
  overdueQuestions,
  resumeClocks,
  type StoredQuestion,
  touchClocks,
  waitingApprovals,
  waitingQuestions,
} from './queries.ts'
import { expireQuestion, withdrawQuestion } from './resolve-question.ts'

export interface ExpiryClock {
  /** Never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** A question was added: the next expiry may be earlier. */
  reschedule(): void
}

/** Bounds the length of a transaction. */
const batchSize = 20
/** Checks again although nothing is due, because the system clock may be set. */
const maxSleepMs = 600_000
const retryDelayMs = 30_000
/** Interval while a tool waits: the most that a crash adds to its time. */
const heartbeatMs = 10_000

export function createExpiryClock(deps: QuestionsDeps): ExpiryClock {
  let sleeping = new AbortController()

  async function run(signal: AbortSignal): Promise<void> {
    const stopListening = onAbort(signal, () => sleeping.abort())
    await runLogged('the clocks of approvals could not be resumed', () => resumeClocks(deps.clock()))
    while (!signal.aborted) {
      sleeping = new AbortController()
      const ms = await expireDue()
      if (!signal.aborted) await deps.sleep(ms, sleeping.signal)
    }
    stopListening()
    await runLogged('the clocks of approvals could not be paused', () => touchClocks(deps.clock()))
  }

  async function runLogged(failed: string, work: () => Transaction<unknown>): Promise<void> {
    try {
      await deps.store.run(work)
    } catch (error) {
      deps.log.error({ event: 'approval.clock_failed', err: error }, failed)
    }
  }

  /** Returns the delay until the next check, ms. */
  async function expireDue(): Promise<number> {
    const now = deps.clock()
    try {
      const { expired, next, longest } = await deps.store.run(function* () {
        const due = yield* overdueQuestions(now, batchSize)
        for (const question of due) yield* expireQuestion(deps, question, now)
        const longest = (yield* touchClocks(now)) > 0 ? heartbeatMs : maxSleepMs
        return { expired: due.length, next: yield* nextExpiry(), longest }
      })
      if (expired > 0)
        deps.log.info({ event: 'approval.expired', questions: expired }, 'questions expired without an answer')
      return next === null ? maxSleepMs : Math.min(longest, Math.max(0, next - now))
    } catch (error) {
      deps.log.error({ event: 'approval.expiry_failed', err: error }, 'overdue questions could not be expired')
      return retryDelayMs
    }
  }

  return { run, reschedule: () => sleeping.abort() }
}

export type StaleApprovals = ReturnType<typeof createStaleApprovals>

/** @param found called for each question that the last process left open and whose turn continues */
export function createStaleApprovals(deps: QuestionsDeps, onStale: (question: StoredQuestion) => void) {
  const turnEndListeners = new Map<SessionKey, () => void>()

  async function cancelStaleOf(candidates: () => Transaction<StoredQuestion[]>): Promise<readonly StoredQuestion[]> {
    const now = deps.clock()
    try {
      return await deps.store.run(function* () {
        return yield* cancelStale(deps, yield* candidates(), now)
      })
    } catch (error) {
      deps.log.error({ event: 'approval.cancel_failed', err: error }, 'questions of ended turns could not be cancelled')
      return []
    }
  }

  function approvalAsked(sessionKey: SessionKey): void {
    turnEndListeners.set(sessionKey, () => void turnEnded(sessionKey))
  }

  async function turnEnded(sessionKey: SessionKey): Promise<void> {
    if (!turnEndListeners.delete(sessionKey)) return
    const stillOpen = await cancelStaleOf(() => waitingApprovalsOf(sessionKey))
    if (stillOpen.length > 0) approvalAsked(sessionKey)
  }

  return {
    /** Sessions in which a tool waits for an answer; call the listener when their turn has ended. */
    turnEndListeners,
    /** A tool waits for an answer in this session. */
    approvalAsked,
    /** A turn of this session has ended. Never rejects. */
    turnEnded,
    /** Cancels the questions that the last process left open. Never rejects. */
    async cancelLeftovers() {
      for (const question of await cancelStaleOf(waitingApprovals)) {
        approvalAsked(question.sessionKey)
        onStale(question)
      }
    },
  }
}

function* waitingApprovalsOf(sessionKey: SessionKey): Transaction<StoredQuestion[]> {
  return (yield* waitingQuestions(sessionKey)).filter(({ kind }) => kind !== 'slash-confirm')
}

/** Returns the questions whose turn is still open. */
function* cancelStale(
  deps: QuestionsDeps,
  questions: readonly StoredQuestion[],
  now: number,
): Transaction<StoredQuestion[]> {
  const stillOpen: StoredQuestion[] = []
  for (const question of questions) {
    const turnId = question.turnId ?? question.about?.turnId
    if (turnId === undefined || (yield* sessionKeyOfOpenTurn(turnId)) !== undefined) stillOpen.push(question)
    else yield* withdrawQuestion(deps, question, 'cancelled', now)
  }
  return stillOpen
}
