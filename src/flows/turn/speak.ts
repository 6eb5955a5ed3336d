/**
 * Speaks the answer of a turn, for a person who wants to hear it (contract §3.8). Loaded with the first one.
 */
import { extname } from 'node:path'
import { MediaFailure } from '../../agent/media/media-failure.ts'
import { toSpeech } from '../../agent/media/speech-text.ts'
import { messageOf } from '../../lib/errors.ts'
import type { Logger } from '../../lib/log.ts'
import { isSilence } from '../../message/silence.ts'
import { toMarkdownLabel } from '../../message/untrusted-text.ts'
import { extractMedia } from '../../outbox/extract-media.ts'
import type { MediaServices } from '../media-services.ts'
import type { SpokenAnswer } from './output.ts'

export interface SpeakDeps {
  readonly media: Pick<MediaServices, 'speak'>
  /** UTF-16 units */
  readonly maxChars: number
  /** Takes secrets out of a text. */
  redact(text: string): string
  readonly log: Logger
}

/** Never rejects. An answer without words has no voice. */
export async function speakAnswer(
  { media, maxChars, redact, log }: SpeakDeps,
  turnId: string,
  answer: string,
  signal: AbortSignal,
): Promise<SpokenAnswer> {
  const { text } = toSpeech(redact(extractMedia(answer).text), maxChars)
  if (!/[\p{L}\p{N}]/u.test(text) || isSilence(answer)) return {}
  try {
    const { path, mimeType } = await media.speak(text, signal)
    return { voice: { fileName: `voice${extname(path)}`, mimeType, source: { kind: 'file', path } } }
  } catch (error) {
    if (signal.aborted) return {}
    const code = error instanceof MediaFailure ? error.code : 'failed'
    log.warn({ event: 'tts.failed', turn: turnId, code, err: error }, 'an answer is sent without its voice')
    return { note: `\n\n*(I could not speak this: ${toMarkdownLabel(redact(messageOf(error)), 300)})*` }
  }
}
