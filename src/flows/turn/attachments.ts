/**
 * Completes a message before its turn starts, so that the model request can include it: downloads attachments, transcribes
 * recordings, and reads the skills that it names.
 */
import type { Logger } from '../../lib/log.ts'
import { raceAbort } from '../../lib/timers.ts'
import { needsDownload } from '../../media/attachment-downloader.ts'
import { type Attachment, type MessageEvent, needsTranscript, parseCommand } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { type RunningTurns, StopRequested } from '../../sessions/running-turns.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { UnpreparedMessage } from './claim.ts'
import type { TurnJournal } from './journal.ts'

export interface AttachmentsDeps {
  readonly journal: Pick<TurnJournal, 'storeAttachments' | 'storeEarly' | 'storeSkills'>
  readonly running: Pick<RunningTurns, 'start' | 'steer'>
  /** Resolves with each attachment and its path or its failure. Rejects with the signal's reason. */
  download(event: MessageEvent, name: string, signal: AbortSignal): Promise<readonly Attachment[]>
  /** Resolves with what the sender is told about files that were not received, or cannot be shown to models. */
  prepareNotice(
    message: Pick<UnpreparedMessage, 'seq' | 'event'>,
    files: readonly Attachment[],
  ): Promise<TransactionPart | undefined>
  /** Whether recordings are transcribed. */
  transcribes(): boolean
  /** Resolves with each attachment and its transcript or why there is none. Rejects with the signal's reason. */
  transcribe(message: Pick<UnpreparedMessage, 'seq' | 'event'>, signal: AbortSignal): Promise<Transcribed>
  /** Resolves with the text of the skills that a message names; '' if it names none, or none that the sender may use. */
  readSkills(event: MessageEvent): Promise<string>
  /** Waits without keeping other turns from running. Resolves or rejects as `wait`. */
  waitOutside<T>(key: SessionKey, wait: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Takes a waiting message out of the queue, with those that join its turn. */
  withdraw(seq: number, joined: readonly number[]): Promise<void>
  readonly stopping: AbortSignal
  readonly log: Logger
  readonly failpoint?: ((point: string) => void) | undefined
}

export interface Transcribed {
  readonly files: readonly Attachment[]
  /** What the chat is told. */
  readonly notice?: TransactionPart
}

export type PrepareMessage = (key: SessionKey, message: UnpreparedMessage, stopSignal: AbortSignal) => Promise<void>

type Message = Pick<UnpreparedMessage, 'seq' | 'event'>

export type MessagePreparation = ReturnType<typeof createMessagePreparation>

export function createMessagePreparation(deps: AttachmentsDeps) {
  const { journal, running, failpoint } = deps
  /** Messages that are prepared while a turn runs, by their number. */
  const early = new Map<number, Promise<void>>()

  const withNotice = async (message: Message, files: readonly Attachment[]): Promise<Transcribed> => {
    const isRefused = files.some((file) => (file.problem ?? file.hidden ?? file.untranscribed) !== undefined)
    const notice = isRefused ? await deps.prepareNotice(message, files) : undefined
    return notice === undefined ? { files } : { files, notice }
  }
  /** Stored in between: a crash during the transcription does not repeat the download. */
  const nextStep = async ({ seq, event }: Message, signal: AbortSignal): Promise<Transcribed> =>
    event.attachments?.some(needsDownload) === true
      ? await withNotice({ seq, event }, await deps.download(event, `${seq}`, signal))
      : await deps.transcribe({ seq, event }, signal)

  async function prepareEarly({ seq, event }: Message, signal: AbortSignal): Promise<void> {
    const isOpen = (file: Attachment) => needsDownload(file) || (deps.transcribes() && needsTranscript(file))
    for (let files = event.attachments ?? []; files.some(isOpen); ) {
      const done = await nextStep({ seq, event: { ...event, attachments: files } }, signal)
      await journal.storeEarly(seq, done.files, done.notice)
      files = done.files
    }
  }

  /** Prepares a voice message while a turn runs, and steers it into the turn. Never rejects: it may become a turn of its own. */
  async function prepareSteered(
    { sessionKey, seq: turnSeq }: Pick<Turn, 'sessionKey' | 'seq'>,
    message: Message,
    signal: AbortSignal,
  ): Promise<void> {
    if (early.has(message.seq)) return
    const work = prepareEarly(message, signal)
    early.set(message.seq, work)
    try {
      await work
      running.steer(sessionKey, turnSeq)
      deps.log.debug({ event: 'turn.steer_prepared', seq: message.seq }, 'a voice message may be steered')
    } catch (error) {
      if (!signal.aborted)
        deps.log.warn(
          { event: 'turn.steer_failed', seq: message.seq, err: error },
          'a voice message is not steered; it becomes a turn of its own',
        )
    } finally {
      early.delete(message.seq)
    }
  }

  /**
   * The attempt began with the claim of the message. Nothing is claimed meanwhile: after a stop of the gateway the message is still
   * queued.
   */
  const prepare: PrepareMessage = async (key, { seq, event, joined = [] }, stopSignal) => {
    if (parseCommand(event) !== null) return await journal.storeSkills(seq, await deps.readSkills(event))
    const work = running.start(key, seq, stopSignal)
    const step = async (): Promise<Transcribed> => {
      const begun = early.get(seq)
      if (begun === undefined) return await nextStep({ seq, event }, work.signal)
      // What it has stored stays; the rest is done with the next claim.
      await raceAbort(
        begun.catch(() => undefined),
        work.signal,
      )
      return { files: [] }
    }
    try {
      const { files, notice } = await deps.waitOutside(key, step, work.signal)
      await journal.storeAttachments(seq, files, notice)
      failpoint?.('media:fetched')
    } catch (error) {
      if (stopSignal.aborted || deps.stopping.aborted) return
      if (!(work.signal.reason instanceof StopRequested)) throw error
      // Nothing more of a message that was deleted meanwhile is withdrawn.
      await deps.withdraw(seq, joined)
    } finally {
      work.finish()
    }
  }
  return { prepare, prepareSteered }
}
