/**
 * Shows what the model thought in front of its answer (`/reasoning show`). The transcript, hooks and programs get the answer
 * alone.
 */
import { isSilence, isSilenceNarration } from '../../message/silence.ts'
import type { TurnRunResult } from './output.ts'

const maxThinkingChars = 3_000

/** The result with the thinking as a quotation before the text. A silent reply and a notice stay as they are. */
export function withThinking(result: TurnRunResult): TurnRunResult {
  const { text, thinking = '', state, notice } = result
  if (state !== 'done' || notice || isSilence(text) || isSilenceNarration(text)) return result
  const trimmed = thinking.trim()
  const cut = trimmed.length <= maxThinkingChars ? trimmed : `${trimmed.slice(0, maxThinkingChars).toWellFormed()} …`
  // A file that is named here is not to be sent.
  const quoted = cut
    .replace(/MEDIA:/g, 'MEDIA :')
    .replaceAll('[[', '[ [')
    .replace(/^/gm, '> ')
  return { ...result, text: `> 💭 **Thinking**\n${quoted}\n\n${text}` }
}
