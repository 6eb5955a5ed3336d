/**
 * Questions whose turn has ended: a stop, a reset or a crash took away what waited for them, so nobody shall be able to
 * answer them any more.
 */
import { messageOf } from '../lib/errors.ts'
import type { SessionKey } from '../message/ids.ts'
import type { UseCase } from '../store/query.ts'
import { cancelQuestion } from './ending.ts'
import { type StoredQuestion, waitingApprovals, waitingQuestions } from './queries.ts'
import { type Aftermath, createAftermath, type QuestionsDeps } from './room.ts'

export interface Orphans {
  /** A tool waits for an answer there. */
  asked(sessionKey: SessionKey): void
  /** A turn has ended there. Costs nothing where no tool has asked. Never rejects. */
  turnEnded(sessionKey: SessionKey): Promise<void>
  /** Looks at what the last process left. Never rejects. */
  begin(): Promise<void>
}

export function createOrphans(deps: QuestionsDeps): Orphans {
  const asking = new Set<SessionKey>()

  async function drop(candidates: () => UseCase<StoredQuestion[]>): Promise<readonly StoredQuestion[]> {
    const after = createAftermath(deps)
    const now = deps.clock()
    try {
      const left = await deps.store.run(function* () {
        after.begin()
        return yield* keepOpen(deps, yield* candidates(), after, now)
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
    asked: (sessionKey) => void asking.add(sessionKey),
    async turnEnded(sessionKey) {
      if (!asking.delete(sessionKey)) return
      const left = await drop(() => approvalsOf(sessionKey))
      if (left.length > 0) asking.add(sessionKey)
    },
    async begin() {
      for (const { sessionKey } of await drop(waitingApprovals)) asking.add(sessionKey)
    },
  }
}

function* approvalsOf(sessionKey: SessionKey): UseCase<StoredQuestion[]> {
  return (yield* waitingQuestions(sessionKey)).filter(({ kind }) => kind === 'approval')
}

/** Returns those that still make sense. */
function* keepOpen(
  deps: QuestionsDeps,
  questions: readonly StoredQuestion[],
  after: Aftermath,
  now: number,
): UseCase<StoredQuestion[]> {
  const left: StoredQuestion[] = []
  for (const question of questions) {
    if (question.about === undefined || (yield* deps.turnIsOpen(question.about.turnId))) left.push(question)
    else yield* cancelQuestion(deps, question, after, now)
  }
  return left
}
