/**
 * Completes a message before its turn starts, so that the model request can include it: downloads attachments, transcribes
 * recordings, and reads the skills that it names.
 */
import { needsDownload } from '../../media/attachment-downloader.ts'
import { type Attachment, type MessageEvent, parseCommand } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import type { PreparedReply } from '../../outbox/outbox.ts'
import { type RunningTurns, StopRequested } from '../../sessions/running-turns.ts'
import type { UnpreparedMessage } from './claim.ts'
import type { TurnJournal } from './journal.ts'

export interface AttachmentsDeps {
  readonly journal: Pick<TurnJournal, 'storeAttachments' | 'storeSkills'>
  readonly running: Pick<RunningTurns, 'start'>
  /** Resolves with each attachment and its path or its failure. Rejects with the signal's reason. */
  download(event: MessageEvent, name: string, signal: AbortSignal): Promise<readonly Attachment[]>
  /** Resolves with what the sender is told about files that were not received, or cannot be shown to models. */
  prepareNotice(
    message: Pick<UnpreparedMessage, 'seq' | 'event'>,
    files: readonly Attachment[],
  ): Promise<PreparedReply | undefined>
  /** Resolves with each attachment and its transcript or why there is none. Rejects with the signal's reason. */
  transcribe(message: Pick<UnpreparedMessage, 'seq' | 'event'>, signal: AbortSignal): Promise<Transcribed>
  /** Resolves with the text of the skills that a message names; '' if it names none, or none that the sender may use. */
  readSkills(event: MessageEvent): Promise<string>
  /** Waits without keeping other turns from running. Resolves or rejects as `wait`. */
  waitOutside<T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Takes a waiting message out of the queue, with those that join its turn. */
  withdraw(seq: number, joined: readonly number[]): Promise<void>
  isDraining(): boolean
  failpoint(point: string): void
}

export interface Transcribed {
  readonly files: readonly Attachment[]
  /** What the chat is told. */
  readonly notice?: PreparedReply
}

export type PrepareMessage = (key: SessionKey, message: UnpreparedMessage, stopSignal: AbortSignal) => Promise<void>

/** The attempt began with the claim of the message. Nothing is claimed meanwhile: after a stop of the gateway the message is still queued. */
export function createMessagePreparation(deps: AttachmentsDeps): PrepareMessage {
  const { journal, running, failpoint } = deps
  const withNotice = async (message: Pick<UnpreparedMessage, 'seq' | 'event'>, files: readonly Attachment[]) => {
    const isRefused = files.some(({ problem, hidden }) => problem !== undefined || hidden !== undefined)
    const notice = isRefused ? await deps.prepareNotice(message, files) : undefined
    return notice === undefined ? { files } : { files, notice }
  }
  return async (key, { seq, event, joined = [] }, stopSignal) => {
    if (parseCommand(event) !== null) return await journal.storeSkills(seq, await deps.readSkills(event))
    const work = running.start(key, seq, stopSignal)
    // Stored in between: a crash during the transcription does not repeat the download.
    const prepare = async (): Promise<Transcribed> =>
      event.attachments?.some(needsDownload) === true
        ? await withNotice({ seq, event }, await deps.download(event, `${seq}`, work.signal))
        : await deps.transcribe({ seq, event }, work.signal)
    try {
      const { files, notice } = await deps.waitOutside(key, prepare, work.signal)
      await journal.storeAttachments(seq, files, notice)
      failpoint('media:fetched')
    } catch (error) {
      if (stopSignal.aborted || deps.isDraining()) return
      if (!(work.signal.reason instanceof StopRequested)) throw error
      // Of a message that was deleted meanwhile, nothing more is withdrawn.
      await deps.withdraw(seq, joined)
    } finally {
      work.finish()
    }
  }
}
