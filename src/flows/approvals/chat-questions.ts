/**
 * The open questions of a chat, and answers to them, for adapters whose clients are programs. Loaded with the first of them.
 */
import { waitingApprovals } from '../../approvals/queries.ts'
import type { PlatformQuestions } from '../../platforms/context.ts'
import { findOpenTurn, sessionKeyOfOpenTurn } from '../../sessions/turns.ts'
import type { Transaction } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'

export function createChatQuestions({
  store,
  clock,
  press,
  owner,
}: {
  readonly store: Store
  readonly clock: () => number
  readonly press: PlatformQuestions['press']
  readonly owner: { readonly platform: string; readonly account: string }
}): PlatformQuestions {
  function* list(chatId: string, now: number): Transaction<Awaited<ReturnType<PlatformQuestions['list']>>> {
    const questions = []
    for (const {
      id,
      kind,
      source,
      text,
      choices,
      about,
      turnId = about?.turnId,
      expiresAt,
    } of yield* waitingApprovals()) {
      if (source.platform !== owner.platform || source.account !== owner.account || source.chatId !== chatId) continue
      if (turnId === undefined || kind === 'slash-confirm' || expiresAt <= now) continue
      const sessionKey = yield* sessionKeyOfOpenTurn(turnId)
      const turn = sessionKey === undefined ? undefined : yield* findOpenTurn(sessionKey)
      if (turn?.id !== turnId) continue
      questions.push({
        ...{ id, kind, text, expiresAt, seq: turn.seq },
        choices: choices.filter(({ answer }) => answer !== 'other').map(({ answer, label }) => ({ answer, label })),
        subject: about && { ...about, patternKeys: [...about.patternKeys] },
      })
    }
    return questions
  }

  return {
    press,
    list: (chatId) => store.run(() => list(chatId, clock())),
    answer: ({ source, id, answer, text }) =>
      press({
        source,
        buttonId: answer === undefined ? `cl:${id}:0` : `appr:${id}:${answer}`,
        text,
      }),
  }
}
