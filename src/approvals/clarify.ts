/**
 * A question of the agent to its user (`clarify`, contract S4). It belongs to the turn, the call and its text: a turn that is
 * resumed after a crash finds it, open or answered, and does not ask twice. Loaded with the first question.
 */
import { createHash } from 'node:crypto'
import type { AskUser, UserQuestion, UserResponse } from '../agent/tools/clarify.ts'
import { onAbort } from '../lib/timers.ts'
import { shorten } from '../lib/visible-text.ts'
import { mayBeAsked } from '../message/event.ts'
import type { SessionKey } from '../message/ids.ts'
import { enlist, type Transaction } from '../store/query.ts'
import { findQuestion, openTurnOf, type StoredQuestion } from './queries.ts'
import type { Choice, Question } from './question.ts'
import type { AskingCalls } from './tool-approval.ts'

/** The tool call that asks. */
export interface AskingCall {
  readonly turnId: string
  readonly callId: string
}

/** Rejects `store/…`, or with the signal's reason when it aborts. */
export function createAskUser(deps: AskingCalls, call: AskingCall): AskUser {
  return async (question, signal) => {
    const id = questionIdOf(call, question)
    const answer = deps.questions.listen(id)
    let stopListening: (() => void) | undefined
    try {
      const state = await storeQuestion(deps, id, call, question)
      if (state.kind === 'unattended') return { kind: 'unattended' }
      if (state.kind === 'resolved') return responseOf(question, state.question)
      deps.failpoint?.('clarify:waiting')
      stopListening = onAbort(deps.stopping, () => deps.abortTurn(state.sessionKey))
      await deps.waitInTurn(state.sessionKey, () => answer.wait(signal), signal)
      return responseOf(question, await deps.store.run(() => findQuestion(id)))
    } finally {
      stopListening?.()
      answer.release()
    }
  }
}

function questionIdOf({ turnId, callId }: AskingCall, question: UserQuestion): string {
  const text = JSON.stringify([turnId, callId, 'clarify', question])
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

type StoredState =
  | { readonly kind: 'unattended' }
  | { readonly kind: 'resolved'; readonly question: StoredQuestion }
  | { readonly kind: 'waiting'; readonly sessionKey: SessionKey }

/** Finds the question of an earlier attempt, or asks: one transaction. */
async function storeQuestion(
  deps: AskingCalls,
  id: string,
  { turnId }: AskingCall,
  asked: UserQuestion,
): Promise<StoredState> {
  const now = deps.clock()
  return await deps.store.run(function* (): Transaction<StoredState> {
    const open = yield* openTurnOf(turnId)
    if (open === undefined || !mayBeAsked(open.event)) return { kind: 'unattended' }
    const { event, sessionKey } = open
    const known = yield* findQuestion(id)
    if (known?.state === 'waiting') return { kind: 'waiting', sessionKey }
    if (known !== undefined) return { kind: 'resolved', question: known }
    const question = deps.questions.ask({
      ...questionFor(deps, asked),
      id,
      kind: 'clarify',
      sessionKey,
      source: event.source,
      turnId,
      replyTo: event.messageId,
    })
    yield* enlist(question, now)
    return { kind: 'waiting', sessionKey }
  })
}

const maxLabelChars = 60

function questionFor(
  { redact, settings }: Pick<AskingCalls, 'redact' | 'settings'>,
  { question, choices, multiSelect }: UserQuestion,
): Pick<Question, 'text' | 'choices' | 'unanswered' | 'timeoutMs'> {
  const list = choices.map((choice, index) => `${index + 1}. ${redact(choice).replace(/\s+/g, ' ')}`).join('\n')
  const hint = multiSelect
    ? 'Answer with the numbers, or in your own words.'
    : 'Answer with a number, or in your own words.'
  return {
    text: [redact(question), ...(choices.length === 0 ? [] : [list, hint])].join('\n\n'),
    choices: [...choices.map((choice, index) => choiceOf(redact(choice), index)), otherChoice],
    unanswered: { says: 'I go on without an answer.' },
    timeoutMs: settings().approvals.timeout * 1_000,
  }
}

function choiceOf(text: string, index: number): Choice {
  const flat = text.replace(/\s+/g, ' ')
  const label = shorten(flat, maxLabelChars)
  return { answer: `choice-${index}`, label, typed: [], effect: { says: 'Thank you.' } }
}

const otherChoice: Choice = {
  answer: 'other',
  label: 'Other',
  typed: [],
  effect: { says: 'Please write your answer as a message.' },
}

/** A deleted question counts as unanswered. */
function responseOf({ choices, multiSelect }: UserQuestion, stored: StoredQuestion | undefined): UserResponse {
  if (stored === undefined || stored.answer === null) return { kind: 'unanswered' }
  const index = /^choice-(\d)$/.exec(stored.answer)?.[1]
  const chosen = index === undefined ? undefined : choices[Number(index)]
  if (chosen !== undefined) return { kind: 'answered', response: multiSelect ? [chosen] : chosen }
  const text = stored.reason ?? ''
  const named = text.split(multiSelect ? /[\s,;]+/ : '\n').map((word) => choices[Number(word.replace(/\.$/, '')) - 1])
  const all = named.filter((choice) => choice !== undefined)
  if (all.length === 0 || all.length !== named.length) return { kind: 'answered', response: text }
  return { kind: 'answered', response: multiSelect ? [...new Set(all)] : (all[0] ?? text) }
}
