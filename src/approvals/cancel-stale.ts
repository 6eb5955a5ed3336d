/**
 * Questions whose turn has ended: a stop, a reset or a crash took away what waited for them, so nobody shall be able to
 * answer them any more.
 */
import { messageOf } from '../lib/errors.ts'
import type { SessionKey } from '../message/ids.ts'
import type { Transaction } from '../store/query.ts'
import { type AfterCommit, createAfterCommit, type QuestionsDeps } from './after-commit.ts'
import { type StoredQuestion, waitingApprovals, waitingQuestions } from './queries.ts'
import { cancelQuestion } from './resolve-question.ts'

export interface StaleApprovals {
  /** A tool waits for an answer there. */
  approvalAsked(sessionKey: SessionKey): void
  /** A turn has ended there. Costs nothing where no tool has asked. Never rejects. */
  turnEnded(sessionKey: SessionKey): Promise<void>
  /** Looks at what the last process left. Never rejects. */
  cancelLeftovers(): Promise<void>
}

export function createStaleApprovals(deps: QuestionsDeps): StaleApprovals {
  const sessionsWithApprovals = new Set<SessionKey>()

  async function cancelStaleOf(candidates: () => Transaction<StoredQuestion[]>): Promise<readonly StoredQuestion[]> {
    const after = createAfterCommit(deps)
    const now = deps.clock()
    try {
      const left = await deps.store.run(function* () {
        after.begin()
        return yield* cancelStale(deps, yield* candidates(), after, now)
      })
      after.committed()
      return left
    } catch (error) {
      after.abandoned()
      deps.log.error({ error }, `questions of turns that have ended could not be closed: ${messageOf(error)}`)
      return []
    }
  }

  return {
    approvalAsked: (sessionKey) => void sessionsWithApprovals.add(sessionKey),
    async turnEnded(sessionKey) {
      if (!sessionsWithApprovals.delete(sessionKey)) return
      const left = await cancelStaleOf(() => waitingApprovalsOf(sessionKey))
      if (left.length > 0) sessionsWithApprovals.add(sessionKey)
    },
    async cancelLeftovers() {
      for (const { sessionKey } of await cancelStaleOf(waitingApprovals)) sessionsWithApprovals.add(sessionKey)
    },
  }
}

function* waitingApprovalsOf(sessionKey: SessionKey): Transaction<StoredQuestion[]> {
  return (yield* waitingQuestions(sessionKey)).filter(({ kind }) => kind === 'approval')
}

/** Returns those that still make sense. */
function* cancelStale(
  deps: QuestionsDeps,
  questions: readonly StoredQuestion[],
  after: AfterCommit,
  now: number,
): Transaction<StoredQuestion[]> {
  const left: StoredQuestion[] = []
  for (const question of questions) {
    if (question.about === undefined || (yield* deps.turnIsOpen(question.about.turnId))) left.push(question)
    else yield* cancelQuestion(deps, question, after, now)
  }
  return left
}
