/**
 * The clock of questions: what nobody has answered in time is ended then, or at the next start. What a tool waits for can
 * be answered only while the process lives, so its clock stands still while there is none.
 */
import { messageOf } from '../lib/errors.ts'
import type { Transaction } from '../store/query.ts'
import { createAfterCommit, type QuestionsDeps } from './after-commit.ts'
import { nextExpiry, overdueQuestions, resumeClocks, touchClocks } from './queries.ts'
import { expireQuestion } from './resolve-question.ts'

export interface ExpiryClock {
  /** Never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** A question was added: the next moment may be an earlier one. */
  reschedule(): void
}

/** At once, so that no transaction grows without bound. */
const batchSize = 20
/** Looks again although nothing seems to be due: clocks are set. */
const maxSleepMs = 600_000
const retryDelayMs = 30_000
/** While a tool waits: what a crash may add to its time, at most. */
const heartbeatMs = 10_000

export function createExpiryClock(deps: QuestionsDeps): ExpiryClock {
  let sleeping = new AbortController()

  async function run(signal: AbortSignal): Promise<void> {
    const wake = () => sleeping.abort()
    signal.addEventListener('abort', wake)
    await runLogged('clocks could not go on', () => resumeClocks(deps.clock()))
    while (!signal.aborted) {
      sleeping = new AbortController()
      const ms = await expireDue()
      if (!signal.aborted) await deps.sleep(ms, sleeping.signal)
    }
    signal.removeEventListener('abort', wake)
    await runLogged('clocks could not be stopped', () => touchClocks(deps.clock()))
  }

  async function runLogged(failed: string, work: () => Transaction<unknown>): Promise<void> {
    try {
      await deps.store.run(work)
    } catch (error) {
      deps.log.error({ error }, `${failed}: ${messageOf(error)}`)
    }
  }

  /** Returns after how many ms to look again. */
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
      if (ended > 0) deps.log.info({ questions: ended }, 'questions ended without an answer')
      return next === null ? maxSleepMs : Math.min(longest, Math.max(0, next - now))
    } catch (error) {
      after.abandoned()
      deps.log.error({ error }, `questions whose time is over could not be ended: ${messageOf(error)}`)
      return retryDelayMs
    }
  }

  return { run, reschedule: () => sleeping.abort() }
}
