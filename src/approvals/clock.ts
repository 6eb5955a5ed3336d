/**
 * The clock of questions: what nobody has answered in time is ended then, or at the next start. What a tool waits for can
 * be answered only while the process lives, so its clock stands still while there is none.
 */
import { messageOf } from '../lib/errors.ts'
import type { UseCase } from '../store/query.ts'
import { expireQuestion } from './ending.ts'
import { keepClocks, nextExpiry, overdueQuestions, resumeClocks } from './queries.ts'
import { createAftermath, type QuestionsDeps } from './room.ts'

export interface QuestionClock {
  /** Never rejects. */
  run(signal: AbortSignal): Promise<void>
  /** A question was added: the next moment may be an earlier one. */
  changed(): void
}

/** At once, so that no transaction grows without bound. */
const perStep = 20
/** Looks again although nothing seems to be due: clocks are set. */
const longestNapMs = 600_000
const afterFailureMs = 30_000
/** While a tool waits: what a crash may add to its time, at most. */
const seenEveryMs = 10_000

export function keepTime(deps: QuestionsDeps): QuestionClock {
  let nap = new AbortController()

  async function run(signal: AbortSignal): Promise<void> {
    const wake = () => nap.abort()
    signal.addEventListener('abort', wake)
    await note('clocks could not go on', () => resumeClocks(deps.clock()))
    while (!signal.aborted) {
      nap = new AbortController()
      const ms = await expireDue()
      if (!signal.aborted) await deps.pause(ms, nap.signal)
    }
    signal.removeEventListener('abort', wake)
    await note('clocks could not be stopped', () => keepClocks(deps.clock()))
  }

  async function note(failed: string, work: () => UseCase<unknown>): Promise<void> {
    try {
      await deps.store.run(work)
    } catch (error) {
      deps.log.error({ error }, `${failed}: ${messageOf(error)}`)
    }
  }

  /** Returns after how many ms to look again. */
  async function expireDue(): Promise<number> {
    const after = createAftermath(deps)
    const now = deps.clock()
    try {
      const { ended, next, longest } = await deps.store.run(function* () {
        after.begin()
        const due = yield* overdueQuestions(now, perStep)
        for (const question of due) yield* expireQuestion(deps, question, after, now)
        const longest = (yield* keepClocks(now)) > 0 ? seenEveryMs : longestNapMs
        return { ended: due.length, next: yield* nextExpiry(), longest }
      })
      after.committed()
      if (ended > 0) deps.log.info({ questions: ended }, 'questions ended without an answer')
      return next === null ? longestNapMs : Math.min(longest, Math.max(0, next - now))
    } catch (error) {
      after.abandoned()
      deps.log.error({ error }, `questions whose time is over could not be ended: ${messageOf(error)}`)
      return afterFailureMs
    }
  }

  return { run, changed: () => nap.abort() }
}
