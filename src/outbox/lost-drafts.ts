/**
 * Drafts whose message may be in the chat although its address is not known, because the response was lost or the process
 * ended. Platforms that can be queried are asked for them, so that the reply replaces them. Loaded at the first such draft.
 */
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { Sender } from './context.ts'
import { callWithTimeout } from './platform-calls.ts'

/** `none`: no such message was sent. */
export type LostDraft = { readonly messageId: string } | 'none' | 'unknown'

/** The end of a turn may wait for it. */
const lookupTimeoutMs = 15_000

/** Rejects when the lookup fails. */
export async function findLostDraft(sender: Sender, message: OutboundMessage, signal: AbortSignal): Promise<LostDraft> {
  const lookup = await callWithTimeout(
    signal,
    async (until) => (await sender.resolveUnknown?.(message, until)) ?? 'unknown',
    lookupTimeoutMs,
  )
  if (lookup === 'unknown') return 'unknown'
  if (!lookup.sent) return 'none'
  return lookup.messageId === undefined ? 'unknown' : { messageId: lookup.messageId }
}

/** After this many failed attempts a lookup that fails does not delay the reply any more. */
const maxFailedLookups = 4
/** Discord shows the text of a lookup when there was no draft. */
const maxLookupChars = 200

/**
 * Replaces the draft by the reply. `rejected` when there is no draft, so that the reply is sent as a new message. Rejects when
 * the lookup fails, so that it is tried again.
 * @param draftId the delivery id of the draft
 * @param tries failed attempts to deliver the reply
 */
export async function replaceLostDraft(
  sender: Sender,
  draftId: string,
  reply: OutboundMessage,
  tries: number,
  signal: AbortSignal,
): Promise<SendResult> {
  const { buttons: _, attachment: __, ...message } = reply
  const text = `${reply.text.slice(0, maxLookupChars).toWellFormed()} ▉`
  const lookup = findLostDraft(sender, { ...message, deliveryId: draftId, kind: 'draft', text }, signal)
  const draft = await lookup.catch((error: unknown) => {
    if (tries < maxFailedLookups) throw error
    return 'unknown' as const
  })
  const edit = sender.edit?.bind(sender)
  if (typeof draft !== 'object' || edit === undefined)
    return { success: false, problem: 'rejected', error: 'no draft of the reply was found' }
  const { messageId } = draft
  const result = await callWithTimeout(signal, (until) => edit(messageId, reply, true, until))
  return result.success ? { ...result, messageId: result.messageId ?? messageId } : result
}

/** Returns the platform id of the draft of a turn that ended without a text; undefined when none was found. */
export async function addressOfLostDraft(
  sender: Sender,
  message: Omit<OutboundMessage, 'kind' | 'text'>,
  signal: AbortSignal,
): Promise<string | undefined> {
  const draft = await findLostDraft(sender, { ...message, kind: 'draft', text: '' }, signal)
  return typeof draft === 'object' ? draft.messageId : undefined
}
