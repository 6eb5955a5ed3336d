/**
 * Questions to users. A question is on disk before it is sent, and its answer before the user is notified; the effect of the
 * answer is part of the same transaction.
 */
import type { TypedAnswers } from '../commands/session.ts'
import { HermesError } from '../lib/errors.ts'
import { raceAbort } from '../lib/timers.ts'
import type { ButtonPress } from '../message/change.ts'
import type { MessageEvent } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { targetOf } from '../message/source.ts'
import type { PressResult } from '../platforms/context.ts'
import { afterCommit, enlist, type Transaction, type TransactionPart } from '../store/query.ts'
import {
  applyPress,
  applyTypedAnswer,
  buttonsOf,
  commandPrefix,
  parseQuestionId,
  staleResult,
  typedHints,
  whoMayAnswer,
} from './answers.ts'
import type { QuestionsDeps } from './contract.ts'
import { createExpiryClock, createStaleApprovals, type ExpiryClock, type StaleApprovals } from './expiry.ts'
import { applyPlainAnswer, isPlainAnswer } from './plain-answer.ts'
import { insertQuestion, waitingQuestions } from './queries.ts'
import type { Question } from './question.ts'
import { approvalEventContext, approvalInfo, replyKeyOf, withdrawQuestion } from './resolve-question.ts'

export interface Questions extends TypedAnswers {
  /**
   * Prepares a question and its message for the caller's transaction. Only the newest confirmation of a command accepts an
   * answer; several approvals of tools may be open at the same time.
   */
  ask(question: Question): TransactionPart<string>
  /** For `PlatformQuestions.press`. Throws `http/starting` or `store/...` when nothing was stored. */
  press(press: ButtonPress): Promise<PressResult>
  /** Prepares an answer in plain words, see `isPlainAnswer`; the text is the reply. */
  answerPlain(sessionKey: SessionKey, event: MessageEvent): TransactionPart<string>
  /** Listens at once for the end of a question, so that an answer before `wait` is not missed. The store then has the result. */
  listen(id: string): QuestionListener
  /** The open questions by id. Empty most of the time. */
  readonly open: ReadonlyMap<string, OpenQuestion>
  /** Whether a turn of this session waits for an answer. */
  isAsking(sessionKey: string): boolean
  /** Whether a message of this session answers an open question without a command. */
  isPlainAnswer(sessionKey: SessionKey, event: MessageEvent): boolean
  /** The oldest open question of a session. Rejects `store/...`. */
  oldestWaiting(sessionKey: SessionKey): Promise<{ readonly text: string; readonly expiresAt: number } | undefined>
  /** Expires and cancels questions until the signal aborts. */
  run(signal: AbortSignal): Promise<void>
  /** A turn of this session has ended: its open questions are cancelled. Never rejects. */
  turnEnded(sessionKey: SessionKey): Promise<void>
  /** Sessions with a question whose turn is open, and what to call when that turn has ended. Empty for most sessions. */
  readonly turnEndListeners: ReadonlyMap<SessionKey, () => void>
  /** For answers whose code is loaded with the first one. */
  readonly deps: QuestionsDeps
}

export interface QuestionListener {
  /** Resolves once the question is resolved and stored; rejects with the signal's reason when that aborts first. */
  wait(signal: AbortSignal): Promise<void>
  /** Stops listening. May be called twice. */
  release(): void
}

type OpenQuestion = Pick<Question, 'kind' | 'sessionKey' | 'source'>

interface QuestionsState {
  readonly open: Map<string, OpenQuestion>
  readonly deps: QuestionsDeps
  readonly expiryClock: ExpiryClock
  readonly staleApprovals: StaleApprovals
}

export function createQuestions(given: Omit<QuestionsDeps, 'onResolved'>): Questions {
  const open = new Map<string, OpenQuestion>()
  const listeners = new Map<string, Set<() => void>>()
  const deps: QuestionsDeps = {
    ...given,
    onResolved(id) {
      open.delete(id)
      for (const notify of listeners.get(id) ?? []) notify()
    },
  }
  const expiryClock = createExpiryClock(deps)
  const staleApprovals = createStaleApprovals(deps, (question) => open.set(question.id, question))
  const state: QuestionsState = { open, deps, expiryClock, staleApprovals }
  return {
    ask: (question) => ask(state, question),
    press: (pressed) => press(deps, pressed),
    answerTyped: (sessionKey, answer) => rescheduling(state, (now) => applyTypedAnswer(deps, sessionKey, answer, now)),
    answerPlain: (sessionKey, event) => rescheduling(state, (now) => applyPlainAnswer(deps, sessionKey, event, now)),
    listen(id) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const listening = listeners.get(id) ?? new Set()
      listeners.set(id, listening.add(resolve))
      return {
        wait: (signal) => raceAbort(promise, signal),
        release() {
          if (listening.delete(resolve) && listening.size === 0 && listeners.get(id) === listening) listeners.delete(id)
        },
      }
    },
    open,
    isAsking: (sessionKey) =>
      open.size > 0 && [...open.values()].some((question) => question.sessionKey === sessionKey),
    isPlainAnswer: (sessionKey, event) =>
      isPlainAnswer(
        event,
        [...open.values()].filter((question) => question.sessionKey === sessionKey),
      ),
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
    deps,
  }
}

