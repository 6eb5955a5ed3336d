/**
 * Asking people: a question is on disk before anybody sees it, its answer before whoever answered is told, and what
 * follows from the answer lies in the same transaction.
 */
import { HermesError } from '../lib/errors.ts'
import type { ButtonPress } from '../message/change.ts'
import type { SessionKey } from '../message/ids.ts'
import { type SessionSource, targetOf } from '../message/source.ts'
import type { PressAnswer } from '../platforms/adapter.ts'
import type { UseCase } from '../store/query.ts'
import { keepTime } from './clock.ts'
import {
  answerQuestion,
  approvalContext,
  expireQuestion,
  replaceQuestion,
  replyKeyOf,
  takeButtons,
  watchedApproval,
} from './ending.ts'
import { createOrphans } from './orphans.ts'
import { findQuestion, insertQuestion, type StoredQuestion, waitingQuestions } from './queries.ts'
import { buttonsOf, type Question, questionIdIn } from './question.ts'
import { type Aftermath, createAftermath, type QuestionsDeps } from './room.ts'
import { answerTyped, type TypedAnswer, typedHints } from './typed.ts'

export type { QuestionsDeps } from './room.ts'
export type { TypedAnswer } from './typed.ts'

/** Something that ends in a caller's transaction, and returns a text for its writer. */
export interface Prepared {
  /** Stores it within the caller's transaction, which may be tried again. */
  write(now: number): UseCase<string>
  /** The transaction is on disk. */
  committed(): void
  /** The transaction has failed for good. */
  abandoned(): void
}

export interface Questions {
  /**
   * A question and its message, for the transaction of whoever asks; the text is what people read. Of commands that want
   * a yes only the newest takes an answer; tools may ask for several things side by side.
   */
  ask(question: Question): Prepared
  /** For `PlatformContext.press`. Throws `http/starting` or `store/…` when nothing was stored. */
  press(press: ButtonPress): Promise<PressAnswer>
  /** What somebody typed in answer to what waits in a session; the text tells him what became of it. */
  typed(sessionKey: SessionKey, answer: TypedAnswer): Prepared
  /** The question that waits longest in a session. Rejects `store/…`. */
  waiting(sessionKey: SessionKey): Promise<{ readonly text: string; readonly expiresAt: number } | undefined>
  /** Ends the questions whose time or whose turn is over, now and whenever it comes to that. Resolves when the signal aborts. */
  keepTime(signal: AbortSignal): Promise<void>
  /** A turn of this session has ended: what it still asks is void. Never rejects. */
  turnEnded(sessionKey: SessionKey): Promise<void>
}

const nothingAsks: PressAnswer = { status: 'stale', text: 'Nothing asks for this any more.' }

