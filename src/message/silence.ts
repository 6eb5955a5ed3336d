/**
 * Detects `[SILENT]`, the reply of an agent that has nothing to report (contract §3.11).
 */

/** Includes Chinese forms, because some models translate the token. */
const silenceToken = /^\s*(?:\[\s*(?:silent|静默|沉默)\s*\]|silent|no(?:_|\s+)reply|静默|沉默)\s*$/i

/**
 * Whether a reply consists only of the token. Used for turns that the gateway starts; a user who wrote a message receives
 * the token, because no reply would look like a lost one.
 */
export function isSilence(text: string): boolean {
  return silenceToken.test(text)
}

const maxNarrationChars = 64
const narration = /^(?:[\s.…🔇]+|[\s*_~`([{]+(?:silent|silence|no\s+(?:reply|response))[\s.…)\]}*_~`]+)$/iu
/** Matches as much of such a text as has been written. */
const partialNarration =
  /^[\s.…🔇*_~`([{]+(?:s(?:i(?:l(?:e(?:n(?:t|ce?)?)?)?)?)?|n(?:o(?:\s+r(?:e(?:p(?:ly?)?|s(?:p(?:o(?:n(?:se?)?)?)?)?)?)?)?)?)?[\s.…)\]}*_~`]*$/iu

/**
 * Whether a reply only says that it is silent, such as `*(silent)*`, `🔇`, `.` or `...` (contract §3.11,
 * `filter_silence_narration`).
 */
export function isSilenceNarration(text: string): boolean {
  return text.length <= maxNarrationChars && text.trim() !== '' && narration.test(text)
}

/** Whether more text may turn the beginning of a reply into one for which `isSilenceNarration` is true. */
export function mayBecomeNarration(start: string): boolean {
  return start.length <= maxNarrationChars && partialNarration.test(start)
}

/** The tokens in lower case and without blanks. */
const compactTokens = ['[silent]', '[静默]', '[沉默]', 'silent', 'no_reply', 'noreply', '静默', '沉默']

/**
 * Whether more text may turn the beginning of a reply into the token. False for every continuation of a text for which it
 * is false. True for some beginnings that can no longer become it, such as `s i`.
 */
export function mayBecomeSilence(start: string): boolean {
  const compact = start.slice(0, 200).replace(/\s+/g, '').toLowerCase()
  return compactTokens.some((token) => token.startsWith(compact))
}