/** The next expiry may be another one afterwards. */
function rescheduling(
  { expiryClock }: QuestionsState,
  write: (now: number) => Transaction<string>,
): TransactionPart<string> {
  return { write, committed: () => expiryClock.reschedule() }
}

function ask(state: QuestionsState, asked: Question): TransactionPart<string> {
  const { deps, staleApprovals, open } = state
  const question = { ...asked, text: textOf(deps, asked) }
  const id = question.id ?? deps.newId(deps.clock())
  const target = targetOf(question.source)
  const { sessionKey, kind, replyTo } = question
  const buttons = deps.accounts.adapter(target)?.showsButtons === true ? buttonsOf(id, question) : []
  const showsButtons = buttons.length > 0
  const prefix = commandPrefix(deps, target.platform)
  const hints = showsButtons ? '' : typedHints(question, prefix)
  const text = hints === '' ? question.text : `${question.text}\n\n${hints}`
  const message = {
    key: replyKeyOf(id),
    target,
    sessionKey,
    kind: 'notice' as const,
    text,
    replyTo,
    buttons: showsButtons ? buttons : undefined,
  }
  const written = rescheduling(state, function* (now) {
    if (kind !== 'slash-confirm') {
      staleApprovals.approvalAsked(sessionKey)
      open.set(id, question)
    }
    if (kind === 'slash-confirm') yield* replaceConfirmations(deps, sessionKey, now)
    yield* insertQuestion(id, question, showsButtons, now)
    yield* afterCommit(() => publishRequested(deps, id, question))
    yield* enlist(deps.outbox.prepare(message), now)
    return text
  })
  return { ...written, rolledBack: () => void open.delete(id) }
}

/** An approval says who may give it; the confirmation of a command says so where other people read it. */
function textOf(deps: QuestionsDeps, question: Question): string {
  const { kind, source, text } = question
  const isSaid = kind === 'approval' || (kind === 'slash-confirm' && source.chatType !== 'dm')
  return isSaid ? `${text}\n\n${whoMayAnswer(deps, question)}` : text
}

/** Only the newest confirmation of a session accepts an answer. */
function* replaceConfirmations(deps: QuestionsDeps, sessionKey: SessionKey, now: number): Transaction<void> {
  for (const earlier of yield* waitingQuestions(sessionKey)) {
    if (earlier.kind === 'slash-confirm') yield* withdrawQuestion(deps, earlier, 'replaced', now)
  }
}

function publishRequested({ emit, emitsEvents, plugins }: QuestionsDeps, id: string, question: Question): void {
  if (emitsEvents(question.source))
    emit('approval:requested', {
      ...approvalEventContext({ ...question, id }),
      message: question.text,
      choices: question.choices.map(({ answer }) => answer),
    })
  const info = approvalInfo(question)
  if (info !== undefined) plugins?.approvalRequested(info)
}

async function press(deps: QuestionsDeps, pressed: ButtonPress): Promise<PressResult> {
  if (!deps.isOpen()) throw new HermesError('http/starting')
  const { platform, chatId: chat, userId: user = '' } = pressed.source
  const decision = deps.accounts.access(pressed)
  if (!decision.allowed) {
    deps.log.info({ event: 'approval.press_refused', platform, chat, user, reason: decision.reason }, 'press refused')
    return { status: 'refused', text: 'You may not use this agent.' }
  }
  const id = parseQuestionId(pressed.buttonId)
  if (id === undefined) return staleResult
  const now = deps.clock()
  const result = await deps.store.run(() => applyPress(deps, id, pressed, now))
  const { status } = result
  deps.log.info({ event: 'approval.pressed', question: id, platform, chat, user, status }, 'button pressed')
  return result
}
