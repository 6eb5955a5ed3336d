/**
 * Transcribes the recordings of a message before its turn (contract §3.8). Loaded with the first recording.
 */
import { MediaProviderError } from '../../agent/media/media-provider-error.ts'
import { formatDuration } from '../../lib/duration.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { linkAbortSignal } from '../../lib/timers.ts'
import { type Attachment, isAttended, type MessageEvent, needsTranscript } from '../../message/event.ts'
import { targetOf } from '../../message/source.ts'
import { toLabel, toMarkdownLabel } from '../../message/untrusted-text.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'
import type { MediaServices } from '../models/media-services.ts'
import type { Transcribed } from './attachments.ts'

export interface TranscribeDeps {
  readonly media: Pick<MediaServices, 'endpoint' | 'transcribe'>
  readonly outbox: Pick<Outbox, 'prepare' | 'showTyping'>
  readonly store: Pick<Store, 'commit'>
  /** `stt_echo_transcripts` */
  readonly echoes: () => boolean
  /** Takes secrets out of a text. */
  redact(text: string): string
  readonly clock: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly log: Logger
}

/** More of a message are not transcribed. */
const maxRecordings = 10
/** UTF-16 units of all transcripts of a message. */
const maxTranscriptChars = 60_000
/** In the chat. */
const maxEchoChars = 1_500
/** Before the chat is told that it takes longer. */
const patienceMs = 30_000

type Message = Readonly<{ seq: number; event: MessageEvent }>

/** Never rejects, except with the reason of the signal. What fails is told to the person and to the model. */
export async function transcribeMessage(
  deps: TranscribeDeps,
  { seq, event }: Message,
  signal: AbortSignal,
): Promise<Transcribed> {
  const { attachments = [] } = event
  const endpoint = await deps.media.endpoint('stt')
  // No one asked for transcripts.
  if (endpoint.kind === 'none' && !endpoint.isWanted)
    return { files: attachments.map((file) => (needsTranscript(file) ? { ...file, untranscribed: '' } : file)) }
  const ended = linkAbortSignal(signal)
  if (isAttended(event)) {
    deps.outbox.showTyping(targetOf(event.source), ended.signal)
    void announceDelay(deps, { seq, event }, ended.signal)
  }
  const files: Attachment[] = []
  let recordings = 0
  let left = maxTranscriptChars
  try {
    for (const file of attachments) {
      if (!needsTranscript(file)) files.push(file)
      else if (recordings++ >= maxRecordings)
        files.push({ ...file, untranscribed: `only ${maxRecordings} recordings of a message are transcribed` })
      else {
        const done = await transcribe(deps, seq, file, left, signal)
        left -= done.transcript?.length ?? 0
        files.push(done)
      }
    }
  } finally {
    ended.release()
    ended.abort()
  }
  const text = isAttended(event) ? noticeOf(files, attachments, deps.echoes()) : ''
  return text === '' ? { files } : { files, notice: prepareNotice(deps, event, `stt:${seq}`, text) }
}

async function transcribe(
  { media, redact, log }: TranscribeDeps,
  seq: number,
  file: Attachment,
  maxChars: number,
  signal: AbortSignal,
): Promise<Attachment> {
  const { path = '', mimeType = 'application/octet-stream' } = file
  try {
    const said = await media.transcribe({ path, mimeType }, signal)
    log.info({ event: 'stt.transcribed', seq, chars: said.length }, 'a recording was transcribed')
    if (said.length <= maxChars) return { ...file, transcript: said }
    return { ...file, transcript: `${said.slice(0, Math.max(0, maxChars)).toWellFormed()} … (the rest is left out)` }
  } catch (error) {
    signal.throwIfAborted()
    const code = error instanceof MediaProviderError ? error.code : 'failed'
    log.warn({ event: 'stt.failed', seq, code, err: error }, 'a recording was not transcribed')
    return { ...file, untranscribed: redact(messageOf(error)) }
  }
}

/** What the person is told: what was understood, if that is configured, and what was not. '' for nothing. */
function noticeOf(files: readonly Attachment[], before: readonly Attachment[], echoes: boolean): string {
  const changed = files.filter((file, at) => file !== before[at])
  const heard = echoes
    ? changed.flatMap(({ transcript, quoted }) =>
        transcript === undefined || quoted === true ? [] : [`🎙️ “${toLabel(transcript, maxEchoChars)}”`],
      )
    : []
  const failed = changed.flatMap(({ kind, untranscribed = '' }) =>
    untranscribed === ''
      ? []
      : [
          `⚠️ I could not transcribe your ${kind === 'voice' ? 'voice message' : 'audio file'}: ${toMarkdownLabel(untranscribed, 400)}`,
        ],
  )
  return [...heard, ...failed].join('\n')
}

async function announceDelay(deps: TranscribeDeps, { seq, event }: Message, ended: AbortSignal): Promise<void> {
  const { store, clock, log } = deps
  await deps.sleep(patienceMs, ended)
  if (ended.aborted) return
  const text = `🎙️ I am still listening to your recording (${formatDuration(patienceMs)} so far). Send /stop to cancel.`
  try {
    await store.commit(prepareNotice(deps, event, `stt:${seq}:long`, text), clock)
  } catch (error) {
    log.warn({ event: 'stt.notice_failed', seq, err: error }, 'a chat was not told that a transcript takes longer')
  }
}

function prepareNotice({ outbox }: TranscribeDeps, event: MessageEvent, key: string, text: string): TransactionPart {
  return outbox.prepare({ key, target: targetOf(event.source), kind: 'notice', text, replyTo: event.messageId })
}