export function createQuestions(deps: QuestionsDeps): Questions {
  const time = keepTime(deps)
  const orphans = createOrphans(deps)

  function prepared(work: (after: Aftermath, now: number) => UseCase<string>): Prepared {
    const after = createAftermath(deps)
    return {
      *write(now) {
        after.begin()
        return yield* work(after, now)
      },
      committed() {
        after.committed()
        time.changed()
      },
      abandoned: after.abandoned,
    }
  }

  function ask(question: Question): Prepared {
    const id = question.id ?? deps.newId(deps.clock())
    const target = targetOf(question.source)
    const { sessionKey, kind, replyTo } = question
    const showsButtons = deps.showsButtons(target)
    const prefix = deps.commandPrefix(target.platform)
    const text = showsButtons ? question.text : `${question.text}\n\n${typedHints(question, prefix)}`
    const message = {
      key: replyKeyOf(id),
      target,
      sessionKey,
      kind: 'notice' as const,
      text,
      ...(replyTo === undefined ? {} : { replyTo }),
      ...(showsButtons ? { buttons: buttonsOf(id, question) } : {}),
    }
    return prepared(function* (after, now) {
      if (kind === 'approval') orphans.asked(sessionKey)
      if (kind === 'slash-confirm') {
        for (const earlier of yield* waitingQuestions(sessionKey)) {
          if (earlier.kind === kind) yield* replaceQuestion(deps, earlier, after, now)
        }
      }
      yield* insertQuestion(id, question, showsButtons, now)
      const choices = question.choices.map(({ answer }) => answer)
      after.tell(question.source, 'approval:requested', {
        ...approvalContext({ ...question, id }),
        message: question.text,
        choices,
      })
      after.watch((plugins) => {
        const asked = watchedApproval(question)
        if (asked !== undefined) plugins.approvalAsked(asked)
      })
      yield* after.send(message, now)
      return text
    })
  }

  async function press(pressed: ButtonPress): Promise<PressAnswer> {
    if (!deps.open()) throw new HermesError('http/starting')
    const { platform, chatId: chat, userId: user = '' } = pressed.source
    const verdict = deps.access(pressed.source)
    if (!verdict.allowed) {
      deps.log.info({ platform, chat, user, reason: verdict.reason }, 'press refused')
      return { status: 'refused', text: 'You may not use this agent.' }
    }
    const id = questionIdIn(pressed.buttonId)
    if (id === undefined) return nothingAsks
    const after = createAftermath(deps)
    const now = deps.clock()
    try {
      const answer = await deps.store.run(function* () {
        after.begin()
        return yield* take(id, pressed, after, now)
      })
      after.committed()
      deps.log.info({ question: id, platform, chat, user, status: answer.status }, 'button pressed')
      return answer
    } catch (error) {
      after.abandoned()
      throw error
    }
  }

  function* take(id: string, pressed: ButtonPress, after: Aftermath, now: number): UseCase<PressAnswer> {
    const { source, buttonId, messageId } = pressed
    const question = yield* findQuestion(id)
    if (question === undefined || !isThere(question, source)) return nothingAsks
    const choice = question.choices[buttonsOf(id, question).findIndex((button) => button.id === buttonId)]
    if (choice === undefined) return nothingAsks
    if (!mayAnswer(question, source))
      return { status: 'refused', text: 'Only the person who is asked may answer this.' }
    if (question.state === 'waiting' && question.expiresAt > now) {
      yield* answerQuestion(deps, question, { choice, by: source, messageId }, after, now)
      return { status: 'taken', text: choice.effect.says }
    }
    return yield* refuseLate(question, messageId, after, now)
  }

  /** The buttons go, should they still be there. */
  function* refuseLate(
    question: StoredQuestion,
    messageId: string,
    after: Aftermath,
    now: number,
  ): UseCase<PressAnswer> {
    if (question.state === 'waiting') yield* expireQuestion(deps, question, after, now, messageId)
    const chosen = question.choices.find(({ answer }) => answer === question.answer)
    if (chosen === undefined) {
      const ending = { kind: 'unanswered', says: question.unanswered.says } as const
      yield* takeButtons(deps, question, ending, messageId, after, now)
      return { status: 'stale', text: `This has expired. ${question.unanswered.says}` }
    }
    yield* takeButtons(deps, question, { kind: 'chosen', choice: chosen }, messageId, after, now)
    return { status: 'stale', text: `This was answered before: ${chosen.label}.` }
  }

  function mayAnswer(question: StoredQuestion, by: SessionSource): boolean {
    const { userId = '', userIdAlt = '' } = question.source
    const isSame = (by.userId ?? '') === userId || (userIdAlt !== '' && by.userIdAlt === userIdAlt)
    return isSame || deps.isShared(question.source)
  }

  return {
    ask,
    press,
    typed: (sessionKey, answer) => prepared((after, now) => answerTyped(deps, sessionKey, answer, after, now)),
    async waiting(sessionKey) {
      const now = deps.clock()
      const all = await deps.store.run(() => waitingQuestions(sessionKey))
      return all.find(({ expiresAt }) => expiresAt > now)
    },
    async keepTime(signal) {
      await Promise.all([time.run(signal), orphans.begin()])
    },
    turnEnded: orphans.turnEnded,
  }
}

/** A press counts only where the question was asked. */
function isThere({ source }: StoredQuestion, { platform, account, chatId }: SessionSource): boolean {
  return source.platform === platform && source.account === account && source.chatId === chatId
}
