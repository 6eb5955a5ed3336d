/**
 * One attempt to deliver several files together, and the states of their rows that follow from it. Where the album cannot
 * be sent, its files are sent one by one.
 */
import { messageOf } from '../lib/errors.ts'
import type { AlbumFile, AlbumResult, OutboundAlbum } from '../message/outbound.ts'
import type { AlbumSupport } from '../platforms/adapter.ts'
import { afterLostAlbum, type Claim } from './albums.ts'
import {
  type AttemptContext,
  duplicateLabel,
  loadAttachment,
  type RetryPolicy,
  toDeliveryResult,
  toTarget,
  unchangedFields,
} from './attempt-delivery.ts'
import { callWithTimeout } from './platform-calls.ts'
import type { DeliveryResult } from './queries.ts'

export interface AlbumAttempt {
  readonly result: AlbumResult
  /** Whether the platform may have received the album although the result is a failure. */
  readonly maybeSent: boolean
  /** What the adapter threw instead of returning a result. */
  readonly thrown?: unknown
}

/** Delivers claimed rows. Never throws: an exception of the adapter is a temporary failure with an unknown effect. */
export async function attemptAlbum(rows: Claim, context: AttemptContext): Promise<AlbumAttempt> {
  const { sender } = context
  const isIdempotent = sender.idempotentSends === true
  const maybeSentBefore = rows.some(({ doubt }) => doubt === 1) && !isIdempotent
  const { albums } = sender
  if (albums === undefined) return rejectedAttempt('the platform sends no albums', maybeSentBefore)
  const opened: Closable[] = []
  try {
    const album = await loadAlbum(rows, context, opened)
    if (typeof album === 'string') return rejectedAttempt(album, maybeSentBefore)
    return maybeSentBefore
      ? await retryUncertain(albums, album, context)
      : await sendAlbum(albums, album, false, context)
  } catch (error) {
    const result = { success: false, problem: 'temporary', error: messageOf(error) } as const
    return { result, maybeSent: !isIdempotent, thrown: error }
  } finally {
    for (const file of opened) await file.close()
  }
}

interface Closable {
  close(): Promise<void>
}

/** A reason when a file cannot be sent. Adds the files that it opens. */
async function loadAlbum(rows: Claim, context: AttemptContext, opened: Closable[]): Promise<OutboundAlbum | string> {
  const files: AlbumFile[] = []
  for (const { attachment } of rows) {
    const file = attachment === null ? undefined : await loadAttachment(attachment, context)
    if (file === undefined) return 'the platform takes no files'
    if ('reason' in file) return file.reason
    opened.push(file)
    files.push({ caption: file.caption, attachment: file.attachment })
  }
  const [head] = rows
  return {
    deliveryId: head.album ?? head.key,
    target: toTarget(head),
    kind: head.kind,
    ...(head.reply_to === null ? {} : { replyTo: head.reply_to }),
    ...(head.turn_id === null ? {} : { turnId: head.turn_id }),
    files,
  }
}

/** Asks the platform whether it has the album. Where it does not know, the album is sent with a label. */
async function retryUncertain(
  albums: AlbumSupport,
  album: OutboundAlbum,
  context: AttemptContext,
): Promise<AlbumAttempt> {
  const lookup = await callWithTimeout(
    context.abortSignal,
    async (signal) => (await albums.resolveUnknown?.(album, signal)) ?? 'unknown',
  )
  if (lookup === 'unknown') return await sendAlbum(albums, withDuplicateLabel(album), true, context)
  if (!lookup.sent) return await sendAlbum(albums, album, false, context)
  return { result: { success: true, messageIds: lookup.messageIds }, maybeSent: false }
}

async function sendAlbum(
  albums: AlbumSupport,
  album: OutboundAlbum,
  maybeSentBefore: boolean,
  { sender, abortSignal }: AttemptContext,
): Promise<AlbumAttempt> {
  if (album.files.length < 2) return rejectedAttempt('only one file is left', maybeSentBefore)
  const result = await callWithTimeout(abortSignal, (signal) => albums.send(album, signal))
  const isResponseLost = !result.success && result.maybeSent === true && sender.idempotentSends !== true
  return { result, maybeSent: maybeSentBefore || isResponseLost }
}

function withDuplicateLabel(album: OutboundAlbum): OutboundAlbum {
  const files = album.files.map(({ caption, attachment }, index) => ({
    caption: index === 0 ? `${duplicateLabel}\n\n${caption}`.trimEnd() : caption,
    attachment,
  }))
  return { ...album, files }
}

/** The platform was not called, or did not receive the files. */
function rejectedAttempt(error: string, maybeSent: boolean): AlbumAttempt {
  return { result: { success: false, problem: 'rejected', error }, maybeSent }
}

/** The new states of the rows after an attempt. Pure, apart from the jitter of `random`. */
export function toAlbumResults(
  rows: Claim,
  { result, maybeSent }: AlbumAttempt,
  now: number,
  policy: RetryPolicy,
): readonly DeliveryResult[] {
  if (result.success) {
    const { messageIds = [] } = result
    return rows.map((row, index) => {
      const messageId = messageIds.length === 1 ? messageIds[0] : messageIds[index]
      const sent = { success: true, messageId } as const
      return toDeliveryResult(row, { result: sent, maybeSent: false }, now, policy)
    })
  }
  // After the last try of the album each file gets one of its own, because only one of them may be the cause.
  const isLastTry = result.problem === 'temporary' && rows.some(({ tries }) => tries + 1 >= policy.maxTries)
  if (result.problem === 'rejected' || isLastTry) {
    return rows.map((row) => ({
      ...unchangedFields(row),
      state: maybeSent ? 'unknown' : 'queued',
      doubt: maybeSent ? 1 : 0,
      due_at: now,
      error: result.error,
      album: maybeSent ? afterLostAlbum : row.key,
    }))
  }
  const jitter = policy.random()
  return rows.map((row) => toDeliveryResult(row, { result, maybeSent }, now, { ...policy, random: () => jitter }))
}
