/**
 * One try to deliver one row, and what must be done first where an earlier try may have arrived.
 */
import { messageOf } from '../lib/errors.ts'
import type { OutboundMessage, SendResult } from '../message/outbound.ts'
import type { MessageLimits } from '../platforms/adapter.ts'
import { measureOf } from './measure.ts'
import { type FileLimits, prepareAttachment } from './outgoing-file.ts'
import type { OutboxRow } from './queries.ts'
import { bounded, type Enclosure, messageOfRow, type Sender } from './sender.ts'
import { readAttachment } from './stored-attachment.ts'

/** Stands in front of a message that may have been delivered before. */
const duplicateLabel = '♻️ May be a duplicate:'

export interface Attempt {
  readonly result: SendResult
  /** Whether the platform may have the message although the result does not say so. */
  readonly doubt: boolean
  /** Only with `rejected`: why the file of the row does not go out, in a few words for people. */
  readonly refusal?: string
  /** What the adapter threw instead of a result. */
  readonly thrown?: unknown
}

interface Line {
  readonly sender: Sender
  readonly limits: MessageLimits
  /** Aborts at the hard end of a stop. */
  readonly halt: AbortSignal
  readonly files: FileLimits
}

/** Delivers a claimed row. Never throws: what an adapter throws is a temporary failure of unknown effect. */
export async function attemptRow(row: OutboxRow, line: Line): Promise<Attempt> {
  const { sender, halt } = line
  const free = sender.idempotentSends === true
  let file: Enclosed | undefined
  try {
    file = row.attachment === null ? undefined : await enclose(row.attachment, line)
    if (file !== undefined && 'reason' in file) return refused(row, file.reason)
    const message = messageOfRow(row, sender, file)
    if (row.op === 'edit') return { result: await edit(row.target, message, line), doubt: false }
    const attempt =
      row.doubt === 1 && !free
        ? await repeat(message, line)
        : answered(await bounded(halt, (signal) => sender.send(message, signal)), false, free)
    const reason = attempt.result.success ? undefined : file?.problem()
    return reason === undefined ? attempt : refused(row, reason)
  } catch (error) {
    const reason = file !== undefined && 'problem' in file ? file.problem() : undefined
    if (reason !== undefined) return refused(row, reason)
    const doubt = row.op === 'send' && !free
    return { result: { success: false, problem: 'temporary', error: messageOf(error) }, doubt, thrown: error }
  }
}

/** Undefined where the platform takes no files: the row's text stands for it. */
type Enclosed = (Enclosure & { readonly problem: () => string | undefined }) | { readonly reason: string }

async function enclose(json: string, { sender, files }: Line): Promise<Enclosed | undefined> {
  if (sender.sendsAttachments !== true) return undefined
  const stored = readAttachment(json)
  const prepared = await prepareAttachment(stored, files)
  if (!prepared.ok) return { reason: prepared.reason }
  return { caption: stored.caption, attachment: prepared.attachment, problem: prepared.problem }
}

/** The platform was not called, or has not got the file. */
function refused(row: OutboxRow, reason: string): Attempt {
  const result: SendResult = { success: false, problem: 'rejected', error: `the file is not sent: ${reason}` }
  return { result, doubt: row.doubt === 1, refusal: reason }
}

async function edit(target: string | null, message: OutboundMessage, { sender, halt }: Line): Promise<SendResult> {
  const call = sender.edit?.bind(sender)
  if (target === null || call === undefined) return cannotEdit
  return await bounded(halt, (signal) => call(target, message, true, signal))
}

const cannotEdit: SendResult = { success: false, problem: 'rejected', error: 'the platform cannot edit messages' }

/** `maybe`: an earlier try may have arrived. `free`: repeating costs nobody anything. */
function answered(result: SendResult, maybe: boolean, free: boolean): Attempt {
  const lost = !result.success && result.maybeSent === true && !free
  return { result, doubt: maybe || lost }
}

/** Asks the platform whether it has the message; where it cannot say, people are told that they may see it twice. */
async function repeat(message: OutboundMessage, line: Line): Promise<Attempt> {
  const { sender, halt } = line
  const found = await bounded(halt, async (signal) => (await sender.resolveUnknown?.(message, signal)) ?? 'unknown')
  if (found === 'unknown') return answered(await sendLabelled(message, line), true, false)
  if (!found.sent) return answered(await bounded(halt, (signal) => sender.send(message, signal)), false, false)
  const { messageId } = found
  return { result: { success: true, ...(messageId === undefined ? {} : { messageId }) }, doubt: false }
}

/** The label stands in the message itself, or before it where the message is full. */
async function sendLabelled(message: OutboundMessage, { sender, limits, halt }: Line): Promise<SendResult> {
  const text = `${duplicateLabel}\n\n${message.text}`.trimEnd()
  if (measureOf(limits.unit)(text) <= limits.maxChars) {
    return await bounded(halt, (signal) => sender.send({ ...message, text }, signal))
  }
  const { attachment: _, buttons: __, ...bare } = message
  const label = { ...bare, deliveryId: `${message.deliveryId}:label`, text: duplicateLabel, kind: 'notice' as const }
  const announced = await bounded(halt, (signal) => sender.send(label, signal))
  if (!announced.success) return announced
  return await bounded(halt, (signal) => sender.send(message, signal))
}
