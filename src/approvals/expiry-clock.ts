/**
 * Expires questions that were not answered in time, also at the next start. An approval of a tool can be answered only while
 * the process lives, so its clock is paused while no process runs.
 */
import type { Transaction } from '../store/query.ts'
import { createAfterCommit, type QuestionsDeps } from './after-commit.ts'
import { nextExpiry, overdueQuestions, resumeClocks, touchClocks } from './queries.ts'
import { expireQuestion } from './resolve-question.ts'

export interface ExpiryClock {
  /** Never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** A question was added: the next expiry may be earlier. */
  reschedule(): void
}

/** Per transaction, to bound its length. */
const batchSize = 20
/** Checks again although nothing is due, because the system clock may be set. */
const maxSleepMs = 600_000
const retryDelayMs = 30_000
/** Interval while a tool waits: the most that a crash adds to its time. */
const heartbeatMs = 10_000

export function createExpiryClock(deps: QuestionsDeps): ExpiryClock {
  let sleeping = new AbortController()

  async function run(signal: AbortSignal): Promise<void> {
    const wake = () => sleeping.abort()
    signal.addEventListener('abort', wake)
    await runLogged('the clocks of approvals could not be resumed', () => resumeClocks(deps.clock()))
    while (!signal.aborted) {
      sleeping = new AbortController()
      const ms = await expireDue()
      if (!signal.aborted) await deps.sleep(ms, sleeping.signal)
    }
    signal.removeEventListener('abort', wake)
    await runLogged('the clocks of approvals could not be paused', () => touchClocks(deps.clock()))
  }

  async function runLogged(failed: string, work: () => Transaction<unknown>): Promise<void> {
    try {
      await deps.store.run(work)
    } catch (error) {
      deps.log.error({ event: 'approval.clock_failed', error }, failed)
    }
  }

  /** Returns the delay until the next check, ms. */
  async function expireDue(): Promise<number> {
    const after = createAfterCommit(deps)
    const now = deps.clock()
    try {
      const { ended, next, longest } = await deps.store.run(function* () {
        after.begin()
        const due = yield* overdueQuestions(now, batchSize)
        for (const question of due) yield* expireQuestion(deps, question, after, now)
        const longest = (yield* touchClocks(now)) > 0 ? heartbeatMs : maxSleepMs
        return { ended: due.length, next: yield* nextExpiry(), longest }
      })
      after.committed()
      if (ended > 0)
        deps.log.info({ event: 'approval.expired', questions: ended }, 'questions expired without an answer')
      return next === null ? maxSleepMs : Math.min(longest, Math.max(0, next - now))
    } catch (error) {
      after.abandoned()
      deps.log.error({ event: 'approval.expiry_failed', error }, 'overdue questions could not be expired')
      return retryDelayMs
    }
  }

  return { run, reschedule: () => sleeping.abort() }
}
