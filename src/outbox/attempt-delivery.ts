/**
 * One attempt to deliver a row, and the state of the row that follows from it. Before a repeated attempt it finds out
 * whether an earlier one has reached the platform.
 */
import { z } from 'zod'
import { messageOf } from '../lib/errors.ts'
import { backoffMs } from '../lib/timers.ts'
import type { Button, OutboundAttachment, OutboundMessage, SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import { afterLostAlbum } from './albums.ts'
import type { Sender } from './context.ts'
import { lostDeliveryId } from './drafts.ts'
import { callWithTimeout } from './platform-calls.ts'
import { type AttachmentLimits, prepareAttachment } from './prepare-attachment.ts'
import { type DeliveryResult, isInterimKey, type OutboxRow } from './queries.ts'
import { retryAt } from './rate-limiter.ts'
import { measureOf } from './split-message.ts'
import { formatUnsentLine, parseAttachment } from './stored-attachment.ts'

/** Precedes a message that may have been delivered before. */
export const duplicateLabel = '♻️ May be a duplicate:'

export interface DeliveryAttempt {
  readonly result: SendResult
  /** Whether the platform may have received the message although the result is a failure. */
  readonly maybeSent: boolean
  /** Only with `rejected`: why the file of the row cannot be sent, in a few words for users. */
  readonly attachmentFailure?: string
  /** What the adapter threw instead of returning a result. */
  readonly thrown?: unknown
}

export interface AttemptContext {
  readonly sender: Sender
  readonly limits: MessageLimits
  /** Aborts when the grace period of a stop is over. */
  readonly abortSignal: AbortSignal
  readonly attachmentLimits: AttachmentLimits
}

/** Delivers a claimed row. Never throws: an exception of the adapter is a temporary failure with an unknown effect. */
export async function attemptDelivery(row: OutboxRow, context: AttemptContext): Promise<DeliveryAttempt> {
  const { sender, abortSignal } = context
  const isIdempotent = sender.idempotentSends === true
  let file: LoadedAttachment | undefined
  try {
    file = row.attachment === null ? undefined : await loadAttachment(row.attachment, context)
    if (file !== undefined && 'reason' in file) return toRejectedAttempt(row, file.reason)
    const message = toOutboundMessage(row, sender, file)
    if (row.op === 'edit') return { result: await editMessage(row, message, context), maybeSent: false }
    return row.doubt === 1 && !isIdempotent
      ? await retryUncertain(message, row.album !== afterLostAlbum, context)
      : toAttempt(await callWithTimeout(abortSignal, (signal) => sender.send(message, signal)), false, isIdempotent)
  } catch (error) {
    const maybeSent = row.op === 'send' && !isIdempotent
    return { result: { success: false, problem: 'temporary', error: messageOf(error) }, maybeSent, thrown: error }
  } finally {
    if (file !== undefined && 'close' in file) await file.close()
  }
}

interface AttachmentPayload {
  readonly caption: string
  readonly attachment: OutboundAttachment
}

type LoadedAttachment =
  /** `close`: see `PreparedAttachment`. */
  (AttachmentPayload & { close(): Promise<void> }) | { readonly reason: string }

/** `undefined` for a platform that takes no files; the row's text is sent instead. */
export async function loadAttachment(
  json: string,
  { sender, attachmentLimits }: AttemptContext,
): Promise<LoadedAttachment | undefined> {
  if (sender.sendsAttachments !== true) return undefined
  const stored = parseAttachment(json)
  const prepared = await prepareAttachment(stored, attachmentLimits)
  if (!prepared.ok) return { reason: prepared.reason }
  return { caption: stored.caption, attachment: prepared.attachment, close: prepared.close }
}

/** The message of a row, with the features that the platform supports. */
function toOutboundMessage(row: OutboxRow, sender: Sender, file: AttachmentPayload | undefined): OutboundMessage {
  return {
    deliveryId: row.key,
    target: toTarget(row),
    text: file === undefined ? row.text : file.caption,
    kind: row.kind,
    ...(row.reply_to === null ? {} : { replyTo: row.reply_to }),
    ...(row.turn_id === null ? {} : { turnId: row.turn_id }),
    ...(isInterimKey(row.key) ? { interim: true as const } : {}),
    attachment: file?.attachment,
    ...(row.buttons === null || sender.showsButtons !== true ? {} : { buttons: parseButtons(row.buttons) }),
  }
}

export function toTarget({ platform, account, chat_id: chatId, thread_id: threadId }: OutboxRow): Target {
  return { platform, account, chatId, ...(threadId === '' ? {} : { threadId }) }
}

/** The platform was not called, or did not receive the file. */
function toRejectedAttempt(row: OutboxRow, reason: string): DeliveryAttempt {
  const result: SendResult = { success: false, problem: 'rejected', error: `the file is not sent: ${reason}` }
  return { result, maybeSent: row.doubt === 1, attachmentFailure: reason }
}

async function editMessage(
  { target: messageId, turn_id, tries }: OutboxRow,
  message: OutboundMessage,
  { sender, abortSignal }: AttemptContext,
): Promise<SendResult> {
  const edit = sender.edit?.bind(sender)
  if (messageId === null || edit === undefined) {
    return { success: false, problem: 'rejected', error: 'the platform cannot edit messages' }
  }
  const draftId = lostDeliveryId(messageId, turn_id)
  if (draftId !== undefined) {
    const { replaceLostDraft } = await import('./lost-drafts.ts')
    return await replaceLostDraft(sender, draftId, message, tries, abortSignal)
  }
  return await callWithTimeout(abortSignal, (signal) => edit(messageId, message, true, signal))
}

/** A message of an idempotent platform can be repeated without harm, so it is never uncertain. */
function toAttempt(result: SendResult, maybeSentBefore: boolean, isIdempotent: boolean): DeliveryAttempt {
  const isResponseLost = !result.success && result.maybeSent === true && !isIdempotent
  return { result, maybeSent: maybeSentBefore || isResponseLost }
}

/** Asks the platform whether it has the message. Where it does not know, the message is sent with a label. */
async function retryUncertain(
  message: OutboundMessage,
  canLookUp: boolean,
  context: AttemptContext,
): Promise<DeliveryAttempt> {
  const { sender, abortSignal } = context
  const lookup = canLookUp
    ? await callWithTimeout(
        abortSignal,
        async (signal) => (await sender.resolveUnknown?.(message, signal)) ?? 'unknown',
      )
    : 'unknown'
  if (lookup === 'unknown') return toAttempt(await sendWithDuplicateLabel(message, context), true, false)
  if (!lookup.sent)
    return toAttempt(await callWithTimeout(abortSignal, (signal) => sender.send(message, signal)), false, false)
  const { messageId } = lookup
  return { result: { success: true, messageId }, maybeSent: false }
}

/** Puts the label into the message, or into a message of its own where the limit leaves no space. */
async function sendWithDuplicateLabel(
  message: OutboundMessage,
  { sender, limits, abortSignal }: AttemptContext,
): Promise<SendResult> {
  const text = `${duplicateLabel}\n\n${message.text}`.trimEnd()
  if (measureOf(limits.unit)(text) <= limits.maxChars) {
    return await callWithTimeout(abortSignal, (signal) => sender.send({ ...message, text }, signal))
  }
  const { attachment: _, buttons: __, ...bare } = message
  const label = { ...bare, deliveryId: `${message.deliveryId}:label`, text: duplicateLabel, kind: 'notice' as const }
  const announced = await callWithTimeout(abortSignal, (signal) => sender.send(label, signal))
  if (!announced.success) return announced
  return await callWithTimeout(abortSignal, (signal) => sender.send(message, signal))
}

export interface RetryPolicy {
  readonly maxTries: number
  readonly maxBackoffMs: number
  readonly random: () => number
}

/** The upper limit of the delay before the second attempt; it doubles with each further one. */
const baseBackoffMs = 1_000

/** The new state of a row after an attempt. Pure, apart from the jitter of `random`. */
export function toDeliveryResult(
  row: OutboxRow,
  attempt: DeliveryAttempt,
  now: number,
  { maxTries, maxBackoffMs, random }: RetryPolicy,
): DeliveryResult {
  const { result, maybeSent } = attempt
  const base = { ...unchangedFields(row), doubt: maybeSent ? 1 : 0 }
  if (result.success) {
    return { ...base, state: 'sent', doubt: 0, platform_id: result.messageId ?? row.target, error: null }
  }
  const waiting = { ...base, state: maybeSent ? ('unknown' as const) : ('queued' as const), error: result.error }
  switch (result.problem) {
    case 'rate-limited':
      // Does not count as a try: the platform has only asked for a delay.
      return { ...waiting, due_at: retryAt(result.retryAfterMs, now) }
    case 'unauthorised':
      return { ...waiting, due_at: now }
    case 'temporary': {
      const tries = row.tries + 1
      if (tries >= maxTries) return { ...waiting, state: 'dead', tries }
      return { ...waiting, tries, due_at: now + backoffMs(tries, baseBackoffMs, maxBackoffMs, random) }
    }
    case 'rejected':
      // The file cannot be sent: the same row is sent as a line that says so. The change is stored before that.
      if (row.attachment !== null) {
        const replacementText = formatUnsentLine(
          parseAttachment(row.attachment),
          attempt.attachmentFailure ?? 'the platform refused it',
        )
        return { ...waiting, state: 'sending', due_at: now, replacementText }
      }
      // The draft was removed: the same row is sent as a new message. The change is stored before that.
      if (row.op === 'edit') return { ...waiting, state: 'sending', op: 'send', target: null }
      return { ...waiting, state: 'dead', tries: row.tries + 1, ...(result.chatGone && { chatGone: true }) }
  }
}

/** Returns a row to the queue that was claimed but not sent, because the platform disconnected in between. */
export function toUnclaimedResult(row: OutboxRow): DeliveryResult {
  return { ...unchangedFields(row), state: row.doubt === 1 ? 'unknown' : 'queued', doubt: row.doubt, error: null }
}

export function unchangedFields({ id, op, target, tries, due_at }: OutboxRow) {
  return { id, op, target, tries, due_at, platform_id: null }
}

const buttonsSchema = z.array(
  z.object({
    id: z.string(),
    label: z.string(),
    style: z.enum(['primary', 'danger']).exactOptional(),
    isText: z.literal(true).exactOptional(),
  }),
)

/** Throws when the column `buttons` of a row is damaged. */
function parseButtons(json: string): readonly Button[] {
  return buttonsSchema.parse(JSON.parse(json))
}
