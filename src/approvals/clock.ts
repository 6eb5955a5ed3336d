/**
 * The clock of questions: what nobody has answered in time is ended then, or at the next start.
 */
import { messageOf } from '../lib/errors.ts'
import { expireQuestion } from './ending.ts'
import { nextExpiry, overdueQuestions } from './queries.ts'
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

export function keepTime(deps: QuestionsDeps): QuestionClock {
  let nap = new AbortController()

  async function run(signal: AbortSignal): Promise<void> {
    const wake = () => nap.abort()
    signal.addEventListener('abort', wake)
    while (!signal.aborted) {
      nap = new AbortController()
      const ms = await expireDue()
      if (!signal.aborted) await deps.pause(ms, nap.signal)
    }
    signal.removeEventListener('abort', wake)
  }

  /** Returns after how many ms to look again. */
  async function expireDue(): Promise<number> {
    const after = createAftermath(deps)
    const now = deps.clock()
    try {
      const { ended, next } = await deps.store.run(function* () {
        after.begin()
        const due = yield* overdueQuestions(now, perStep)
        for (const question of due) yield* expireQuestion(deps, question, after, now)
        return { ended: due.length, next: yield* nextExpiry() }
      })
      after.committed()
      if (ended > 0) deps.log.info({ questions: ended }, 'questions ended without an answer')
      return next === null ? longestNapMs : Math.min(longestNapMs, Math.max(0, next - now))
    } catch (error) {
      after.abandoned()
      deps.log.error({ error }, `questions whose time is over could not be ended: ${messageOf(error)}`)
      return afterFailureMs
    }
  }

  return { run, changed: () => nap.abort() }
}
