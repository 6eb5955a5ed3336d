/**
 * One try to deliver one row, and what must be done first where an earlier try may have arrived.
 */
import { messageOf } from '../lib/errors.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import { measureOf } from './measure.ts'
import { type AttachmentLimits, prepareAttachment } from './prepare-attachment.ts'
import type { OutboxRow } from './queries.ts'
import { type AttachmentPayload, callWithTimeout, type Sender, toOutboundMessage } from './sender.ts'
import { parseAttachment } from './stored-attachment.ts'

/** Stands in front of a message that may have been delivered before. */
const duplicateLabel = '♻️ May be a duplicate:'

export interface DeliveryAttempt {
  readonly result: SendResult
  /** Whether the platform may have the message although the result does not say so. */
  readonly maybeSent: boolean
  /** Only with `rejected`: why the file of the row does not go out, in a few words for people. */
  readonly attachmentFailure?: string
  /** What the adapter threw instead of a result. */
  readonly thrown?: unknown
}

interface AttemptContext {
  readonly sender: Sender
  readonly limits: MessageLimits
  /** Aborts at the hard end of a stop. */
  readonly abortSignal: AbortSignal
  readonly attachmentLimits: AttachmentLimits
}

/** Delivers a claimed row. Never throws: what an adapter throws is a temporary failure of unknown effect. */
export async function attemptDelivery(row: OutboxRow, line: AttemptContext): Promise<DeliveryAttempt> {
  const { sender, abortSignal } = line
  const isIdempotent = sender.idempotentSends === true
  let file: LoadedAttachment | undefined
  try {
    file = row.attachment === null ? undefined : await loadAttachment(row.attachment, line)
    if (file !== undefined && 'reason' in file) return toRejectedAttempt(row, file.reason)
    const message = toOutboundMessage(row, sender, file)
    if (row.op === 'edit') return { result: await editMessage(row.target, message, line), maybeSent: false }
    const attempt =
      row.doubt === 1 && !isIdempotent
        ? await retryUncertain(message, line)
        : toAttempt(await callWithTimeout(abortSignal, (signal) => sender.send(message, signal)), false, isIdempotent)
    const reason = attempt.result.success ? undefined : file?.openFailure()
    return reason === undefined ? attempt : toRejectedAttempt(row, reason)
  } catch (error) {
    const reason = file !== undefined && 'openFailure' in file ? file.openFailure() : undefined
    if (reason !== undefined) return toRejectedAttempt(row, reason)
    const maybeSent = row.op === 'send' && !isIdempotent
    return { result: { success: false, problem: 'temporary', error: messageOf(error) }, maybeSent, thrown: error }
  }
}

/** Undefined where the platform takes no files: the row's text stands for it. */
type LoadedAttachment =
  | (AttachmentPayload & { readonly openFailure: () => string | undefined })
  | { readonly reason: string }

async function loadAttachment(
  json: string,
  { sender, attachmentLimits }: AttemptContext,
): Promise<LoadedAttachment | undefined> {
  if (sender.sendsAttachments !== true) return undefined
  const stored = parseAttachment(json)
  const prepared = await prepareAttachment(stored, attachmentLimits)
  if (!prepared.ok) return { reason: prepared.reason }
  return { caption: stored.caption, attachment: prepared.attachment, openFailure: prepared.openFailure }
}

/** The platform was not called, or has not got the file. */
function toRejectedAttempt(row: OutboxRow, reason: string): DeliveryAttempt {
  const result: SendResult = { success: false, problem: 'rejected', error: `the file is not sent: ${reason}` }
  return { result, maybeSent: row.doubt === 1, attachmentFailure: reason }
}

async function editMessage(
  target: string | null,
  message: OutboundMessage,
  { sender, abortSignal }: AttemptContext,
): Promise<SendResult> {
  const call = sender.edit?.bind(sender)
  if (target === null || call === undefined) return editUnsupported
  return await callWithTimeout(abortSignal, (signal) => call(target, message, true, signal))
}

const editUnsupported: SendResult = { success: false, problem: 'rejected', error: 'the platform cannot edit messages' }

/** `maybe`: an earlier try may have arrived. `free`: repeating costs nobody anything. */
function toAttempt(result: SendResult, maybeSentBefore: boolean, isIdempotent: boolean): DeliveryAttempt {
  const lost = !result.success && result.maybeSent === true && !isIdempotent
  return { result, maybeSent: maybeSentBefore || lost }
}

/** Asks the platform whether it has the message; where it cannot say, people are told that they may see it twice. */
async function retryUncertain(message: OutboundMessage, line: AttemptContext): Promise<DeliveryAttempt> {
  const { sender, abortSignal } = line
  const found = await callWithTimeout(
    abortSignal,
    async (signal) => (await sender.resolveUnknown?.(message, signal)) ?? 'unknown',
  )
  if (found === 'unknown') return toAttempt(await sendWithDuplicateLabel(message, line), true, false)
  if (!found.sent)
    return toAttempt(await callWithTimeout(abortSignal, (signal) => sender.send(message, signal)), false, false)
  const { messageId } = found
  return { result: { success: true, ...(messageId === undefined ? {} : { messageId }) }, maybeSent: false }
}

/** The label stands in the message itself, or before it where the message is full. */
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
