/**
 * `[SILENT]`: how the agent says that there is nothing to say (contract §3.11).
 */

const token = /^\s*(?:\[\s*silent\s*\]|silent|no(?:_|\s+)reply)\s*$/i

/**
 * Whether an answer is nothing but that. Asked of what the gateway began by itself: a person who is answered so reads
 * it, because silence would look like a loss.
 */
export function isSilence(text: string): boolean {
  return token.test(text)
}
