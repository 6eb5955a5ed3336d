/**
 * `[SILENT]`: how the agent says that there is nothing to say (contract §3.11).
 */

/** In Chinese, too: models that think in it translate the token. */
const silenceToken = /^\s*(?:\[\s*(?:silent|静默|沉默)\s*\]|silent|no(?:_|\s+)reply|静默|沉默)\s*$/i

/**
 * Whether an answer is nothing but that. Asked of what the gateway began by itself: a person who is answered so reads
 * it, because silence would look like a loss.
 */
export function isSilence(text: string): boolean {
  return silenceToken.test(text)
}
