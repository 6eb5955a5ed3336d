/**
 * Questions to users. A question is on disk before it is sent, and its answer before the user is notified; the effect of the
 * answer is part of the same transaction.
 */
import { HermesError } from '../lib/errors.ts'
import type { ButtonPress } from '../message/change.ts'
import type { SessionKey } from '../message/ids.ts'
import { type SessionSource, targetOf } from '../message/source.ts'
import type { PressResult } from '../platforms/adapter.ts'
import type { Transaction } from '../store/query.ts'
import { type AfterCommit, createAfterCommit, type QuestionsDeps } from './after-commit.ts'
import { createStaleApprovals } from './cancel-stale.ts'
import { createExpiryClock } from './expiry-clock.ts'
import { findQuestion, insertQuestion, type StoredQuestion, waitingQuestions } from './queries.ts'
import { buttonsOf, parseQuestionId, type Question } from './question.ts'
import {
  answerQuestion,
  approvalEventContext,
  approvalInfo,
  expireQuestion,
  removeButtons,
  replaceQuestion,
  replyKeyOf,
} from './resolve-question.ts'
import { applyTypedAnswer, type TypedAnswer, typedHints } from './typed-answers.ts'

export type { QuestionsDeps } from './after-commit.ts'
export type { TypedAnswer } from './typed-answers.ts'

/** Writes within a caller's transaction, and returns the text for the user. */
export interface PreparedWrite {
  /** Runs within the caller's transaction, which may be retried. */
  write(now: number): Transaction<string>
  /** The transaction was committed. */
  committed(): void
  /** The transaction has failed permanently. */
  abandoned(): void
}

export interface Questions {
  /**
   * Prepares a question and its message for the caller's transaction. Only the newest confirmation of a command accepts an
   * answer; several approvals of tools may be open at the same time.
   */
  ask(question: Question): PreparedWrite
  /** For `PlatformContext.press`. Throws `http/starting` or `store/…` when nothing was stored. */
  press(press: ButtonPress): Promise<PressResult>
  /** Prepares a typed answer to the open questions of a session; the text is the reply. */
  answerTyped(sessionKey: SessionKey, answer: TypedAnswer): PreparedWrite
  /** The oldest open question of a session. Rejects `store/…`. */
  oldestWaiting(sessionKey: SessionKey): Promise<{ readonly text: string; readonly expiresAt: number } | undefined>
  /** Expires and cancels questions until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** A turn of this session has ended: its open questions are cancelled. Never rejects. */
  turnEnded(sessionKey: SessionKey): Promise<void>
  /** Sessions with a question whose turn is open, and what to call when that turn has ended. Empty for most sessions. */
  readonly turnEndListeners: ReadonlyMap<SessionKey, () => void>
}

const staleResult: PressResult = { status: 'stale', text: 'This question is no longer open.' }

export function createQuestions(deps: QuestionsDeps): Questions {
  const expiryClock = createExpiryClock(deps)
  const staleApprovals = createStaleApprovals(deps)

  function prepareWrite(work: (after: AfterCommit, now: number) => Transaction<string>): PreparedWrite {
    const after = createAfterCommit(deps)
    return {
      *write(now) {
        after.begin()
        return yield* work(after, now)
      },
      committed() {
        after.committed()
        expiryClock.reschedule()
      },
      abandoned: after.abandoned,
    }
  }

  function ask(question: Question): PreparedWrite {
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
    return prepareWrite(function* (after, now) {
      if (kind === 'approval') staleApprovals.approvalAsked(sessionKey)
      if (kind === 'slash-confirm') {
        for (const earlier of yield* waitingQuestions(sessionKey)) {
          if (earlier.kind === kind) yield* replaceQuestion(deps, earlier, after, now)
        }
      }
      yield* insertQuestion(id, question, showsButtons, now)
      const choices = question.choices.map(({ answer }) => answer)
      after.emit(question.source, 'approval:requested', {
        ...approvalEventContext({ ...question, id }),
        message: question.text,
        choices,
      })
      after.notifyPlugins((plugins) => {
        const asked = approvalInfo(question)
        if (asked !== undefined) plugins.approvalRequested(asked)
      })
      yield* after.send(message, now)
      return text
    })
  }

  async function press(pressed: ButtonPress): Promise<PressResult> {
    if (!deps.isOpen()) throw new HermesError('http/starting')
    const { platform, chatId: chat, userId: user = '' } = pressed.source
    const decision = deps.access(pressed.source)
    if (!decision.allowed) {
      deps.log.info({ event: 'approval.press_refused', platform, chat, user, reason: decision.reason }, 'press refused')
      return { status: 'refused', text: 'You may not use this agent.' }
    }
    const id = parseQuestionId(pressed.buttonId)
    if (id === undefined) return staleResult
    const after = createAfterCommit(deps)
    const now = deps.clock()
    try {
      const result = await deps.store.run(function* () {
        after.begin()
        return yield* answerPress(id, pressed, after, now)
      })
      after.committed()
      const { status } = result
      deps.log.info({ event: 'approval.pressed', question: id, platform, chat, user, status }, 'button pressed')
      return result
    } catch (error) {
      after.abandoned()
      throw error
    }
  }

  function* answerPress(id: string, pressed: ButtonPress, after: AfterCommit, now: number): Transaction<PressResult> {
    const { source, buttonId, messageId } = pressed
    const question = yield* findQuestion(id)
    if (question === undefined || !isSameChat(question, source)) return staleResult
    const choice = question.choices[buttonsOf(id, question).findIndex((button) => button.id === buttonId)]
    if (choice === undefined) return staleResult
    if (!mayAnswer(question, source)) return { status: 'refused', text: 'Only the user who is asked may answer this.' }
    if (question.state === 'waiting' && question.expiresAt > now) {
      yield* answerQuestion(deps, question, { choice, by: source, messageId }, after, now)
      return { status: 'taken', text: choice.effect.says }
    }
    return yield* rejectLatePress(question, messageId, after, now)
  }

  /** Removes the buttons if they are still shown. */
  function* rejectLatePress(
    question: StoredQuestion,
    messageId: string,
    after: AfterCommit,
    now: number,
  ): Transaction<PressResult> {
    if (question.state === 'waiting') yield* expireQuestion(deps, question, after, now, messageId)
    const chosen = question.choices.find(({ answer }) => answer === question.answer)
    if (chosen === undefined) {
      const ending = { kind: 'unanswered', says: question.unanswered.says } as const
      yield* removeButtons(deps, question, ending, messageId, after, now)
      return { status: 'stale', text: `This has expired. ${question.unanswered.says}` }
    }
    yield* removeButtons(deps, question, { kind: 'chosen', choice: chosen }, messageId, after, now)
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
    answerTyped: (sessionKey, answer) =>
      prepareWrite((after, now) => applyTypedAnswer(deps, sessionKey, answer, after, now)),
    async oldestWaiting(sessionKey) {
      const now = deps.clock()
      const all = await deps.store.run(() => waitingQuestions(sessionKey))
      return all.find(({ expiresAt }) => expiresAt > now)
    },
    async run(signal) {
      await Promise.all([expiryClock.run(signal), staleApprovals.cancelLeftovers()])
    },
    turnEnded: staleApprovals.turnEnded,
    turnEndListeners: staleApprovals.turnEndListeners,
  }
}

/** A press counts only in the chat of the question. */
function isSameChat({ source }: StoredQuestion, { platform, account, chatId }: SessionSource): boolean {
  return source.platform === platform && source.account === account && source.chatId === chatId
}
