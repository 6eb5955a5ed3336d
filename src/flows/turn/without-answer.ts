/**
 * How a turn ends without an answer: stopped by a person, interrupted by a newer message, or failed, with the text for the chat
 * and the note for the model.
 */
import { ModelError } from '../../agent/models/provider.ts'
import { HermesError, isHermesError, messageOf } from '../../lib/errors.ts'
import { beginningOf } from '../../lib/redact.ts'
import { GuardrailRejected } from '../../middleware/guardrail-rejected.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TurnCompletion } from './journal.ts'
import { requestedWait } from './model-outages.ts'

/** A failure, so that a program does not take the notice for an answer. */
export const emptyReply = {
  state: 'failed' as const,
  errorCode: 'provider/bad-response' as const,
  reason: 'empty reply',
  text: 'The model returned an empty reply. Send the message again, or start a new session with /new.',
  notice: true,
}

/**
 * The transcript keeps what the user has read, with a note that tells the model why it ends there: without an answer, the
 * model would answer the question together with the next one.
 */
export function stoppedResult(turn: Turn, visibleText: string) {
  const text = visibleText === '' ? '' : `${visibleText}\n\n${stoppedMark}`
  const stopped = { state: 'stopped' as const, reason: 'stopped by a user', text, notice: false }
  if (!isInTranscript(turn)) return stopped
  const content = visibleText === '' ? stopNote : `${visibleText}\n\n${stopNote}`
  return { ...stopped, message: { role: 'assistant' as const, content } }
}

/** A newer message ended the turn. Only a text of which the chat has shown a part is sent, in place of its draft. */
export function interruptedResult(turn: Turn, visibleText: string, interruptedBy: number) {
  const text = visibleText === '' ? '' : `${visibleText}\n\n${interruptedMark}`
  const reason = `message ${interruptedBy} interrupted it`
  const interrupted = { state: 'interrupted' as const, reason, text, notice: false, interruptedBy }
  if (!isInTranscript(turn)) return interrupted
  const content = visibleText === '' ? interruptionNote : `${visibleText}\n\n${interruptionNote}`
  return { ...interrupted, message: { role: 'assistant' as const, content } }
}

export const interruptedMark = '*(interrupted)*'
const interruptionNote = '[interrupted by the next message of the user]'
export const stoppedMark = '*(stopped)*'
const stopNote = '[stopped by the user]'
const failureNote = '[no answer: the turn failed, and the user was told]'

/** A failed turn whose message stays in the transcript ends with a note there, as a stopped one does. */
export function noteFailure<Result extends Pick<TurnCompletion, 'state' | 'message' | 'leavesTranscript'>>(
  turn: Turn,
  result: Result,
): Result {
  if (result.leavesTranscript === true || !isInTranscript(turn)) return result
  return { ...result, message: { role: 'assistant', content: failureNote } }
}

function isInTranscript({ id, transcript }: Turn): boolean {
  return transcript.some(({ turnId }) => turnId === id)
}

/** The result of a turn that would fail again; undefined for an error after which the turn is retried. */
export function failedResult(error: unknown, describeErrorOrigin: (error: unknown) => string | null) {
  if (error instanceof GuardrailRejected) return rejectedResult(error)
  const reported = nonRetryableError(error, describeErrorOrigin)
  if (reported === undefined) return undefined
  if (reported instanceof ModelError) return failedModelResult(reported)
  return { ...failure(reported), reason: reported.message }
}

export function failure({ code, message, hint }: HermesError) {
  const text = `Sorry, I encountered an error (${code}). ${message} ${hint}`
  return { state: 'failed' as const, text, errorCode: code, notice: true }
}

/** An error of the model's vendor. The vendor's message follows the explanation. */
export function failedModelResult(error: ModelError) {
  const { text, ...failed } = failure(new HermesError(`provider/${error.kind}`))
  const leavesTranscript = rejectsMessage(error)
  const advice = leavesTranscript ? ` ${removedMessageText}` : ''
  const wait = requestedWait(error.retryAfterMs)
  const time = wait === null ? '' : ` The provider asks to wait ${wait}.`
  const quote = `\n\n> ${beginningOf(error.message, 500)}`
  return { ...failed, reason: error.message, text: `${text}${time}${advice}${quote}`, leavesTranscript }
}

const removedMessageText =
  'The message was removed from the conversation, so that the following ones can be answered. Change it before you send it again.'

/**
 * Whether the model's vendor would reject later requests, too, as long as they contain this turn. Other invalid requests,
 * such as an unknown model, do not depend on the message.
 */
function rejectsMessage({ kind, status }: ModelError): boolean {
  if (kind === 'content-filter' || kind === 'context') return true
  return kind === 'invalid-request' && (status === 400 || status === 422)
}

/** The plugin's own text gives the reason. */
function rejectedResult({ guardrail, reason }: GuardrailRejected) {
  return { state: 'failed' as const, reason: `rejected by the guardrail ${guardrail}`, text: reason, notice: true }
}

/** Errors of the model (after its own retries), of the configuration and of plugins: a retry would not change them. */
function nonRetryableError(
  error: unknown,
  describeErrorOrigin: (error: unknown) => string | null,
): ModelError | HermesError | undefined {
  if (error instanceof ModelError) return error
  if (isHermesError(error) && /^(config|middleware)\//.test(error.code)) return error
  const origin = describeErrorOrigin(error)
  if (origin === null) return undefined
  const text = beginningOf(messageOf(error), 500)
  return new HermesError('middleware/failed', `It was ${origin}, with "${text}".`, { cause: error })
}
