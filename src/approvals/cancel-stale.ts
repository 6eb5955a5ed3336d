/**
 * Cancels questions whose turn has ended by a stop, a reset or a crash, so that nobody can answer them.
 */
import type { SessionKey } from '../message/ids.ts'
import type { Transaction } from '../store/query.ts'
import { type AfterCommit, createAfterCommit, type QuestionsDeps } from './after-commit.ts'
import { type StoredQuestion, waitingApprovals, waitingQuestions } from './queries.ts'
import { cancelQuestion } from './resolve-question.ts'

export interface StaleApprovals {
  /** Sessions in which a tool waits for an answer; call the listener when their turn has ended. */
  readonly turnEndListeners: ReadonlyMap<SessionKey, () => void>
  /** A tool waits for an answer in this session. */
  approvalAsked(sessionKey: SessionKey): void
  /** A turn of this session has ended. Never rejects. */
  turnEnded(sessionKey: SessionKey): Promise<void>
  /** Cancels what the last process left. Never rejects. */
  cancelLeftovers(): Promise<void>
}

export function createStaleApprovals(deps: QuestionsDeps): StaleApprovals {
  const turnEndListeners = new Map<SessionKey, () => void>()

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
      deps.log.error({ event: 'approval.cancel_failed', error }, 'questions of ended turns could not be cancelled')
      return []
    }
  }

  function approvalAsked(sessionKey: SessionKey): void {
    turnEndListeners.set(sessionKey, () => void turnEnded(sessionKey))
  }

  async function turnEnded(sessionKey: SessionKey): Promise<void> {
    if (!turnEndListeners.delete(sessionKey)) return
    const left = await cancelStaleOf(() => waitingApprovalsOf(sessionKey))
    if (left.length > 0) approvalAsked(sessionKey)
  }

  return {
    turnEndListeners,
    approvalAsked,
    turnEnded,
    async cancelLeftovers() {
      for (const { sessionKey } of await cancelStaleOf(waitingApprovals)) approvalAsked(sessionKey)
    },
  }
}

function* waitingApprovalsOf(sessionKey: SessionKey): Transaction<StoredQuestion[]> {
  return (yield* waitingQuestions(sessionKey)).filter(({ kind }) => kind === 'approval')
}

/** Returns the questions whose turn is still open. */
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
