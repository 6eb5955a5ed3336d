/**
 * Sends the answer of a turn as a voice, for a person who wants to hear it (contract §3.8). The text is stored before: what fails or
 * ends here costs the voice alone. Loaded with the first one.
 */
import { extname } from 'node:path'
import { MediaProviderError } from '../../agent/media/media-provider-error.ts'
import { toSpeech } from '../../agent/media/speech-text.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import type { MediaToolsConfig } from '../../media/config.ts'
import { isSilence } from '../../message/silence.ts'
import { type Target, targetOf } from '../../message/source.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import { extractMedia } from '../../outbox/extract-media.ts'
import type { Outbox, Reply } from '../../outbox/outbox.ts'
import type { PlatformAdapter } from '../../platforms/adapter.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { Store } from '../../store/store.ts'
import type { MediaServices } from '../models/media-services.ts'

export interface SpeakDeps {
  readonly media: () => Promise<Pick<MediaServices, 'speak'>>
  readonly outbox: Pick<Outbox, 'prepare' | 'withhold'>
  readonly store: Store
  readonly settings: () => Pick<MediaToolsConfig, 'voice' | 'tts'>
  /** The adapter of a connected account. */
  adapter(target: Target): Pick<PlatformAdapter, 'sendsAttachments'> | undefined
  /** ms since 1970 */
  readonly clock: () => number
  readonly log: Logger
  readonly failpoint?: ((point: string) => void) | undefined
}

/** Never rejects. An answer without words has no voice. */
export async function speakAnswer(deps: SpeakDeps, turn: Turn, answer: string, signal: AbortSignal): Promise<void> {
  const { outbox, store, settings, clock, log, failpoint } = deps
  const { text } = toSpeech(outbox.withhold(extractMedia(answer).text), settings().tts.max_chars)
  if (!/[\p{L}\p{N}]/u.test(text) || isSilence(answer)) return
  try {
    failpoint?.('turn:speaking')
    const spoken = await makeVoice(deps, turn.id, text, signal)
    if (spoken === undefined) return
    const { id, sessionKey, authority, event } = turn
    const { source, messageId } = event
    const common = {
      target: targetOf(source),
      turnId: id,
      sessionKey,
      authority,
      isContinuation: true,
      replyTo: messageId,
    }
    await store.commit(outbox.prepare({ ...common, ...spoken }), clock)
  } catch (error) {
    log.warn({ event: 'tts.not_stored', turn: turn.id, err: error }, 'the voice of an answer could not be sent')
  }
}

/** The voice, or the reason why there is none; undefined once no one waits for it. */
async function makeVoice(
  { media, outbox, log }: SpeakDeps,
  turnId: string,
  text: string,
  signal: AbortSignal,
): Promise<Pick<Reply, 'key' | 'kind' | 'text' | 'voice'> | undefined> {
  try {
    const { path, mimeType } = await (await media()).speak(text, signal)
    const voice = { fileName: `voice${extname(path)}`, mimeType, source: { kind: 'file', path } } as const
    return { key: `turn:${turnId}`, kind: 'reply', text: '', voice }
  } catch (error) {
    if (signal.aborted) return undefined
    const code = error instanceof MediaProviderError ? error.code : 'failed'
    log.warn({ event: 'tts.failed', turn: turnId, code, err: error }, 'an answer is sent without its voice')
    const reason = toMarkdownLabel(outbox.withhold(messageOf(error)), 300)
    return { key: `turn:${turnId}:voice`, kind: 'notice', text: `*(I could not speak this: ${reason})*` }
  }
}
